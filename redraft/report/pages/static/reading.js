// The summary, its notes and the document: what is chosen in one of them lights up in the others.
import { Finder } from "./find.js";
import { Minimap } from "./minimap.js";
import { Pane } from "./pane.js";

const RANKS = 3;

export class Reading {
  constructor(root, data) {
    this.root = root;
    this.data = data;
    this.number = null;
    this.source = 0;
    this.panes = root.querySelector("[data-panes]");
    const text = root.querySelector("[data-text]");
    if (text && data.text !== null) this.lay(text, root.querySelector("[data-map]"));
    this.listen();
    this.view("summary");
  }

  lay(text, map) {
    const links = Object.entries(this.data.sentences).flatMap(([number, spans]) => spans.map(([start, end]) => ({ sentence: Number(number), start, end })));
    this.links = links;
    this.pane = new Pane(text, this.data.text, this.data.sections, links);
    const of = (kind) => [...this.root.querySelectorAll(`.finding.${kind}[data-start]`)].map(placeOf);
    const marks = { used: links.map((one) => [one.start, one.end]), lost: of("lost"), wrong: of("wrong") };
    const length = this.pane.offsets.characters(this.data.text.length);
    this.map = new Minimap(map, this.pane, length, marks);
    this.chapters(this.root.querySelector("[data-chapters]"));
    new Finder(this.root.querySelector("[data-find]"), this.data.text, this);
    // What is always marked can wait until the page stands.
    (window.requestIdleCallback ?? setTimeout)(() => {
      for (const [kind, spans] of Object.entries(marks)) this.light(kind, spans);
      document.documentElement.dataset.marked = "yes";
    });
  }

  chapters(select) {
    const sections = this.data.sections, within = new Option();
    for (const [start, level, title] of sections) {
      select.append(new Option("\u2003".repeat(Math.max(0, level - 1)) + title, start));
    }
    // Shown within a chapter: the chapter itself stays among the choices, and leads to its start.
    within.hidden = true;
    select.append(within);
    select.addEventListener("change", () => {
      const chosen = select.selectedIndex;
      this.goTo(Number(select.value));
      select.selectedIndex = chosen;
    });
    this.pane.onShow = (place) => {
      const around = sections.filter(([start]) => start <= place).at(-1);
      if (around) within.text = around[2];
      (around ? within : select.options[0]).selected = true;
    };
  }

  light(name, spans) {
    if (!window.CSS?.highlights || !this.pane) return;
    CSS.highlights.set(name, new Highlight(...spans.map(([start, end]) => this.pane.range(start, end))));
  }

  lightUnits(name, spans) {
    if (!window.CSS?.highlights) return;
    CSS.highlights.set(name, new Highlight(...spans.map(([from, to]) => this.pane.rangeOf(from, to))));
  }

  listen() {
    this.root.addEventListener("click", (event) => {
      const target = event.target;
      const button = target.closest("[data-choose]"), jump = target.closest("a.jump"), sentence = target.closest(".sentence");
      const show = target.closest("[data-show]"), finding = target.closest(".finding");
      if (show) this.view(show.dataset.show);
      else if (button) this.choose(Number(button.dataset.choose), { from: button.closest(".uses") ? "document" : "summary" });
      else if (jump) this.follow(jump, event);
      else if (sentence) this.choose(Number(sentence.dataset.sentence));
      else if (target.closest("[data-text]")) this.pick(event);
      else if (finding && !target.closest("a, summary")) this.finding(Number(finding.id.slice(1)));
    });
  }

  /** Choose a sentence of the summary: its card, its sources. */
  choose(number, { from = "summary", source = 0, keep = false } = {}) {
    this.clear();
    this.number = number;
    this.source = source;
    for (const one of this.root.querySelectorAll(`[data-sentence="${number}"].sentence, [data-card="${number}"]`)) one.classList.add("chosen");
    for (const one of this.root.querySelectorAll(`[data-choose="${number}"]`)) one.setAttribute("aria-pressed", "true");
    const spans = this.data.sentences[number] ?? [];
    spans.forEach((span, at) => this.light(`source-${Math.min(RANKS, at + 1)}`, spans.filter((_, other) => Math.min(RANKS, other + 1) === Math.min(RANKS, at + 1))));
    this.map?.point(spans);
    const card = this.root.querySelector(`[data-card="${number}"]`);
    reveal(card, "start");
    // Cards that come into view may have another height than was assumed.
    requestAnimationFrame(() => { if (this.number === number && !this.root.querySelector(".finding.chosen")) reveal(card, "start"); });
    if (from !== "summary") reveal(document.getElementById(`s${number}`), "center");
    if (from !== "document") {
      this.showSource();
      uncover(card);
    }
    if (!keep) remember(`#s${number}`);
    const sources = spans.length === 1 ? "1 source" : `${spans.length} sources`;
    say(`Sentence ${number}: ${sources}`);
    if (from === "document") this.view("summary");
  }

  showSource() {
    const spans = this.data.sentences[this.number] ?? [];
    for (const one of this.root.querySelectorAll(".source.chosen")) one.classList.remove("chosen");
    if (!spans.length) return;
    this.source = (this.source + spans.length) % spans.length;
    const [start, end] = spans[this.source];
    this.root.querySelector(`[data-card="${this.number}"] .source[data-rank="${this.source + 1}"]`)?.classList.add("chosen");
    this.pane?.show(start, end);
  }

