// What keys do, wherever nobody is typing.

export function listenForKeys(reading) {
  const dialog = document.getElementById("keys");
  const does = {
    j: () => reading.move(1),
    k: () => reading.move(-1),
    n: () => reading.step(1),
    p: () => reading.step(-1),
    f: () => reading.nextFinding(),
    "/": () => { reading.view("document"); document.querySelector("[data-find] input")?.focus(); },
    d: () => { reading.view("document"); document.querySelector("[data-text]")?.focus(); },
    Escape: () => reading.clear(),
    "?": () => dialog?.showModal(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || dialog?.open) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    const act = does[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  document.querySelector("[data-keys-toggle]")?.addEventListener("click", () => dialog?.showModal());
}
