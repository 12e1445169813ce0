// The document's text: built once, in paragraphs that the browser lays out only when they come near the screen.
import { formatted } from "./formatted.js";
import { Offsets } from "./offsets.js";

const PARAGRAPHS = 40; // in a stretch that is laid out together
const LONGEST = 6000; // units of a paragraph; what is longer is cut, for the browser's sake
const MARGIN = 16, MOST_SEEN = 240; // pixels around a place that is shown, and of it

export class Pane {
  constructor(root, text, sections, links) {
    this.root = root;
    this.text = text;
    this.offsets = new Offsets(text);
    this.starts = [];
    this.blocks = [];
    this.onShow = null;
    this.titles = new Map(sections.map(([start, level]) => [this.offsets.units(start), level]));
    this.links = [...links].map((one) => ({ ...one, from: this.offsets.units(one.start), to: this.offsets.units(one.end) }))
      .sort((one, other) => one.from - other.from);
    this.build();
  }

  build() {
    const all = document.createDocumentFragment();
    let stretch = null, count = PARAGRAPHS, next = 0;
    for (const [from, to, onward] of cuts(this.text)) {
      if (count === PARAGRAPHS) {
        stretch = document.createElement("div");
        stretch.className = "stretch";
        all.append(stretch);
        count = 0;
      }
      count++;
      const block = this.block(from, to, onward);
      const uses = [];
      while (next < this.links.length && this.links[next].from < to) uses.push(this.links[next++].sentence);
      if (uses.length) block.prepend(margin(uses));
      stretch.append(block);
    }
    this.root.replaceChildren(all);
  }

  block(from, to, onward) {
    const block = document.createElement("div"), paragraph = document.createElement("p");
    const words = this.text.slice(from, to), level = this.titles.get(from);
    const { kind, nodes } = formatted(words);
    block.className = `block${onward ? " on" : ""}${kind ? ` ${kind}` : ""}`;
    if (level) {
      block.classList.add("title");
      paragraph.setAttribute("role", "heading");
      paragraph.setAttribute("aria-level", String(Math.min(6, level + 3)));
    }
    paragraph.append(...nodes);
    block.append(paragraph);
    this.starts.push(from);
    this.blocks.push(block);
    return block;
  }

  /** The number of the paragraph that an offset in units stands in, or before. */
  at(unit) {
    let low = 0, high = this.starts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.starts[middle] <= unit) low = middle + 1; else high = middle;
    }
    return Math.max(0, low - 1);
  }

  /** The text node of a paragraph in which an offset in units lies, and the offset within that node. */
  place(number, unit) {
    let left = Math.max(0, unit - this.starts[number]), node = null;
    for (node of texts(this.blocks[number])) {
      if (left <= node.length) return [node, left];
      left -= node.length;
    }
    return [node, node.length];
  }

  /** The range of a stretch given in characters. */
  range(start, end) {
    return this.rangeOf(this.offsets.units(start), this.offsets.units(end));
  }

  /** The same given in units. */
  rangeOf(from, to) {
    const range = document.createRange(), end = Math.max(from, to);
    range.setStart(...this.place(this.at(from), from));
    range.setEnd(...this.place(this.at(Math.max(from, end - 1)), end));
    return range;
  }

  /** Bring a place into view, a third from the top. */
  show(start, end = start + 1) {
    return this.showUnits(this.offsets.units(start), this.offsets.units(end));
  }

  /** The page moves only as far as it takes to see the place. */
  showUnits(from, to) {
    const block = this.blocks[this.at(from)], at = this.rangeOf(from, to), left = scrollY;
    // Only this lays the block out where it will be.
    block.scrollIntoView({ block: "start" });
    scrollTo({ top: left, behavior: "instant" });
    const mine = this.root.getBoundingClientRect();
    this.root.scrollTop += at.getBoundingClientRect().top - mine.top - mine.height / 3;
    const box = at.getBoundingClientRect(), below = Math.min(box.bottom, box.top + MOST_SEEN) + MARGIN - innerHeight;
    if (below > 0) scrollBy(0, below);
    else if (box.top < MARGIN) scrollBy(0, box.top - MARGIN);
    this.onShow?.(this.offsets.characters(from));
    return block;
  }

  /** Where in the text, in characters, a point on the screen is; null outside of it. */
  under(x, y) {
    const found = document.caretPositionFromPoint?.(x, y) ?? fromRange(document.caretRangeFromPoint?.(x, y));
    const block = found?.offsetNode.parentElement?.closest(".block");
    const number = block ? this.blocks.indexOf(block) : -1;
    if (number < 0) return null;
    let unit = this.starts[number] + found.offset;
    for (const node of texts(block)) {
      if (node === found.offsetNode) break;
      unit += node.length;
    }
    return this.offsets.characters(unit);
  }

  /** The share of the text above the top of the pane, and that above its bottom. */
  seen() {
    const { scrollTop, scrollHeight, clientHeight } = this.root;
    const whole = Math.max(1, scrollHeight);
    return [scrollTop / whole, (scrollTop + clientHeight) / whole];
  }
}

function fromRange(range) {
  return range ? { offsetNode: range.startContainer, offset: range.startOffset } : null;
}

/** The paragraphs as [from, to, whether the next one goes on], without the empty lines between them. */
function* cuts(text) {
  const gap = /\n[ \t]*(?:\n[ \t]*)+|$/g;
  let from = text.length - text.trimStart().length;
  while (from < text.length) {
    gap.lastIndex = from;
    const found = gap.exec(text);
    let end = found.index;
    while (end - from > LONGEST) {
      const cut = text.lastIndexOf(" ", from + LONGEST) + 1;
      const to = cut > from + LONGEST / 2 ? cut : from + LONGEST - (isHalf(text, from + LONGEST) ? 1 : 0);
      yield [from, to, true];
      from = to;
    }
    if (end > from) yield [from, end, false];
    from = end + found[0].length;
    if (!found[0].length) break;
  }
}

function isHalf(text, at) {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code < 0xe000;
}

/** The text nodes of a paragraph. Their texts in a row are the paragraph's part of the document, character by character. */
function* texts(block) {
  const walker = document.createTreeWalker(block.querySelector("p"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) yield walker.currentNode;
}

/** Buttons that lead from a paragraph to the sentences of the summary that come from it. */
function margin(sentences) {
  const uses = document.createElement("span");
  uses.className = "uses";
  for (const number of new Set(sentences)) {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.choose = number;
    button.textContent = number;
    button.setAttribute("aria-pressed", "false");
    button.setAttribute("aria-label", `used by sentence ${number} of the summary`);
    uses.append(button);
  }
  return uses;
}
