// The form that refines a draft shows the draft that is chosen.
import "./page.js";

const select = document.querySelector("select[name=round]");
const show = () => { for (const one of document.querySelectorAll("[data-draft]")) one.hidden = one.dataset.draft !== select.value; };
select?.addEventListener("change", show);
if (select) addEventListener("pageshow", show);
