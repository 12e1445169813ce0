// The calls, a page at a time: there may be tens of thousands. Each can be opened.
import { dollars } from "./dollars.js";

const AT_ONCE = 200;
const MOST_HITS = 1000, MOST_READ = 300;
const TITLES = { user: "Prompt", assistant: "Rejected reply", schema: "Schema of the reply" };
const STAGE = 12, OUTCOME = 4, BORROWED = 11;

/** With a run the texts of a call come from the studio; otherwise from the page, if they are among its data. */
export function listCalls(root, calls, run, data) {
  const rows = root.querySelector("[data-calls-rows]"), more = root.querySelector("[data-calls-more]");
  const count = root.querySelector("[data-calls-count]"), find = root.querySelector("[data-calls-find]");
  const outcome = root.querySelector("[data-calls-outcome]"), stage = root.querySelector("[data-calls-stage]");
  for (const [select, at] of [[outcome, OUTCOME], [stage, STAGE]]) {
    for (const one of new Set(calls.map((call) => call[at]))) select.append(new Option(one, one));
  }
  const heads = [...rows.parentElement.tHead.rows[0].cells].map((cell) => cell.textContent);
  let found = calls, shown = 0, prompts = null;
  function add() {
    rows.append(...found.slice(shown, shown + AT_ONCE).map((call) => row(call, run, data, heads)));
    shown = Math.min(found.length, shown + AT_ONCE);
    more.hidden = shown >= found.length;
    count.textContent = `${shown.toLocaleString("en")} of ${found.length.toLocaleString("en")}`;
  }
  /** The address names a metric or a finding, as in `#calls-of-coverage`, and words behind `&`: the calls of the metric
   * are listed, and the texts of the first one with these words are shown. */
  async function follow() {
    if (!location.hash.startsWith("#calls-")) return;
    const [name, text] = location.hash.split("&");
    const link = [...document.querySelectorAll("[data-calls-of]")].find((one) => one.hash === name);
    const words = text ? decodeURIComponent(text) : link?.dataset.callsWith;
    prompts = link ? new Set(link.dataset.callsOf.split(" ")) : null;
    find.value = stage.value = outcome.value = "";
    show();
    root.scrollIntoView();
    const at = words ? await withWords(found, words, run, data) : 0;
    while (shown <= at && shown < found.length) add();
    const button = rows.querySelectorAll(".open-call")[at];
    if (button?.getAttribute("aria-expanded") === "false") button.click();
    button?.scrollIntoView();
  }
  addEventListener("hashchange", follow);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("[data-calls-of]");
    if (link && link.hash === location.hash) follow();
  });
  function choose() {
    prompts = null;
    show();
  }
  function show() {
    const words = find.value.trim().toLowerCase();
    found = calls.filter((call) => (!outcome.value || call[OUTCOME] === outcome.value) && (!stage.value || call[STAGE] === stage.value)
      && (!prompts || prompts.has(call[2])) && (!words || `${call[1]} ${call[2]} ${call[3]} ${call[10]}`.toLowerCase().includes(words)));
    rows.replaceChildren();
    shown = 0;
    add();
  }
  more.addEventListener("click", add);
  find.addEventListener("input", choose);
  outcome.addEventListener("change", choose);
  stage.addEventListener("change", choose);
  find.form.addEventListener("submit", (event) => event.preventDefault());
  choose();
  follow();
}

/** The place of the first call whose name begins with some words, or whose prompt or reply has them; 0 if none. */
async function withWords(calls, words, run, data) {
  const wanted = plain(words);
  for (const [at, call] of calls.slice(0, MOST_READ).entries()) {
    if (call[1].startsWith(words)) return at;
    const told = run ? await fetched(run, call[0]) : data.details?.[call[0]] && onPage(data, call[0]);
    if (told?.messages && plain([...told.messages.map((one) => one.text), told.reply].join(" ")).includes(wanted)) return at;
  }
  return 0;
}

/** Words to compare: as in a prompt or, with escapes, in its JSON. */
function plain(words) {
  return words.replaceAll("\\", "").replace(/\s+/g, " ");
}

function row(call, run, data, heads) {
  const [number, label, prompt, model, outcome, began, seconds, asked, answered, cost, error] = call;
  const made = document.createElement("tr"), borrowed = call[BORROWED];
  const said = borrowed ? "cached" : error ? `${outcome}: ${error}` : outcome;
  const cells = [number, label, call[STAGE], prompt.replaceAll("_", " "), model, said, borrowed ? "" : began.toFixed(1), borrowed ? "" : seconds.toFixed(1), asked, answered, cost];
  for (const [at, value] of cells.entries()) {
    const cell = made.insertCell();
    cell.textContent = typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: 6 }) : value;
    if (!at || at > 5) cell.className = "num";
    if (at) cell.dataset.head = heads[at];
  }
  if (!run && !data.details?.[number]) return made;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "open-call";
  button.textContent = number;
  button.setAttribute("aria-expanded", "false");
  button.setAttribute("aria-label", `Call ${number}: prompt and reply`);
  made.cells[0].replaceChildren(button);
  button.addEventListener("click", () => open(button, made, () => (run ? fetched(run, number) : onPage(data, number))));
  return made;
}

