// The page of a run in the studio: its menus, and opinions on its findings.
import "./opinions.js";

const menus = [...document.querySelectorAll("details.menu")];
document.addEventListener("click", (event) => {
  for (const one of menus) if (!one.contains(event.target)) one.open = false;
});
document.addEventListener("keydown", (event) => {
  const open = menus.find((one) => one.open);
  if (event.key !== "Escape" || !open) return;
  open.open = false;
  open.querySelector("summary").focus();
});
