// The page of models: what answers on this machine.
import "./page.js";
import { element, say } from "./say.js";

const list = document.querySelector("[data-local]"), again = document.querySelector("[data-look]");
again.hidden = false;
again.addEventListener("click", look);
look();

async function look() {
  again.disabled = true;
  const reply = await fetch("/api/models/local").catch(() => null);
  const found = reply?.ok ? await reply.json().catch(() => null) : null;
  again.disabled = false;
  list.replaceChildren(...(found ? found.servers.map(server) : [element("p", "The studio does not answer. Is it still running?", "empty")]));
  const models = found?.servers.reduce((sum, one) => sum + one.models.length, 0) ?? 0;
  say(`${models} ${models === 1 ? "model" : "models"} found on this machine`);
  document.documentElement.dataset.looked = "yes";
}

function server({ kind, address, answers, models }) {
  const part = element("div", "", "server"), head = element("h3", kind);
  head.append(" ", element("span", answers ? `${address} · ${models.length} ${models.length === 1 ? "model" : "models"}` : `${address} · not running`, "count"));
  part.append(head);
  if (answers && !models.length) part.append(element("p", "It answers, but has no models.", "empty"));
  if (models.length) {
    const names = element("ul");
    for (const one of models) {
      const item = element("li"), name = element("bdi", one.model), use = element("a", "Use");
      use.href = `/runs/new?model=${encodeURIComponent(one.name)}`;
      use.setAttribute("aria-label", `Use ${one.model} in a new run`);
      item.append(name, " ", use);
      names.append(item);
    }
    part.append(names);
  }
  return part;
}
