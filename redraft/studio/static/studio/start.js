// The forms for runs and experiments: fields that apply to what is chosen, the size of files, and the chapters.
import "./page.js";
import { chaptersOf } from "./chapters.js";

const form = document.querySelector("[data-start]");
const file = form.querySelector("[data-file]"), note = form.querySelector("[data-file-said]");
const own = form.querySelector("[data-own]"), ownFile = form.querySelector("[data-own-file]");
const batchOnly = form.querySelector("[data-batch-only]"), chapters = chaptersOf(form);

function fit() {
  const kind = form.querySelector("[data-kind]:checked")?.value ?? "";
  for (const part of form.querySelectorAll("[data-for]")) part.hidden = !part.dataset.for.split(" ").includes(kind);
  if (batchOnly) batchOnly.hidden = given() < 2;
  if (own) fitOwn(kind);
  // Hidden fields are not sent.
  for (const field of form.querySelectorAll(":is([data-for], [data-batch-only], [data-writes]) :is(input, select, textarea)")) field.disabled = Boolean(field.closest("[hidden]"));
  if (own) own.disabled ||= ownFile.files.length > 0;
}

/** What a draft takes is not asked for an own summary: one that is judged takes none of it. */
function fitOwn(kind) {
  const task = kind !== "summarize" && given() < 2 && (own.value.trim() || ownFile.files.length) ? kind : "";
  for (const part of form.querySelectorAll("[data-writes]")) part.hidden = task && part.dataset.writes !== task;
  for (const words of form.querySelectorAll("[data-own-said]")) words.hidden = words.dataset.ownSaid !== task;
  const usual = form.querySelector("[data-own-judge]");
  usual.dataset.writer ??= usual.text;
  usual.text = task === "evaluate" ? usual.dataset.ownJudge : usual.dataset.writer;
}

function given() {
  const chosen = file.files.length + form.querySelectorAll("[name=documents]:checked").length;
  return chosen || Number(form.querySelector("[data-kept]")?.dataset.kept ?? 0);
}

function measure() {
  const most = Number(form.dataset.most), files = [file, ownFile].flatMap((one) => [...one?.files ?? []]);
  const size = files.reduce((sum, one) => sum + one.size, 0);
  const tooLarge = size > most;
  note.textContent = tooLarge ? `${files.length > 1 ? "These files have" : "This file has"} ${(size / 1e6).toFixed(1)} MB. The limit here is ${most / 1e6} MB; the command line takes larger files.` : "";
  file.setCustomValidity(tooLarge ? "too large" : "");
}

function look() {
  if (file.validity.customError) return;
  const picked = [...form.querySelectorAll("[name=documents]:checked")].map((one) => one.value);
  chapters?.look([...file.files], picked, form.querySelector("[data-kept]")?.value ?? "");
}

form.addEventListener("change", (event) => {
  if (event.target === file || event.target === ownFile) measure();
  fit();
  if (event.target === file || event.target.name === "documents") look();
});
own?.addEventListener("input", fit);
// A field that is not valid may be folded away.
form.addEventListener("invalid", (event) => { const fold = event.target.closest("details"); if (fold) fold.open = true; }, true);
addEventListener("pageshow", () => { fit(); look(); });
fit();
