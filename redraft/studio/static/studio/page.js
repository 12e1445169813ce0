// What every page of the studio does.
import { themed } from "../theme.js";

themed();
document.getElementById("problem")?.focus();
announce(document.querySelector("[data-notice]"));
localTimes(document);
// Who comes back to a plan, or loads it again, finds its form; the browser does not ask whether to send it again.
const form = document.querySelector("[data-form]");
if (form) history.replaceState(null, "", form.href);
document.documentElement.dataset.ready = "yes";

/** Screen readers say what changes in a status, not what it began with. Who comes back is not told again. */
function announce(notice) {
  if (!notice) return;
  const words = notice.textContent, address = new URL(location.href);
  address.searchParams.delete("said");
  history.replaceState(null, "", address);
  notice.textContent = "";
  setTimeout(() => { notice.textContent = words; notice.dataset.said = "yes"; }, 100);
}

/** Times in the reader's own time zone; the title keeps UTC. */
export function localTimes(root) {
  for (const time of root.querySelectorAll("time[data-local]")) {
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    const two = (number) => String(number).padStart(2, "0");
    time.title = time.textContent;
    const day = `${moment.getFullYear()}-${two(moment.getMonth() + 1)}-${two(moment.getDate())}`, part = document.createElement("span");
    part.className = "day";
    part.textContent = day;
    time.replaceChildren(part, ` ${two(moment.getHours())}:${two(moment.getMinutes())}`);
    delete time.dataset.local;
  }
}
