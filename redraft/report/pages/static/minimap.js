// A strip beside the document that shows where things are, and where one is.

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 1000, LEAST = 3;
const LANES = { used: [0, 8], lost: [9, 6], wrong: [16, 6] }; // each kind has a lane of its own: no need for colours

export class Minimap {
  constructor(root, pane, length, marks) {
    this.pane = pane;
    this.length = Math.max(1, length);
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", `0 0 22 ${HEIGHT}`);
    svg.setAttribute("preserveAspectRatio", "none");
    for (const [kind, spans] of Object.entries(marks)) svg.append(this.lane(kind, spans));
    this.chosen = shape("path", "m-chosen");
    this.here = shape("rect", "m-here");
    this.here.setAttribute("width", "22");
    svg.append(this.chosen, this.here);
    root.replaceChildren(svg);
    root.addEventListener("click", (event) => {
      const box = root.getBoundingClientRect();
      pane.show(Math.floor(((event.clientY - box.top) / box.height) * this.length));
    });
    let due = false;
    pane.root.addEventListener("scroll", () => {
      if (due) return;
      due = true;
      requestAnimationFrame(() => { due = false; this.move(); });
    }, { passive: true });
    this.move();
  }

  lane(kind, spans) {
    const [x, width] = LANES[kind], path = shape("path", `m-${kind}`);
    path.setAttribute("d", this.bars(spans, x, width));
    return path;
  }

  bars(spans, x, width) {
    return spans.map(([start, end]) => {
      const top = (start / this.length) * HEIGHT;
      const height = Math.max(LEAST, ((end - start) / this.length) * HEIGHT);
      return `M${x} ${top.toFixed(1)}h${width}v${height.toFixed(1)}h-${width}z`;
    }).join("");
  }

  point(spans) {
    this.chosen.setAttribute("d", this.bars(spans, 0, 22));
  }

  move() {
    const [top, bottom] = this.pane.seen();
    this.here.setAttribute("y", (top * HEIGHT).toFixed(1));
    this.here.setAttribute("height", Math.max(6, (bottom - top) * HEIGHT).toFixed(1));
  }
}

function shape(name, kind) {
  const made = document.createElementNS(SVG, name);
  made.setAttribute("class", kind);
  return made;
}
