// The data of a page: JSON, compressed, in letters.

/** What stands packed in an element, or null where there is none. */
export async function unpacked(id) {
  const element = document.getElementById(id);
  if (!element) return null;
  const letters = atob(element.textContent.trim());
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) bytes[at] = letters.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}
