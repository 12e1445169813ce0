// The chapters of the chosen document, as boxes that fill in the field for chapters.
import { element } from "./say.js";

export function chaptersOf(form) {
  const fold = form.querySelector("[data-chapters]");
  if (!fold) return null;
  const field = fold.querySelector("[name=chapters]"), list = fold.querySelector("[data-chapter-list]");
  const count = fold.querySelector("[data-chapters-count]"), note = fold.querySelector("[data-chapters-said]");
  const upload = form.querySelector("[data-file]");
  let asked = 0;

  async function look(files, documents, kept) {
    const mine = ++asked, number = files.length + documents.length;
    list.hidden = true;
    list.replaceChildren();
    tell();
    note.textContent = number > 1 ? "The same chapters are read in every document." : "";
    if (number > 1 || (!number && !kept)) return;
    note.textContent = "Looking for chapters…";
    const sent = new FormData();
    if (files.length) sent.append("file", files[0]);
    else if (documents.length) sent.append("document", documents[0]);
    else sent.append("kept", kept);
    const reply = await fetch("/api/chapters", { method: "POST", body: sent }).catch(() => null);
    const found = reply?.ok ? await reply.json().catch(() => null) : null;
    if (mine !== asked) return;
    const known = found?.chapters ?? [];
    note.textContent = found && !known.length ? "No chapters were found in this document." : "";
    list.replaceChildren(...known.map(box));
    list.hidden = !known.length;
    tick();
  }

  function box({ number, title, words }) {
    const label = element("label", "", "choice"), input = element("input"), text = element("span");
    input.type = "checkbox";
    input.value = number;
    input.dataset.chapter = "";
    const named = new RegExp(`\\b${number}\\b`).test(title);
    text.append(named ? "" : `${number}. `, element("bdi", title), " ", element("span", `${words.toLocaleString("en")} words`, "line"));
    label.append(input, text);
    return label;
  }

  const boxes = () => [...list.querySelectorAll("[data-chapter]")];

  /** Tick the boxes that the field names, such as 1-3,7-. */
  function tick() {
    const ranges = field.value.split(",").map((part) => /^\s*(\d+)\s*(?:([-–:])\s*(\d*))?\s*$/.exec(part)).filter(Boolean);
    for (const one of boxes()) one.checked = ranges.some(([, from, to, until]) => Number(one.value) >= Number(from) && Number(one.value) <= (to ? Number(until) || Infinity : Number(from)));
    tell();
  }

  /** Say which chapters are read; of a document that was stored in part, there are no others. */
  function tell() {
    const wanted = field.value.trim(), many = boxes().length, ticked = boxes().filter((one) => one.checked).length;
    const stored = form.querySelectorAll("[name=documents]:checked"), parts = new Set([...stored].map((one) => one.dataset.part));
    if (upload.files.length) parts.add("");
    else if (!stored.length) parts.add(form.querySelector("[data-kept]")?.dataset.part ?? "");
    const part = parts.size === 1 ? [...parts][0] : "";
    if (!wanted) count.textContent = part ? `all of ${part} are read` : "all are read";
    else count.textContent = many ? `${ticked} of ${many} ${ticked === 1 ? "is" : "are"} read: ${wanted}` : `only ${wanted}`;
  }

  /** Write the ticked boxes into the field. */
  function write() {
    const runs = [];
    boxes().forEach((one, at) => {
      if (!one.checked) return;
      if (runs.at(-1)?.end === at - 1) Object.assign(runs.at(-1), { end: at, last: one.value });
      else runs.push({ end: at, first: one.value, last: one.value });
    });
    field.value = runs.map(({ first, last }) => first === last ? first : `${first}-${last}`).join(",");
    tick();
  }

  list.addEventListener("change", write);
  field.addEventListener("input", tick);
  return { look };
}
