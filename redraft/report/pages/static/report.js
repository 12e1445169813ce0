// Results of experiments: everything that their page does.
import { themed } from "./theme.js";

themed();

/** What a link leads to is opened, wherever it is folded away. */
function follow() {
  const target = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
  for (let at = target?.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
  target?.scrollIntoView({ block: "start" });
}
addEventListener("hashchange", follow);
addEventListener("beforeprint", () => { for (const one of document.querySelectorAll("details")) one.open = true; });
follow();
document.documentElement.dataset.ready = "yes";
