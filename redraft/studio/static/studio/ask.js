// Questions to the document of a run: asked here, and answered with links to the places that an answer cites.
import { element, say } from "./say.js";

const PAUSE = 700;
const box = document.querySelector("[data-ask]"), run = encodeURIComponent(box.dataset.ask);
const form = box.querySelector("[data-question]"), told = box.querySelector("[data-told]"), list = box.querySelector("[data-answers]");

form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button"), question = form.elements.question;
  button.disabled = true;
  told.textContent = "Asking…";
  const begun = await call("ask", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ question: question.value }) });
  if (begun && await answered(begun.run)) question.value = "";
  button.disabled = false;
});
await show();
document.documentElement.dataset.asked = "yes";

/** Wait until a question is answered; whether it was. */
async function answered(asked) {
  for (;;) {
    const shown = await show();
    const one = shown?.find((each) => each.run === asked);
    if (!one) return false;
    if (one.status !== "running") {
      told.textContent = "";
      list.firstElementChild?.scrollIntoView({ block: "nearest" });
      say(one.answered === null ? one.trouble : one.answer);
      return one.answered !== null;
    }
    await new Promise((done) => setTimeout(done, PAUSE));
  }
}

async function show() {
  const found = await call("answers");
  if (found?.answers.length) list.replaceChildren(...found.answers.map(entry));
  return found?.answers;
}

async function call(what, options = {}) {
  const reply = await fetch(`/api/runs/${run}/${what}`, options).catch(() => null);
  const said = await reply?.json().catch(() => null);
  if (reply?.ok && said) return said;
  told.textContent = said?.error ? `${said.error.message}. ${said.error.hint}` : "The studio does not answer.";
  return null;
}

function entry(one) {
  const item = element("li", "", "answer"), answer = element("p", "", "prose"), cited = element("ul", "", "sources");
  item.append(line("b", one.question), answer);
  answer.dir = "auto";
  if (one.answered === null) answer.append(one.status === "running" ? "…" : one.trouble);
  else if (!one.answered) answer.append(one.answer);
  for (const { text, citation } of one.sentences) {
    answer.append(text, " ");
    if (citation) answer.append(link(one.citations[citation - 1], `[${citation}]`), " ");
  }
  for (const one_ of one.citations) {
    const row = element("li"), quote = element("q", one_.quote);
    quote.dir = "auto";
    row.append(link(one_, `[${one_.number}] ${one_.place}`), " ", quote);
    cited.append(row);
  }
  if (one.citations.length) item.append(cited);
  const faults = one.findings.map(({ explanation, expected }) => `${explanation} ${expected}`);
  for (const text of [...one.notes, ...faults]) item.append(line("span", text, "line"));
  const about = element("p", one.judged ? `${one.judged} · ` : "", "line"), page = element("a", `run ${one.run}`);
  page.href = `/runs/${one.run}`;
  about.append(page);
  item.append(about);
  return item;
}

function line(name, text, className = "") {
  const paragraph = element("p", "", className);
  paragraph.dir = "auto";
  paragraph.append(element(name, text));
  return paragraph;
}

/** A link to a place of the document, which the page itself follows. */
function link(place, words) {
  const made = element("a", words, "jump");
  made.href = `#c${place.span[0]}`;
  [made.dataset.start, made.dataset.end] = place.span;
  return made;
}