  /** Choose the next source of the sentence that is chosen, or the one before. */
  step(by) {
    if (this.number === null) return;
    this.source += by;
    this.showSource();
    const spans = this.data.sentences[this.number] ?? [];
    if (spans.length) say(`Source ${this.source + 1} of ${spans.length}`);
  }

  /** Choose the next sentence, or the one before. */
  move(by) {
    const all = [...this.root.querySelectorAll(".prose .mark")];
    const now = all.findIndex((one) => Number(one.dataset.choose) === this.number);
    const next = all[Math.min(all.length - 1, Math.max(0, now < 0 ? 0 : now + by))];
    if (!next) return;
    next.focus({ preventScroll: true });
    reveal(next, "center");
    this.choose(Number(next.dataset.choose));
  }

  follow(link, event) {
    if (!this.pane) return;
    event.preventDefault();
    const start = Number(link.dataset.start), end = Number(link.dataset.end);
    if (link.dataset.of && Number(link.dataset.of) !== this.number) this.choose(Number(link.dataset.of), { source: Number(link.dataset.rank) - 1 });
    this.goTo(start, end);
  }

  /** Show a place of the document. */
  goTo(start, end = start, { keep = false } = {}) {
    if (!this.pane) return;
    this.view("document");
    this.light("here", end > start ? [[start, end]] : []);
    this.pane.show(start, Math.max(end, start + 1));
    if (!keep) remember(`#c${start}`);
  }

  /** What of the summary comes from the place that was clicked on. */
  pick(event) {
    const place = this.pane?.under(event.clientX, event.clientY);
    if (place === null || place === undefined) return;
    const uses = [...new Set(this.links.filter((one) => one.start <= place && place < one.end).map((one) => one.sentence))];
    if (!uses.length) return;
    this.choose(uses[0], { from: "document" });
    for (const number of uses.slice(1)) {
      document.getElementById(`s${number}`)?.classList.add("uses-it");
      this.root.querySelector(`[data-card="${number}"]`)?.classList.add("chosen");
    }
    if (uses.length > 1) say(`Sentences ${uses.join(", ")} come from here`);
  }

  /** Choose a finding: the sentence that it is about, and its evidence. */
  finding(number, { keep = false } = {}) {
    const element = document.getElementById(`f${number}`);
    if (!element) return;
    if (element.dataset.sentence) this.choose(Number(element.dataset.sentence), { keep: true });
    else this.clear();
    for (let around = element.parentElement; around; around = around.parentElement) if (around.tagName === "DETAILS") around.open = true;
    element.classList.add("chosen");
    this.view("notes");
    reveal(element, "start");
    if (element.dataset.start && this.pane) {
      const place = placeOf(element);
      this.light("here", [place]);
      this.map.point([place]);
      this.pane.show(...place);
    }
    uncover(element);
    if (!keep) remember(`#f${number}`);
    element.focus({ preventScroll: true });
  }

  nextFinding() {
    const all = [...this.root.querySelectorAll(".finding")];
    const now = all.findIndex((one) => one.classList.contains("chosen"));
    if (all.length) this.finding(Number(all[(now + 1) % all.length].id.slice(1)));
  }

  clear() {
    this.number = null;
    for (const one of document.querySelectorAll(".chosen, .uses-it")) one.classList.remove("chosen", "uses-it");
    for (const one of this.root.querySelectorAll('[data-choose][aria-pressed="true"]')) one.setAttribute("aria-pressed", "false");
    for (const name of ["source-1", "source-2", "source-3", "here"]) window.CSS?.highlights?.delete(name);
    this.map?.point([]);
  }

  /** Which of the panes is seen where there is room for one. */
  view(name) {
    for (const pane of this.root.querySelectorAll("[data-pane]")) pane.classList.toggle("shown", pane.dataset.pane === name);
    for (const button of this.root.querySelectorAll("[data-show]")) button.setAttribute("aria-pressed", String(button.dataset.show === name));
  }

  /** What an address names: #s4, #f12, #c18233, #c18233-18300. */
  open(hash) {
    const found = /^#([sfc])(\d+)(?:-(\d+))?$/.exec(hash);
    if (!found) return;
    const number = Number(found[2]);
    if (found[1] === "s") this.choose(number, { keep: true });
    if (found[1] === "f") this.finding(number, { keep: true });
    if (found[1] === "c") this.goTo(number, Number(found[3] ?? number), { keep: true });
    this.root.scrollIntoView();
  }
}

/** The place in the document that an element names. */
function placeOf(element) {
  return [Number(element.dataset.start), Number(element.dataset.end)];
}

/** Bring an element into view within what scrolls around it, and leave the page where it is. */
function reveal(element, where) {
  const around = element?.closest(".cards, .pane > .prose");
  if (!around) return;
  const box = element.getBoundingClientRect(), mine = around.getBoundingClientRect();
  if (where === "center" && box.top >= mine.top && box.bottom <= mine.bottom) return;
  around.scrollTop += box.top - mine.top - (where === "start" ? 8 : mine.height / 3);
}

/** Scroll no farther than it takes to see the whole element, or its beginning if there is no room for all of it. */
function uncover(element) {
  element?.scrollIntoView({ block: "nearest", behavior: "instant" });
}

function remember(hash) {
  history.replaceState(null, "", hash);
}

function say(words) {
  const said = document.getElementById("said");
  if (said) said.textContent = words;
}
