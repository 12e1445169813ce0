// A running batch: the page is updated whenever something has changed.
import "./menus.js";
import "./tables.js";
import { say } from "./say.js";

const PAUSE = 2000;
const root = document.querySelector("[data-batch]");
let due = 0;

if (root.dataset.moves === "yes") {
  const source = new EventSource(`/api/batches/${encodeURIComponent(root.dataset.batch)}/events`);
  source.addEventListener("message", (event) => {
    const told = JSON.parse(event.data);
    if (told.kind === "progress") due ||= setTimeout(renew, document.documentElement.dataset.renewed ? PAUSE : 0);
    else {
      source.close();
      clearTimeout(due);
      say(told.kind === "done" ? "The batch is done." : `The batch is ${told.status}.`);
      document.documentElement.dataset.over = "yes";
      setTimeout(() => location.reload(), 1000);
    }
  });
  source.addEventListener("open", () => { document.documentElement.dataset.listening = "yes"; });
}

/** Replace each part of the page that has changed, except the one with the keyboard focus. */
async function renew() {
  const reply = await fetch(location.href, { headers: { accept: "text/html" } }).catch(() => null);
  if (reply?.ok) {
    const fresh = new DOMParser().parseFromString(await reply.text(), "text/html");
    for (const part of document.querySelectorAll("[data-part]")) {
      const other = fresh.querySelector(`[data-part="${part.dataset.part}"]`);
      if (other && !part.contains(document.activeElement) && other.innerHTML !== part.innerHTML) part.replaceWith(document.adoptNode(other));
    }
  }
  document.documentElement.dataset.renewed = "yes";
  due = 0;
}
