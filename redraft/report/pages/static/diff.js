// The difference of two texts in words.

const MOST = 4e7; // pairs of words; texts longer than that are shown one after the other

/** Runs of words as [sign, words]: "=" in both, "-" only in the first, "+" only in the second. */
export function difference(before, after) {
  const old = tokens(before), now = tokens(after), runs = [];
  let first = 0, last = 0;
  while (first < old.length && first < now.length && old[first] === now[first]) first++;
  while (last < Math.min(old.length, now.length) - first && old.at(-1 - last) === now.at(-1 - last)) last++;
  add(runs, "=", old.slice(0, first));
  between(runs, old.slice(first, old.length - last), now.slice(first, now.length - last));
  add(runs, "=", old.slice(old.length - last));
  return runs;
}

function tokens(text) {
  return text.match(/\S+/g) ?? [];
}

function add(runs, sign, words) {
  if (!words.length) return;
  if (runs.length && runs.at(-1)[0] === sign) runs.at(-1)[1] += " " + words.join(" ");
  else runs.push([sign, words.join(" ")]);
}

/** By the longest common subsequence of words. */
function between(runs, old, now) {
  const width = now.length + 1;
  if (old.length * now.length > MOST) {
    add(runs, "-", old);
    add(runs, "+", now);
    return;
  }
  const common = new Uint16Array((old.length + 1) * width); // how many words are in both from here on
  for (let a = old.length - 1; a >= 0; a--) {
    for (let b = now.length - 1; b >= 0; b--) {
      common[a * width + b] = old[a] === now[b]
        ? common[(a + 1) * width + b + 1] + 1
        : Math.max(common[(a + 1) * width + b], common[a * width + b + 1]);
    }
  }
  let a = 0, b = 0;
  while (a < old.length || b < now.length) {
    if (a < old.length && b < now.length && old[a] === now[b]) { add(runs, "=", [old[a++]]); b++; }
    else if (a < old.length && (b === now.length || common[(a + 1) * width + b] >= common[a * width + b + 1])) add(runs, "-", [old[a++]]);
    else add(runs, "+", [now[b++]]);
  }
}
