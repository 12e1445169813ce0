// An experiment: its progress while it is running, and tables that can be sorted.
import "./tables.js";
import { dollars } from "../dollars.js";
import { element, say } from "./say.js";

const PAUSE = 1000;
const root = document.querySelector("[data-experiment]");
if (root?.dataset.status === "running") setTimeout(look, PAUSE);

async function look() {
  const reply = await fetch(`/api/experiments/${encodeURIComponent(root.dataset.experiment)}/progress`).catch(() => null);
  const now = reply?.ok ? await reply.json().catch(() => null) : null;
  if (now) show(now);
  if (now && now.status !== "running") {
    say(`The experiment is ${now.status}.`);
    location.reload();
  } else setTimeout(look, PAUSE);
}

function show(now) {
  for (const figure of root.querySelectorAll("[data-figure]")) {
    const value = now[figure.dataset.figure];
    figure.textContent = { cost_usd: () => dollars(value), seconds: () => value < 90 ? `${value.toFixed(0)} s` : `${Math.round(value / 60)} min` }[figure.dataset.figure]?.() ?? value.toLocaleString("en");
  }
  if (now.of) {
    const bar = root.querySelector("[data-bar]");
    bar.max = now.of;
    bar.value = now.done;
    root.querySelector("[data-count]").textContent = `${now.done} of ${now.of} parts done`;
  }
  if (now.log.length) root.querySelector("[data-log]").replaceChildren(...now.log.map((one) => element("li", one)));
  document.documentElement.dataset.shown = now.done;
}
