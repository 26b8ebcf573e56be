// Choose what to send of a typed text: the whole text, its paragraphs, or the sentence at the cursor.

const MAX_LENGTH = 100_000;
const CONTEXT = 20_000; // characters before and after the cursor

export const VERY_LONG = "This is very long: drop it as a file, or choose “Sentence at cursor”.";

/* Return the part of a very long text around the cursor, and its start. It begins with a line, else with a word. */
function partAroundCursor(words, at) {
  if (words.length <= MAX_LENGTH) return { part: words, start: 0 };
  const from = Math.max(0, at - CONTEXT);
  const cut = from ? words.slice(from, at).match(/^[^\n]*\n|^\S*\s/)?.[0].length ?? 0 : 0;
  return { part: words.slice(from + cut, at + CONTEXT), start: from + cut };
}

/* Return the request for the sentence at the cursor. Line and column count code points, as on the server. */
export function sentenceAtCursor(field) {
  const { part, start } = partAroundCursor(field.value, field.selectionStart);
  const before = part.slice(0, field.selectionStart - start).split("\n");
  return { text: part, line: before.length, column: [...before.at(-1)].length + 1 };
}

/* Return the request for a scope: null for an empty text, `isLong` for one that is too long. */
export function textInScope(field, scope) {
  if (!field.value.trim()) return null;
  if (scope === "sentence") return sentenceAtCursor(field);
  return field.value.length > MAX_LENGTH ? { isLong: true } : { text: field.value, each: scope };
}

/* Return the number of the paragraph that begins at a line, and its start and end in the text. */
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
