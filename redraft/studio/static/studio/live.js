// A run under way: what happens in it, as it happens, and what there is of its summary.
import "./page.js";
import { dollars } from "../dollars.js";
import { element, say, score } from "./say.js";

const MOST_LINES = 300, PAUSE = 1200;
const root = document.querySelector("[data-live]"), run = root.dataset.run;
const find = (name) => root.querySelector(`[data-${name}]`);
const stage = find("stage"), bar = find("bar"), log = find("log"), scores = find("scores");
let fetching = 0, found = 0;

const TOLD = {
  started: () => line("Started."),
  stage: (told) => { stage.textContent = told.name; line(`${told.name}${told.planned ? `: about ${told.planned} ${told.planned === 1 ? "call" : "calls"}` : ""}`); },
  piece: (told) => { refresh(); line(`${told.level ? "Merged the summaries of" : "Summarized"} ${parts(told).toLowerCase()}: ${told.words} words${told.flaw ? `. ${told.flaw}` : ""}`); },
  score: (told) => (told.score !== null || told.reason) && judged(`${told.metric.replaceAll("_", " ")} in round ${told.round}: ${told.score === null ? `no score. ${told.reason}` : score(told.score)}${told.offline_check ? " (offline check)" : ""}`),
  finding: ({ finding }) => { found += 1; judged(`✗ ${finding.kind}${finding.sentence ? ` “${finding.sentence}”` : finding.question ? ` “${finding.question}”` : ""}`, "found"); },
  round: (told) => { line(`Round ${told.number}: ${told.accepted ? "accepted" : "rejected"}${told.reason ? `, ${told.reason}` : ""}`); refresh(); },
  failed_call: (told) => line(`${told.label}: ${told.reason}${told.again_in === null ? "" : `; retrying in ${told.again_in.toFixed(0)} s`}`),
  note: (told) => line(told.message),
  progress: figures,
  waiting: () => leave("Waiting for your review.", `/runs/${run}/review`),
  done: () => leave("Done.", `/runs/${run}`),
  stopped: () => leave("Stopped.", `/runs/${run}`),
  error: (told) => leave(`${told.message} ${told.hint}`, `/runs/${run}`),
};

const source = new EventSource(`/api/runs/${encodeURIComponent(run)}/events`);
source.addEventListener("message", (event) => {
  const told = JSON.parse(event.data);
  TOLD[told.kind]?.(told);
});
source.addEventListener("open", () => {
  // After a break everything is told again from the beginning.
  log.replaceChildren();
  scores.replaceChildren(element("li", "No scores yet.", "empty"));
  stage.textContent = "…";
  document.documentElement.dataset.listening = "yes";
});
source.addEventListener("error", () => { stage.textContent = "The studio does not answer. Is it still running?"; });
refresh();

function line(words) {
  log.prepend(element("li", words));
  while (log.childElementCount > MOST_LINES) log.lastElementChild.remove();
}

function judged(words, className = "") {
  scores.querySelector(".empty")?.remove();
  scores.prepend(element("li", words, className));
  while (scores.childElementCount > MOST_LINES) scores.lastElementChild.remove();
}

function figures(told) {
  for (const shown of root.querySelectorAll("[data-figure]")) {
    const value = told[shown.dataset.figure];
    shown.textContent = shown.dataset.figure !== "cost_usd" ? value.toLocaleString("en") : told.calls + told.cached ? dollars(value) : "–";
  }
  if (told.stage) stage.textContent = told.stage;
  const calls = told.planned > 0 ? `${told.done} of ${Math.max(told.planned, told.done)} calls` : "";
  const left = told.seconds_left ? `about ${lasting(told.seconds_left)} left` : "";
  find("left").textContent = [calls, left].filter(Boolean).join(" · ");
  if (told.planned > 0) { bar.max = told.planned; bar.value = Math.min(told.done, told.planned); }
  document.documentElement.dataset.calls = told.calls + told.cached;
}

function lasting(seconds) {
  return seconds < 100 ? `${Math.ceil(seconds)} s` : seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** What there is of the summary, not more often than every second or so. */
function refresh() {
  if (fetching) return;
  fetching = setTimeout(async () => {
    fetching = 0;
    const reply = await fetch(`/api/runs/${encodeURIComponent(run)}/pieces`).catch(() => null);
    if (reply?.ok) lay(await reply.json());
  }, find("count").textContent ? PAUSE : 100);
}

function lay({ pieces, total, chunks, draft }) {
  const list = find("pieces");
  find("count").textContent = total ? `${total} ${total === 1 ? "part" : "parts"}` : "";
  if (!pieces.length && !draft) return;
  list.replaceChildren();
  if (draft) list.append(piece("Draft", draft));
  for (const one of pieces) {
    list.append(piece(`${parts(one)} of ${chunks}${one.level ? ", merged" : ""} · ${one.words} words`, one.text));
  }
}

/** The parts of the document that a piece of the summary covers. */
function parts(one) {
  return one.last_chunk > one.first_chunk ? `Parts ${one.first_chunk + 1} to ${one.last_chunk + 1}` : `Part ${one.first_chunk + 1}`;
}

function piece(head, text) {
  const item = element("li"), body = element("div", text, "prose draft");
  body.dir = "auto";
  item.append(element("p", head, "line"), body);
  return item;
}

function leave(words, address) {
  source.close();
  find("status").textContent = "";
  stage.textContent = words;
  say(words);
  const link = element("a", words.startsWith("Waiting") ? "Review" : "Show the result", "button go");
  link.href = address;
  const actions = root.querySelector(".actions");
  if (actions) actions.replaceChildren(link);
  else root.prepend(link);
  document.documentElement.dataset.over = "yes";
  setTimeout(() => location.assign(address), 1500);
}
