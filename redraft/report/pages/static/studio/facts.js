// Key facts: with those that were pruned, or without.
import "./page.js";

const box = document.querySelector("[data-pruned]");
box?.addEventListener("change", () => {
  for (const fact of document.querySelectorAll(".fact.pruned")) fact.hidden = !box.checked;
});
