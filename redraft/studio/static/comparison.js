// A comparison: everything that its page does.
import { ItemList } from "./items.js";
import { themed } from "./theme.js";

themed();
const dialog = document.getElementById("keys"), section = document.getElementById("items");
const items = section ? new ItemList(section) : null;
const does = {
  j: () => items?.move(1),
  k: () => items?.move(-1),
  f: () => items?.toggleFlips(),
  "?": () => dialog.showModal(),
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
  if (event.target.closest("input, textarea, select, [contenteditable]") || !does[event.key]) return;
  event.preventDefault();
  does[event.key]();
});
document.querySelector("[data-keys-toggle]").addEventListener("click", () => dialog.showModal());

/** What a link leads to is opened, shown and pointed at, wherever it is folded away. */
function follow() {
  const target = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
  if (!target) return;
  if (target.matches("[data-item]")) items.reveal(target);
  for (let at = target.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
  target.scrollIntoView({ block: "start" });
  if (target.hasAttribute("tabindex")) target.focus({ preventScroll: true });
}
addEventListener("hashchange", follow);
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#"]');
  if (link && link.getAttribute("href") === location.hash) follow();
});
addEventListener("beforeprint", () => { for (const one of document.querySelectorAll("details")) one.open = true; });
follow();
document.documentElement.dataset.ready = "yes";
