// Words for those who do not look.

/** Have a screen reader say something. */
export function say(words) {
  const said = document.getElementById("said");
  if (said) said.textContent = words;
}

/** A new element with a text, which is never markup. */
export function element(name, text = "", className = "") {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  if (className) made.className = className;
  return made;
}
