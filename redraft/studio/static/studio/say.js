// What the scripts of the studio share: words for screen readers, elements, scores.

/** Have a screen reader say something. */
export function say(words) {
  const said = document.getElementById("said");
  if (said) said.textContent = words;
}

/** A score with two digits, rounded down, as everywhere. */
export function score(value) {
  return (Math.floor(value * 100 + 1e-9) / 100).toFixed(2);
}

/** A new element with a text, which is never markup. */
export function element(name, text = "", className = "") {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  if (className) made.className = className;
  return made;
}
