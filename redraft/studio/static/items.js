// The questions and facts of a comparison: which of them are shown, and the way from one to the next.

export class ItemList {
  constructor(section) {
    this.form = section.querySelector("[data-filter]");
    this.groups = [...section.querySelectorAll("[data-standing]")];
    this.items = [...section.querySelectorAll("[data-item]")];
    this.count = section.querySelector("[data-count]");
    this.form.addEventListener("change", () => this.filter());
    this.form.addEventListener("submit", (event) => event.preventDefault());
    // A browser may have kept what was chosen before the page was loaded anew.
    this.filter();
  }

  filter() {
    const fields = this.form.elements;
    const flips = fields.flips.checked, metric = fields.metric?.value ?? "", has = fields.has.value;
    let shown = 0;
    for (const item of this.items) {
      const by = item.dataset.has.split(" ").some((name) => name.replace(/\d+$/, "") === has);
      item.hidden = (flips && !item.classList.contains("flipped")) || (metric && item.dataset.metric !== metric) || (has && !by);
      shown += !item.hidden;
    }
    for (const group of this.groups) group.hidden = !group.querySelector("[data-item]:not([hidden])");
    this.count.textContent = `${shown.toLocaleString("en")} of ${this.items.length.toLocaleString("en")} shown`;
    document.getElementById("said").textContent = this.count.textContent;
  }

  toggleFlips() {
    this.form.elements.flips.checked = !this.form.elements.flips.checked;
    this.filter();
  }

  /** All are shown again where the one that is wanted is not. */
  reveal(item) {
    if (!item.hidden) return;
    this.form.reset();
    this.filter();
  }

  /** To the next item that is shown, or to the one before. */
  move(by) {
    const seen = this.items.filter((item) => !item.hidden && item.checkVisibility());
    if (!seen.length) return;
    const at = seen.indexOf(document.activeElement?.closest?.("[data-item]"));
    const next = seen[at < 0 ? (by > 0 ? 0 : seen.length - 1) : Math.min(seen.length - 1, Math.max(0, at + by))];
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
    history.replaceState(null, "", `#${next.id}`);
  }
}
