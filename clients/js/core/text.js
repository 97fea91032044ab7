// The rules for texts in messages and names.

const encoder = new TextEncoder();

/** Returns the number of bytes of a text in UTF-8. */
export const bytesOf = (text) => (/^[\x00-\x7f]*$/.test(text) ? text.length : encoder.encode(text).length);

/** Returns the bytes of a text in UTF-8. */
export const encoded = (text) => encoder.encode(text);

/** Returns a negative number, 0 or a positive number, by the order of two texts as bytes of UTF-8. */
export function compareBytes(left, right) {
  if (left === right) return 0;
  const [a, b] = [encoder.encode(left), encoder.encode(right)];
  for (let i = 0; i < Math.min(a.length, b.length); i += 1) if (a[i] !== b[i]) return a[i] - b[i];
  return a.length - b.length;
}

const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;
const NOT_PLAIN = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

export const hasControlCharacters = (text) => CONTROL.test(text);

/** Returns true for a text without control characters, line separators and characters that change the direction of text. */
export const isPlain = (text) => !NOT_PLAIN.test(text);

/** Returns true for a text of 1 to `most` bytes. */
export const hasBytes = (text, most) => text.length > 0 && bytesOf(text) <= most;

/** Returns true if a text may be the metadata of a trackable: 1 to 1,024 bytes of plain text. */
export const isMetadata = (text) => hasBytes(text, 1024) && isPlain(text);

/** Returns true for a text that may be the id of a trip or of a stop. */
export const isTripID = (text) => hasBytes(text, 64) && isPlain(text);

/** Returns a text, cut at a character so that it has at most `most` bytes. */
export function cut(text, most) {
  const characters = [...text];
  while (bytesOf(characters.join("")) > most) characters.pop();
  return characters.join("");
}
