// Reviewing: the sentences that findings are about are marked in the draft, which can be read or edited.
import "./page.js";
import { element } from "./say.js";

const form = document.querySelector("[data-review]");
const draft = form.querySelector("[data-draft]"), editor = form.querySelector("[data-editor]");
const edited = form.querySelector("[data-edited]"), changed = form.querySelector("[data-changed]");
const modes = form.querySelector("[data-modes]");
const original = edited.defaultValue;

modes.hidden = false;
for (const button of modes.querySelectorAll("button")) button.addEventListener("click", () => show(button.dataset.mode));
edited.addEventListener("input", tell);
for (const one of form.querySelectorAll("li.finding")) {
  one.addEventListener("pointerenter", () => light(one, true));
  one.addEventListener("pointerleave", () => light(one, false));
  one.addEventListener("focusin", () => light(one, true));
  one.addEventListener("focusout", () => light(one, false));
}
addEventListener("beforeunload", (event) => { if (edited.value !== original && !form.dataset.sent) event.preventDefault(); });
form.addEventListener("submit", () => { form.dataset.sent = "yes"; });
show("read");
tell();

function show(mode) {
  const reads = mode === "read";
  draft.hidden = !reads;
  editor.hidden = reads;
  for (const button of modes.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset.mode === mode));
  if (reads) lay();
  else edited.focus();
}

/** The draft with the sentences that findings are about, each in an element of its own. */
function lay() {
  const text = edited.value, spans = [];
  for (const one of form.querySelectorAll("li.finding")) {
    const sentence = one.dataset.sentence, start = sentence ? text.indexOf(sentence) : -1;
    if (start >= 0 && !spans.some((span) => span.start < start + sentence.length && start < span.end)) {
      spans.push({ start, end: start + sentence.length, sentence });
    }
  }
  spans.sort((one, other) => one.start - other.start);
  draft.replaceChildren();
  let at = 0;
  for (const { start, end, sentence } of spans) {
    draft.append(text.slice(at, start));
    const mark = element("span", text.slice(start, end), "sentence flawed");
    mark.dataset.said = sentence;
    draft.append(mark);
    at = end;
  }
  draft.append(text.slice(at));
}

function light(finding, on) {
  for (const mark of draft.querySelectorAll(".sentence")) {
    if (mark.dataset.said === finding.dataset.sentence) mark.classList.toggle("chosen", on);
  }
}

function tell() {
  changed.textContent = edited.value === original ? "" : "You edited the draft. Choose “Use my edited draft” below.";
}
