// Two drafts beside each other, in words.
import { difference } from "./diff.js";

const MARKS = { "=": "span", "-": "del", "+": "ins" };

export function compareDrafts(form, drafts) {
  const texts = new Map(drafts.map(([number, text]) => [String(number), text]));
  const out = form.querySelector("[data-diff-out]");
  function show() {
    const runs = difference(texts.get(form.elements.one.value), texts.get(form.elements.other.value));
    out.replaceChildren(...runs.flatMap(([sign, words]) => {
      const part = document.createElement(MARKS[sign]);
      part.textContent = words;
      return [part, " "];
    }));
    if (runs.every(([sign]) => sign === "=")) out.textContent = "The two drafts are the same.";
  }
  form.addEventListener("change", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  show();
}
