// A list of runs or experiments: which of them are selected to be compared.
import "./page.js";

const form = document.querySelector("[data-compare]");
const button = document.querySelector("[data-compare-button]");
if (form && button) {
  const update = () => {
    const selected = form.querySelectorAll(".pick input:checked").length;
    button.disabled = selected < 2;
    button.classList.toggle("go", selected > 1);
    form.querySelector("[data-selected]").textContent = selected ? `${selected} selected${selected < 2 ? "; select one more" : ""}` : "Select two or more";
  };
  form.addEventListener("change", update);
  addEventListener("pageshow", update);
  update();
}
