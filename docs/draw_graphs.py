"""Writes docs/graphs.md, which shows every public graph as it is: python docs/draw_graphs.py

Its drawings are in Mermaid. The site has them as pictures, docs/drawings. To draw those that are missing,
fetch Mermaid (npm install mermaid), and: python docs/draw_graphs.py node_modules/mermaid/dist/mermaid.min.js
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from langgraph.graph import StateGraph

import redraft

PAGE = Path(__file__).with_name("graphs.md")
PICTURES = PAGE.with_name("drawings")
STRATEGIES = {
    "hierarchical": "One step summarizes the chunks and merges their summaries, all levels at once. Each piece is\n"
    "streamed as an event and counted in the state.",
    "incremental": "One running summary takes in the document chunk by chunk and is compressed when it is too long.",
    "direct": "The whole document is summarized in one call, if it fits into the window.",
}
HEAD = """\
# The graphs

`redraft.graphs` has these LangGraph state machines ([how to use them](embedding.md#the-graphs)).
Solid arrows are always taken, dotted ones depend on the state. `metric` is one step for each metric, side by side. This
page is written by `python docs/draw_graphs.py`.
"""
REFINE = """\
## `redraft.graphs.refine()`

The summarizer without `draft`: `begin` leads to `judge`.
"""


def page() -> str:
    """The page as it ought to be."""
    graphs = redraft.graphs
    strategies = [
        section(
            f'`redraft.graphs.draft("{name}")`',
            what,
            graphs.draft(name),
            xray=True,
        )
        for name, what in STRATEGIES.items()
    ]
    parts = [
        HEAD,
        section(
            "`redraft.graphs.summarizer(strategy)`",
            "Draft, judge, decide, ask a person where `review` is set, revise, and judge again, until the goals are\n"
            "met or no revision helps. Strategies differ only within the step `draft`.",
            graphs.summarizer(),
        ),
        *strategies,
        REFINE,
        section(
            "`redraft.graphs.judge()`",
            "Every metric judges a summary, which stays as it is.",
            graphs.judge(),
        ),
    ]
    return "\n".join(parts)


def section(title: str, what: str, graph: StateGraph[Any, Any, Any, Any], *, xray: bool = False) -> str:
    """One graph."""
    drawn = graph.compile().get_graph(xray=xray).draw_mermaid(with_styles=xray)
    return f"## {title}\n\n{what}\n\n```mermaid\n{drawn.strip()}\n```\n"


def pictures(text: str) -> dict[str, tuple[str, Path]]:
    """The drawings of a page in Mermaid, with the title and the picture of each. A changed drawing has another one."""
    found = re.findall(r"^## (.*)\n(?:(?!## ).*\n)*?```mermaid\n((?:.*\n)*?)```$", text, re.MULTILINE)
    return {
        one: (title.strip("`"), PICTURES / f"graph-{hashlib.sha256(one.encode()).hexdigest()[:12]}.svg")
        for title, one in found
    }


# What Mermaid has laid out, without its styles, which are a hundred times as long.
_LAID_OUT = """async text => {
  mermaid.initialize({startOnLoad: false, htmlLabels: false, flowchart: {htmlLabels: false}, fontFamily: "sans-serif"});
  document.body.innerHTML = (await mermaid.render("graph", text)).svg;
  const svg = document.querySelector("svg"), all = query => [...svg.querySelectorAll(query)];
  const at = one => { const m = svg.getScreenCTM().inverse().multiply(one.getScreenCTM()); return [m.e, m.f]; };
  const box = one => { const b = one.getBBox(), [x, y] = at(one); return [x + b.x, y + b.y, b.width, b.height]; };
  const words = one => one.textContent.replaceAll("__", "").trim();
  const round = value => value.map(one => Math.round(one * 10) / 10);
  return {
    size: round(svg.getAttribute("viewBox").split(" ").map(Number)),
    clusters: all("g.cluster").map(one => [words(one), round(box(one.querySelector("rect")))]),
    nodes: all("g.node").map(one => [words(one), round(box(one.querySelector(".label-container, rect, path")))]),
    edges: all("path.flowchart-link").map(one => [
      one.getAttribute("d").replace(/[0-9.]+/g, number => Math.round(number * 10) / 10), round(at(one)),
      one.classList.contains("edge-pattern-dotted")]),
    labels: all("g.edgeLabel").filter(words).map(one => [words(one), round(box(one))]),
  };
}"""


def svg(title: str, name: str, laid: Mapping[str, Any]) -> str:
    """A picture in the colors of the page that it is on (`site.css`)."""
    left, top, width, height = laid["size"]
    parts = [
        f'<svg class="graph" role="img" aria-label="The graph of {escape(title)}" width="{width}"'
        f' viewBox="{left} {top} {width} {height}" xmlns="http://www.w3.org/2000/svg">',
        f'<marker id="{name}" viewBox="0 0 10 10" refX="5" refY="5" markerWidth="8" markerHeight="8" orient="auto">'
        '<path class="tip" d="M0 0L10 5L0 10z"/></marker>',
    ]
    for words, (x, y, wide, high) in laid["clusters"]:
        parts.append(f'<rect class="group" x="{x}" y="{y}" width="{wide}" height="{high}" rx="6"/>')
        parts.append(f'<text class="group" x="{x + 8:g}" y="{y + 14:g}">{escape(words)}</text>')
    for path, (x, y), dotted in laid["edges"]:
        kind, moved = ' class="dotted"' if dotted else "", f' transform="translate({x} {y})"' if x or y else ""
        parts.append(f'<path{kind} d="{path}"{moved} marker-end="url(#{name})"/>')
    for kind in ("nodes", "labels"):
        for words, (x, y, wide, high) in laid[kind]:
            shape = "label" if kind == "labels" else "end" if words in ("start", "end") else "step"
            parts.append(f'<rect class="{shape}" x="{x}" y="{y}" width="{wide}" height="{high}" rx="8"/>')
            parts.append(f'<text x="{x + wide / 2:g}" y="{y + high / 2:g}">{escape(words)}</text>')
    return "\n".join([*parts, "</svg>\n"])


def draw(mermaid: str) -> None:
    """Draw the pictures that are missing, and delete those of graphs that have changed."""
    sys.path.insert(0, str(PAGE.parent.parent))
    from tests.browser import browser

    wanted = pictures(page())
    for stale in set(PICTURES.iterdir()) - {path for _, path in wanted.values()}:
        stale.unlink()
    with browser() as started:
        shown = started.new_page()
        shown.set_content("<body></body>")
        shown.add_script_tag(path=mermaid)
        for text, (title, path) in wanted.items():
            laid = shown.evaluate(_LAID_OUT, re.sub("</?p>|&nbsp;", "", text))
            path.write_text(svg(title, path.stem, laid), "utf-8")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    for mermaid in sys.argv[1:]:
        draw(mermaid)
