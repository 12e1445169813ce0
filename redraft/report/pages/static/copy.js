// Copying a text, and saying that it was.

export async function copy(button, words) {
  const done = await put(words);
  const before = button.textContent;
  button.textContent = done ? "Copied" : "Not allowed by the browser";
  document.getElementById("said").textContent = button.textContent;
  setTimeout(() => { button.textContent = before; }, 2000);
}

/** A page that is a file, or one over plain HTTP from another machine, has no clipboard: there the old way is tried. */
async function put(words) {
  try {
    await navigator.clipboard.writeText(words);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = words;
    area.className = "quiet";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
