// A dossier: everything that its page does.
import { listCalls } from "./calls.js";
import { copy } from "./copy.js";
import { filterFacts } from "./facts.js";
import { listenForKeys } from "./keys.js";
import { unpacked } from "./packed.js";
import { Reading } from "./reading.js";
import { compareDrafts } from "./rounds.js";
import { themed } from "./theme.js";

themed();
const data = await unpacked("data");
const reading = new Reading(document.getElementById("reading"), data);
listenForKeys(reading);
const calls = document.querySelector("[data-calls]"), facts = document.getElementById("facts");
const drafts = document.querySelector("[data-diff]");
if (calls) listCalls(calls, data.calls, data.run, data);
if (facts) filterFacts(facts);
if (drafts) compareDrafts(drafts, data.drafts);
document.querySelector("[data-copy]")?.addEventListener("click", (event) => copy(event.currentTarget, data.summary));
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#"]');
  if (!link || event.defaultPrevented || link.closest("#reading a.jump")) return;
  const hash = link.getAttribute("href");
  if (link.classList.contains("jump")) { event.preventDefault(); reading.goTo(Number(link.dataset.start), Number(link.dataset.end)); document.getElementById("reading").scrollIntoView(); }
  else if (/^#[sf]\d+$/.test(hash)) { event.preventDefault(); reading.open(hash); history.replaceState(null, "", hash); }
});
addEventListener("hashchange", () => reading.open(location.hash));
reading.open(location.hash);
document.documentElement.dataset.ready = "yes";
requestAnimationFrame(() => setTimeout(() => performance.mark("ready")));
