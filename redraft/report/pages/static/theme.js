// Dark or light, as the system has it or as the reader wants it.

const KEY = "redraft-theme";

export function themed() {
  const button = document.querySelector("[data-theme-toggle]");
  if (!button) return;
  const kept = remembered();
  if (kept) document.documentElement.dataset.theme = kept;
  const isDark = () => (document.documentElement.dataset.theme
    ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const tell = () => button.setAttribute("aria-pressed", String(isDark()));
  button.addEventListener("click", () => {
    const wanted = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = wanted;
    try { localStorage.setItem(KEY, wanted); } catch { /* it holds for this page */ }
    tell();
  });
  tell();
}

function remembered() {
  try { return localStorage.getItem(KEY); } catch { return null; }
}
