// Which key facts are shown.

export function filterFacts(section) {
  const boxes = [...section.querySelectorAll("input[data-facts]")];
  function show() {
    const wanted = new Set(boxes.filter((box) => box.checked).map((box) => box.dataset.facts));
    for (const fact of section.querySelectorAll("[data-fact]")) fact.hidden = !wanted.has(fact.dataset.fact);
  }
  for (const box of boxes) box.addEventListener("change", show);
  show();
}
