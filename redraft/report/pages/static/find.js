// Search in the document: how often the words occur, and the way from one place to the next.

const MOST_FOUND = 2000;

export class Finder {
  constructor(form, text, reading) {
    this.text = text;
    this.reading = reading;
    this.input = form.querySelector("input");
    this.count = form.querySelector("[data-find-count]");
    this.buttons = [...form.querySelectorAll("[data-find-step]")];
    this.places = [];
    this.at = -1;
    this.input.addEventListener("input", () => this.search());
    this.input.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      this.input.value = "";
      this.search();
    });
    form.addEventListener("submit", (event) => { event.preventDefault(); this.step(1); });
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.shiftKey) { event.preventDefault(); this.step(-1); }
    });
    for (const button of this.buttons) button.addEventListener("click", () => this.step(Number(button.dataset.findStep)));
    this.search();
  }

  search() {
    const words = this.input.value.trim().split(/\s+/u).filter(Boolean);
    this.places = [];
    this.at = -1;
    if (words.length) {
      const pattern = new RegExp(words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("\\s+"), "giu");
      for (const found of this.text.matchAll(pattern)) {
        this.places.push([found.index, found.index + found[0].length]);
        if (this.places.length === MOST_FOUND) break;
      }
    }
    this.reading.lightUnits("found", this.places);
    this.step(1);
  }

  step(by) {
    const many = this.places.length;
    for (const button of this.buttons) button.disabled = !many;
    this.at = many ? (this.at + by + many) % many : -1;
    const all = many === MOST_FOUND ? `more than ${(MOST_FOUND - 1).toLocaleString("en")}` : many.toLocaleString("en");
    this.count.textContent = many ? `${this.at + 1} of ${all}` : this.input.value.trim() ? "Not found" : "";
    this.reading.lightUnits("found-now", many ? [this.places[this.at]] : []);
    if (many) this.reading.pane.showUnits(...this.places[this.at]);
  }
}
