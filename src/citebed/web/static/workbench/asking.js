// What is asked for a text that is typed: all of it, its paragraphs, or the sentence at the cursor.

const MOST = 100_000;
const AROUND = 20_000;

export const VERY_LONG = "This is very long: drop it as a file, or ask for the sentence at the cursor.";

/* The part of a very long text around the cursor, and where it begins: with a line, else with a word. */
function around(words, at) {
  if (words.length <= MOST) return { part: words, start: 0 };
  const from = Math.max(0, at - AROUND);
  const cut = from ? words.slice(from, at).match(/^[^\n]*\n|^\S*\s/)?.[0].length ?? 0 : 0;
  return { part: words.slice(from + cut, at + AROUND), start: from + cut };
}

/* The sentence at the cursor; line and column are counted in characters as the server does. */
export function atCursor(field) {
  const { part, start } = around(field.value, field.selectionStart);
  const before = part.slice(0, field.selectionStart - start).split("\n");
  return { text: part, line: before.length, column: [...before.at(-1)].length + 1 };
}

/* What is asked for a text in one of the three ways; `null` where there is none, `isLong` where it is too long. */
export function askedOf(field, scope) {
  if (!field.value.trim()) return null;
  if (scope === "sentence") return atCursor(field);
  return field.value.length > MOST ? { isLong: true } : { text: field.value, each: scope };
}

/* The paragraph that begins at a line: its number, and where it stands in the text. */
export function paragraphAt(words, line) {
  const lines = words.split("\n");
  let [number, start, isInside] = [0, 0, false];
  for (let at = 0; at < Math.min(line, lines.length); at += 1) {
    const hasWords = Boolean(lines[at].trim());
    if (hasWords && !isInside) number += 1;
    isInside = hasWords;
    if (at < line - 1) start += lines[at].length + 1;
  }
  const end = words.slice(start).search(/\n\s*\n/);
  return { number: Math.max(number, 1), start, end: end < 0 ? words.length : start + end };
}
