// The forms for runs and experiments: fields that apply to the chosen kind, and a check of the size of files.
import "./page.js";

const form = document.querySelector("[data-start]");
const file = form.querySelector("[data-file]"), chosen = form.querySelector("[data-document]");
const note = form.querySelector("[data-file-said]");

function fit() {
  const kind = form.querySelector("[data-kind]:checked")?.value ?? "";
  for (const part of form.querySelectorAll("[data-for]")) part.hidden = !part.dataset.for.split(" ").includes(kind);
  // Hidden fields are not sent.
  for (const field of form.querySelectorAll("[data-for] :is(input, select, textarea)")) field.disabled = Boolean(field.closest("[data-for][hidden]"));
}

function measure() {
  const most = Number(form.dataset.most), files = [...file.files], size = files.reduce((sum, one) => sum + one.size, 0);
  const tooLarge = size > most;
  note.textContent = tooLarge ? `${files.length > 1 ? "These files have" : "This file has"} ${(size / 1e6).toFixed(1)} MB. The limit here is ${most / 1e6} MB; the command line takes larger files.` : "";
  file.setCustomValidity(tooLarge ? "too large" : "");
  if (files.length && chosen) chosen.value = "";
}

form.addEventListener("change", (event) => { if (event.target === file) measure(); else fit(); });
chosen?.addEventListener("change", () => { if (chosen.value) { file.value = ""; measure(); } });
// A field that is not valid may be folded away.
form.addEventListener("invalid", (event) => { const fold = event.target.closest("details"); if (fold) fold.open = true; }, true);
addEventListener("pageshow", fit);
fit();
