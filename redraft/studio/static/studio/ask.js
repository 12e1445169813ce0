// A conversation about the document of a run: each question knows those before it, and answers link to their places.
import { element, say } from "./say.js";

const PAUSE = 700;
const box = document.querySelector("[data-ask]"), run = encodeURIComponent(box.dataset.ask);
const form = box.querySelector("[data-question]"), status = box.querySelector("[data-ask-status]"), list = box.querySelector("[data-answers]");
const followUp = form?.querySelector("[data-follow]");
let answers = [];

form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button"), question = form.elements.question;
  button.disabled = true;
  status.textContent = "Asking…";
  const before = form.elements.follow.checked ? answers.findLast((answer) => answer.answered !== null)?.run : null;
  const body = JSON.stringify({ question: question.value, follow: before ?? null });
  const started = await call("ask", { method: "POST", headers: { "Content-Type": "application/json" }, body });
  if (started && await isAnswered(started.run)) question.value = "";
  button.disabled = false;
});
// Until now a click would have sent the form as a browser does, which leads nowhere.
form?.querySelector("button").removeAttribute("disabled");
await show();
document.documentElement.dataset.asked = "yes";

/** Wait for the answer to a question; return whether there is one. */
async function isAnswered(started) {
  for (;;) {
    if (!await show()) return false;
    const answer = answers.find((entry) => entry.run === started);
    if (!answer) return false;
    if (answer.status !== "running") {
      status.textContent = "";
      say(answer.answered === null ? answer.trouble : answer.answer);
      return answer.answered !== null;
    }
    await new Promise((done) => setTimeout(done, PAUSE));
  }
}

/** Show all answers, the latest last; return whether they could be read. */
async function show() {
  const reply = await call("answers");
  if (!reply) return false;
  answers = reply.answers.toReversed();
  if (answers.length) list.replaceChildren(...answers.map(item));
  if (followUp) followUp.hidden = !answers.some((answer) => answer.answered !== null);
  const latest = list.lastElementChild;
  // A long answer is read from its beginning.
  if (latest) list.scrollTop += latest.getBoundingClientRect().top - list.getBoundingClientRect().top;
  return true;
}

async function call(what, options = {}) {
  const response = await fetch(`/api/runs/${run}/${what}`, options).catch(() => null);
  const content = await response?.json().catch(() => null);
  if (response?.ok && content) return content;
  status.textContent = content?.error ? `${content.error.message}. ${content.error.hint}` : "The studio does not answer.";
  return null;
}

function item(answer) {
  const entry = element("li", "", "answer"), text = element("p", "", "prose"), sources = element("ul", "", "sources");
  const question = line("b", answer.question);
  if (answer.follows) question.prepend(element("span", "↳ ", "line"));
  entry.append(question, text);
  text.dir = "auto";
  if (answer.answered === null) text.append(answer.status === "running" ? "…" : answer.trouble);
  else if (!answer.answered) text.append(answer.answer);
  for (const sentence of answer.sentences) {
    text.append(sentence.text, " ", link(answer.citations[sentence.citation - 1], `[${sentence.citation}]`), " ");
  }
  for (const citation of answer.citations) {
    const row = element("li"), quote = element("q", citation.quote);
    quote.dir = "auto";
    row.append(link(citation, `[${citation.number}] ${citation.place}`), " ", quote);
    sources.append(row);
  }
  if (answer.citations.length) entry.append(sources);
  const faults = answer.findings.map(({ explanation, expected }) => `${explanation} ${expected}`);
  for (const note of [...answer.notes, ...faults]) entry.append(line("span", note, "line"));
  const about = element("p", answer.judged ? `${answer.judged} · ` : "", "line"), page = element("a", `run ${answer.run}`);
  page.href = `/runs/${answer.run}`;
  about.append(page);
  if (answer.answered) {
    const save = element("a", "Save");
    save.href = `/runs/${answer.run}/download/md`;
    save.download = "";
    about.append(" · ", save);
  }
  entry.append(about);
  return entry;
}

function line(name, text, className = "") {
  const paragraph = element("p", "", className);
  paragraph.dir = "auto";
  paragraph.append(element(name, text));
  return paragraph;
}

/** A link to a place of the document, which the page itself follows. */
function link(place, words) {
  const anchor = element("a", words, "jump");
  anchor.href = `#c${place.span[0]}`;
  [anchor.dataset.start, anchor.dataset.end] = place.span;
  return anchor;
}
