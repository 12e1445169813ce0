// The form that refines a draft shows the draft that is chosen, and whether the model that revises follows requests.
import "./page.js";

const select = document.querySelector("select[name=round]");
const show = () => { for (const one of document.querySelectorAll("[data-draft]")) one.hidden = one.dataset.draft !== select.value; };
select?.addEventListener("change", show);
if (select) addEventListener("pageshow", show);

const writer = document.querySelector("select[name=model]"), note = document.querySelector("#understood > p");
const warn = () => { note.hidden = (writer.value || writer.dataset.before) !== note.dataset.by; };
writer.addEventListener("change", warn);
addEventListener("pageshow", warn);
