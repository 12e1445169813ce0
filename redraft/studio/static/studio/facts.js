// Key facts, with or without the pruned ones.
import "./page.js";

const box = document.querySelector("[data-pruned]");
box?.addEventListener("change", () => {
  for (const fact of document.querySelectorAll(".fact.pruned")) fact.hidden = !box.checked;
});
