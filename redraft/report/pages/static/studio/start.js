// The form of a new run: only what matters for what is done, and files that are not too large.
import "./page.js";

const form = document.querySelector("[data-start]");
const file = form.querySelector("[data-file]"), chosen = form.querySelector("[data-document]");
const said = form.querySelector("[data-file-said]");

function fit() {
  const kind = form.querySelector("[data-kind]:checked")?.value ?? "summarize";
  for (const part of form.querySelectorAll("[data-for]")) {
    part.hidden = !part.dataset.for.split(" ").includes(kind);
    // What is not seen is not sent.
    for (const field of part.querySelectorAll("input, select, textarea")) field.disabled = Boolean(field.closest("[data-for][hidden]"));
  }
}

function measure() {
  const most = Number(form.dataset.most), one = file.files[0];
  const tooLarge = one && one.size > most;
  said.textContent = tooLarge ? `That file has ${(one.size / 1e6).toFixed(1)} MB; at most ${most / 1e6} MB can be handed over here.` : "";
  file.setCustomValidity(tooLarge ? "too large" : "");
  if (one && chosen) chosen.value = "";
}

form.addEventListener("change", (event) => { if (event.target === file) measure(); else fit(); });
chosen?.addEventListener("change", () => { if (chosen.value) { file.value = ""; measure(); } });
addEventListener("pageshow", fit);
fit();
