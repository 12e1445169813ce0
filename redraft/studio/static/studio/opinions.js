// Agreeing or disagreeing with a finding, beside it.
import { unpacked } from "../packed.js";
import { element, say } from "./say.js";

const known = await unpacked("opinions");
for (const card of document.querySelectorAll("[data-finding]")) {
  const id = card.dataset.finding, opinion = known.opinions.find((one) => one.finding === id) ?? null;
  if (opinion || !known.read_only) card.append(known.read_only ? shown(opinion) : asked(card.id.slice(1), id, opinion));
}
document.documentElement.dataset.opinions = "yes";

/** What somebody has said, in words. */
function words(opinion) {
  return `${opinion.agrees ? "✓ Agreed" : "✗ Disagreed"}${opinion.note ? `: ${opinion.note}` : ""}`;
}

function shown(opinion) {
  return element("p", words(opinion), "opinion-said");
}

function asked(number, id, opinion) {
  const form = element("form", "", "opinion");
  const label = element("span", "Is this finding right?", "metric");
  const yes = element("button", "Yes"), no = element("button", "No");
  const note = element("input"), keep = element("button", "Save note"), told = element("p", "", "opinion-said");
  let now = opinion;
  note.setAttribute("aria-label", `Note on finding ${number}`);
  note.placeholder = "Why? (optional)";
  note.maxLength = 4000;
  yes.type = no.type = "button";
  yes.setAttribute("aria-label", `Yes, finding ${number} is right`);
  no.setAttribute("aria-label", `No, finding ${number} is wrong`);
  form.append(label, yes, no, note, keep, told);
  const draw = () => {
    yes.setAttribute("aria-pressed", String(now?.agrees === true));
    no.setAttribute("aria-pressed", String(now?.agrees === false));
    note.hidden = keep.hidden = !now;
    note.value = now?.note ?? "";
  };
  const tell = async (agrees, text) => {
    told.textContent = "";
    const reply = await fetch(`/api/runs/${encodeURIComponent(known.run)}/opinions`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ finding: id, agrees, note: text }),
    }).catch(() => null);
    const said = await reply?.json().catch(() => null);
    if (!reply?.ok) {
      told.textContent = said?.error ? `${said.error.message}. ${said.error.hint}` : "The studio does not answer.";
      return;
    }
    now = said.opinions.find((one) => one.finding === id) ?? null;
    draw();
    say(now ? `Saved: finding ${number} is ${now.agrees ? "right" : "wrong"}` : `Opinion on finding ${number} removed`);
  };
  // Said once more, it is taken back.
  yes.addEventListener("click", () => tell(now?.agrees === true ? null : true, note.value));
  no.addEventListener("click", () => tell(now?.agrees === false ? null : false, note.value));
  form.addEventListener("submit", (event) => { event.preventDefault(); if (now) tell(now.agrees, note.value); });
  form.addEventListener("click", (event) => event.stopPropagation());
  draw();
  return form;
}