/** The prompt and the reply below a call; closed again where they are shown. */
async function open(button, made, read) {
  const was = button.getAttribute("aria-expanded") === "true";
  button.setAttribute("aria-expanded", String(!was));
  if (was) {
    made.nextElementSibling.remove();
    return;
  }
  const below = document.createElement("tr"), cell = below.insertCell();
  below.className = "call-texts";
  cell.colSpan = made.cells.length;
  cell.textContent = "Loading…";
  made.after(below);
  const told = await read();
  if (told.error?.message) {
    cell.textContent = told.error.message;
    return;
  }
  const from = told.made_by ? `run ${told.made_by}` : "a run that has been deleted";
  const facts = [
    ["Tokens", `${told.prompt_tokens.toLocaleString("en")} in (${told.cached_tokens.toLocaleString("en")} from the provider's cache), ${told.completion_tokens.toLocaleString("en")} out`],
    ["Cost", dollars(told.cost_usd)],
    ["Time", told.borrowed ? `none: answered from the cache; ${from} sent this prompt` : `${told.seconds.toFixed(1)} s`],
    ...(told.attempts > 1 ? [["Attempt", `${told.attempt} of ${told.attempts}`]] : []),
    ["Ended with", told.finish_reason || told.outcome],
    ...(told.error ? [["Error", told.error]] : []),
  ];
  const list = document.createElement("dl");
  list.className = "settings";
  for (const [name, value] of facts) {
    list.append(Object.assign(document.createElement("dt"), { textContent: name }), Object.assign(document.createElement("dd"), { textContent: value }));
  }
  const texts = document.createElement("div"), sent = document.createElement("div"), received = document.createElement("div");
  texts.className = "abreast";
  const parts = told.messages.map((one) => text(TITLES[one.role], indented(one.text)));
  if (!parts.length) {
    parts.push(text("Template of the prompt", told.prompt_text ?? "This prompt is not stored.", "This call was made before prompts were stored with their contents."));
  }
  sent.append(...parts.map((one) => one.part));
  const answer = text("Reply", indented(told.reply) ?? "No reply was received.");
  received.append(answer.part);
  texts.append(sent, received);
  cell.replaceChildren(list, finder([...parts, answer]), texts);
}

/** The texts of a call as the studio has them, or an error. */
async function fetched(run, number) {
  const reply = await fetch(`/api/runs/${encodeURIComponent(run)}/calls/${number}`).catch(() => null);
  const told = await reply?.json().catch(() => null);
  return told && (reply.ok || told.error) ? told : { error: { message: "The studio does not answer." } };
}

/** The texts of a call that the page contains; its messages are put together from the parts that calls share. */
function onPage(data, number) {
  const told = data.details[number];
  return { ...told, messages: told.messages.map((one) => ({ role: one.role, text: one.text.map((part) => data.parts[part]).join("") })) };
}

/** A text that can be folded, as the schema of the reply is at first. */
function text(title, words, note = "") {
  const part = document.createElement("details"), body = document.createElement("pre"), head = document.createElement("summary");
  head.append(Object.assign(document.createElement("b"), { textContent: title }), ` · ${words.length.toLocaleString("en")} characters`);
  part.open = title !== TITLES.schema;
  part.append(head);
  if (note) part.append(Object.assign(document.createElement("p"), { className: "line", textContent: note }));
  body.textContent = words;
  body.tabIndex = 0;
  body.dir = "auto";
  body.setAttribute("role", "region");
  body.setAttribute("aria-label", title);
  part.append(body);
  return { part, body, words };
}

/** A field that searches the texts: it unfolds those with matches, and marks these. */
function finder(texts) {
  const row = document.createElement("p"), label = document.createElement("label"), input = document.createElement("input"), count = document.createElement("span");
  input.type = "search";
  input.autocomplete = "off";
  count.setAttribute("role", "status");
  label.append("Search in this call ", input);
  row.className = "row";
  row.append(label, " ", count);
  input.addEventListener("input", () => {
    const wanted = input.value.trim();
    let many = 0;
    for (const { part, body, words } of texts) {
      const pieces = wanted ? words.split(new RegExp(`(${wanted.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")})`, "giu"), 2 * MOST_HITS) : [words];
      const whole = pieces.length === 2 * MOST_HITS ? [...pieces, words.slice(pieces.join("").length)] : pieces;
      body.replaceChildren(...whole.map((piece, at) => (at % 2 ? Object.assign(document.createElement("mark"), { textContent: piece }) : piece)));
      const found = Math.floor(whole.length / 2);
      if (found) part.open = true;
      if (found && !many) body.querySelector("mark").scrollIntoView({ block: "nearest" });
      many += found;
    }
    count.textContent = many ? `${many.toLocaleString("en")} found` : wanted ? "Not found" : "";
  });
  return row;
}

/** JSON, laid out; anything else as it is. */
function indented(words) {
  try { return JSON.stringify(JSON.parse(words), null, 2); } catch { return words; }
}
