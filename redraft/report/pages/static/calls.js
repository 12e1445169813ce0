// The calls, a page at a time: there may be tens of thousands.

const AT_ONCE = 200;
const OUTCOME = 4, BORROWED = 11;

export function listCalls(root, calls) {
  const rows = root.querySelector("[data-calls-rows]"), more = root.querySelector("[data-calls-more]");
  const count = root.querySelector("[data-calls-count]"), find = root.querySelector("[data-calls-find]");
  const outcome = root.querySelector("[data-calls-outcome]");
  for (const one of [...new Set(calls.map((call) => call[OUTCOME]))].sort()) outcome.append(new Option(one, one));
  let found = calls, shown = 0;
  function add() {
    rows.append(...found.slice(shown, shown + AT_ONCE).map(row));
    shown = Math.min(found.length, shown + AT_ONCE);
    more.hidden = shown >= found.length;
    count.textContent = `${shown.toLocaleString("en")} of ${found.length.toLocaleString("en")}`;
  }
  function choose() {
    const words = find.value.trim().toLowerCase(), wanted = outcome.value;
    found = calls.filter((call) => (!wanted || call[OUTCOME] === wanted)
      && (!words || `${call[1]} ${call[2]} ${call[3]} ${call[10]}`.toLowerCase().includes(words)));
    rows.replaceChildren();
    shown = 0;
    add();
  }
  more.addEventListener("click", add);
  find.addEventListener("input", choose);
  outcome.addEventListener("change", choose);
  find.form.addEventListener("submit", (event) => event.preventDefault());
  choose();
}

function row(call) {
  const [number, label, prompt, model, outcome, began, seconds, asked, answered, cost, error] = call;
  const made = document.createElement("tr"), borrowed = call[BORROWED];
  const said = borrowed ? "taken from an earlier run" : error ? `${outcome}: ${error}` : outcome;
  const cells = [number, label, prompt, model, said, borrowed ? "" : began.toFixed(1), borrowed ? "" : seconds.toFixed(1), asked, answered, cost ?? "?"];
  for (const value of cells) {
    const cell = made.insertCell();
    cell.textContent = value;
    if (typeof value === "number") cell.className = "num";
  }
  return made;
}
