// Filling in a sheet: how much is answered, and words selected in a sentence become a mark.
import "./page.js";

const form = document.querySelector("[data-sheet]"), done = form.querySelector("[data-done]");
const rows = [...form.querySelectorAll("[data-row]")];
let changed = false;

form.addEventListener("input", () => { changed = true; tell(); });
form.addEventListener("submit", () => { changed = false; });
addEventListener("beforeunload", (event) => { if (changed) event.preventDefault(); });
for (const row of form.querySelectorAll("details.mark")) {
  const sentence = row.querySelector("[data-sentence]"), span = row.querySelector('input[name$=".span"]');
  sentence.addEventListener("click", (event) => { if (String(getSelection()).trim()) event.preventDefault(); });
  sentence.addEventListener("pointerup", () => {
    const said = String(getSelection()).trim();
    if (!said || !sentence.textContent.includes(said)) return;
    span.value = said;
    row.open = true;
    changed = true;
    tell();
  });
  row.addEventListener("toggle", () => {
    const asked = row.querySelector('input[name$=".question"]').value;
    if (row.open && !span.value) span.value = sentence.textContent;
    else if (!row.open && !asked && span.value === sentence.textContent) span.value = "";
    tell();
  });
}
tell();

function tell() {
  const answered = rows.filter((row) => row.querySelector('input:checked') || row.querySelector('input[name$=".span"]')?.value);
  done.textContent = `${answered.length} of ${rows.length} ${form.querySelector("details.mark") ? "marked" : "answered"}`;
}
