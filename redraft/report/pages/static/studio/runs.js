// The list of runs: which of them are compared.
import "./page.js";

const form = document.querySelector("[data-compare]");
const button = document.querySelector("[data-compare-button]");
if (form && button) {
  const tell = () => {
    const chosen = form.querySelectorAll('input[name="run"]:checked').length;
    button.disabled = chosen < 2;
    button.textContent = chosen < 2 ? "Compare those that are chosen" : `Compare ${chosen} runs`;
  };
  form.addEventListener("change", tell);
  addEventListener("pageshow", tell);
  tell();
}
