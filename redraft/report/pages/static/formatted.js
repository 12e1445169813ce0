// A small subset of Markdown, shown as what it means. Every character of the text stays in the page, so that offsets
// hold: what only marks something up is hidden by a style. All of it is text, never markup.

const VERSE = 50; // lines shorter than this are meant as lines
const LINE = /^([ \t]*)(?:(#{1,6}[ \t]+)|((?:[-*+]|\d{1,3}[.)])[ \t]+)|(>[ \t]?))?/;
const BULLET = /^[-*+]/;
const RULE = /^(?:[-*_][ \t]*){3,}$/;
const FENCE = /^(```[^\n]*\n)([^]*?)(\n```\s*)?$/;
const MARKUP = /[*_`[\\]/;
const MOST_MARKED = 200; // units between the marks of one emphasis
const INLINE = new RegExp(
  "\\\\([\\\\`*_{}\\[\\]()#+.!>-])"
  + "|`([^`\\n]{1,150})`"
  + `|(?<![\\p{L}\\p{N}*_])(\\*\\*|__|\\*|_)(?=[^\\s*_])([^]{0,${MOST_MARKED}}?[^\\s\\\\])\\3(?![\\p{L}\\p{N}*_])`
  + "|!?\\[([^\\]\\n]{1,150})\\]\\((?:[^()\\s]|\\([^()\\s]{0,99}\\)){1,500}(?: \"[^\"\\n]{0,200}\")?\\)",
  "gu",
);

/** The nodes of a paragraph, and what kind of paragraph it is: "verse", "code", "quote", "list", "title", "rule" or "". */
export function formatted(words) {
  const lines = words.split("\n");
  if (RULE.test(words)) return { kind: "rule", nodes: [hidden(words)] };
  const fence = FENCE.exec(words);
  if (fence) return { kind: "code", nodes: [hidden(fence[1]), fence[2], ...(fence[3] ? [hidden(fence[3])] : [])] };
  if (lines.length > 1 && lines.every((line) => line.includes("|"))) return { kind: "code", nodes: [words] };
  const starts = lines.map((line) => LINE.exec(line));
  if (starts[0][2] && lines.length === 1) return { kind: "title", nodes: [hidden(starts[0][0]), ...inline(words.slice(starts[0][0].length))] };
  if (starts[0][2]) return { kind: "", nodes: headed(lines[0], starts[0][0], words) };
  if (starts.every((one) => one[4])) return { kind: "quote", nodes: quoted(lines, starts) };
  if (starts[0][3] && (lines.length === 1 || starts.slice(1).some((one) => one[3]) || starts.slice(1).every((one) => one[1]))) {
    return { kind: "list", nodes: listed(lines, starts) };
  }
  const verse = lines.length > 1 && lines.every((line) => line.length < VERSE);
  return { kind: verse ? "verse" : "", nodes: inline(words) };
}

/** A heading that its paragraph follows without an empty line. */
function headed(line, mark, words) {
  return [hidden(mark), made("strong", "lead", inline(line.slice(mark.length))), hidden("\n"), ...inline(words.slice(line.length + 1))];
}

function quoted(lines, starts) {
  return lines.flatMap((line, at) => [hidden(starts[at][0]), ...inline(line.slice(starts[at][0].length) + (at < lines.length - 1 ? "\n" : ""))]);
}

/** Each item is a line of its own; what is no new item goes on with the last one. */
function listed(lines, starts) {
  const items = [];
  lines.forEach((line, at) => {
    const mark = starts[at][3], rest = line.slice(starts[at][0].length);
    if (!mark && items.length) {
      items.at(-1).append("\n", ...inline(line));
      return;
    }
    if (at) items.at(-1).append(hidden("\n"));
    const bullet = BULLET.test(mark), item = made("span", bullet ? "item bullet" : "item");
    item.append(hidden(starts[at][1]), bullet ? hidden(mark) : mark, ...inline(rest));
    items.push(item);
  });
  return items;
}

function inline(words, depth = 0) {
  if (depth > 2 || !MARKUP.test(words)) return words ? [document.createTextNode(words)] : [];
  const nodes = [];
  let at = 0;
  for (const found of words.matchAll(INLINE)) {
    const [whole, escaped, code, mark, emphasized, label] = found;
    if (found.index > at) nodes.push(words.slice(at, found.index));
    at = found.index + whole.length;
    if (escaped) nodes.push(hidden("\\"), escaped);
    else if (code) nodes.push(hidden("`"), made("code", "", [code]), hidden("`"));
    else if (mark) nodes.push(hidden(mark), made(mark.length > 1 ? "strong" : "em", "", inline(emphasized, depth + 1)), hidden(mark));
    else {
      const before = whole.startsWith("!") ? "![" : "[";
      nodes.push(hidden(before), made("span", "link", inline(label, depth + 1)), hidden(whole.slice(before.length + label.length)));
    }
  }
  if (at < words.length) nodes.push(words.slice(at));
  return nodes;
}

function hidden(words) {
  return made("span", "markup", [words]);
}

function made(name, kind, nodes = []) {
  const one = document.createElement(name);
  if (kind) one.className = kind;
  one.append(...nodes);
  return one;
}
