// Menus close when something else is clicked on, and with Escape.
const opened = () => document.querySelectorAll("details.menu[open]");

document.addEventListener("click", (event) => {
  for (const one of opened()) if (!one.contains(event.target)) one.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const one of opened()) {
    one.open = false;
    one.querySelector("summary").focus();
  }
});
