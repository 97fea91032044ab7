// A reader of JSON (RFC 8259) with the limits of the protocol.
//
// Unlike JSON.parse, it rejects unpaired surrogates, numbers that are not finite and too deep nesting, and it knows the
// size of each object in the payload.

import { TrackingError } from "./errors.js";
import { bytesOf } from "./text.js";

/** The largest size of a payload in bytes. */
export const MAXIMUM_PAYLOAD_BYTES = 131072;
/** The largest nesting of objects and arrays in a payload. */
const MAXIMUM_DEPTH = 32;

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const WHITE = /[\x20\n\r\t]*/y;
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const ESCAPES = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** The text of each parsed object, and the depth of its nesting, 1 for an object without objects and arrays. */
const origins = new WeakMap();

/** Returns the size of a parsed object in bytes, as it was sent. */
export const sizeOf = (object) => bytesOf(origins.get(object)?.text ?? JSON.stringify(object));

/** Returns the depth of the nesting in a parsed object, 1 for an object without objects and arrays. */
export const depthOf = (object) => origins.get(object)?.depth ?? 1;

/**
 * Parses a payload.
 *
 * @param payload a Uint8Array with the bytes of the payload
 * @throws TrackingError "payloadTooLarge" or "invalidPayload"
 */
export function parse(payload) {
  if (payload.length > MAXIMUM_PAYLOAD_BYTES) {
    throw new TrackingError(
      "payloadTooLarge", `a payload may have at most ${MAXIMUM_PAYLOAD_BYTES} bytes; this one has ${payload.length} bytes`);
  }
  if (payload.length > 0 && payload[0] <= 0x08) {
    throw new TrackingError(
      "invalidPayload", "cannot read the payload: it has a binary format of a later protocol version. Update this program");
  }
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(payload);
  } catch {
    throw new TrackingError("invalidPayload", "the text is not JSON: it is not UTF-8");
  }
  return new Parser(text).whole();
}

class Parser {
  constructor(text) {
    this.text = text;
    this.position = text.startsWith("\ufeff") ? 1 : 0;
    this.depth = 0;
  }

  whole() {
    const value = this.value();
    this.skipWhite();
    if (this.position < this.text.length) throw this.fault("the end");
    return value;
  }

  skipWhite() { this.match(WHITE); }

  match(pattern) {
    pattern.lastIndex = this.position;
    const [found] = pattern.exec(this.text) ?? [];
    if (found !== undefined) this.position += found.length;
    return found;
  }

  /** Returns the next character that is no white space; undefined at the end. */
  peek() {
    this.skipWhite();
    return this.text[this.position];
  }

  value() {
    const first = this.peek();
    switch (first) {
      case '"': return this.string();
      case "{": return this.nested("}", {}, (object) => this.member(object));
      case "[": return this.nested("]", [], (array) => array.push(this.value()));
      case "t": return this.word("true", true);
      case "f": return this.word("false", false);
      case "n": return this.word("null", null);
      default: return this.number();
    }
  }

  word(word, value) {
    for (const letter of word) {
      if (this.text[this.position] !== letter) throw this.fault("a value");
      this.position += 1;
    }
    return value;
  }

  number() {
    const digits = this.match(NUMBER);
    if (digits === undefined) throw this.fault(this.text[this.position] === "-" ? "a digit" : "a value");
    return Number(digits);
  }

  /** Reads an object or an array: its members or elements, separated by commas, up to its end. */
  nested(close, value, read) {
    const start = this.position;
    const outer = this.inner;
    if (this.depth >= MAXIMUM_DEPTH) {
      throw new TrackingError("invalidPayload", `objects and arrays are nested too deep at byte ${this.offset}`);
    }
    this.depth += 1;
    this.inner = 0;
    this.position += 1;
    if (this.peek() !== close) {
      read(value);
      for (let next = this.peek(); next !== close; next = this.peek()) {
        if (next !== ",") throw this.fault(`',' or '${close}'`);
        this.position += 1;
        read(value);
      }
    }
    this.position += 1;
    this.depth -= 1;
    const depth = this.inner + 1;
    this.inner = Math.max(outer ?? 0, depth);
    if (close === "}") origins.set(value, { text: this.text.slice(start, this.position), depth });
    return value;
  }

  member(object) {
    if (this.peek() !== '"') throw this.fault("the name of a member");
    const name = this.string();
    if (this.peek() !== ":") throw this.fault("':'");
    this.position += 1;
    // An assignment to a member named __proto__ would change the object's prototype.
    Object.defineProperty(object, name, { value: this.value(), writable: true, enumerable: true, configurable: true });
  }

  string() {
    this.position += 1;
    let text = "";
    for (;;) {
      text += this.match(PLAIN);
      const next = this.text[this.position];
      if (next === '"') break;
      if (next !== "\\") throw this.fault("'\"' or a character");
      text += this.escape();
    }
    this.position += 1;
    return text;
  }

  escape() {
    const letter = this.text[this.position + 1];
    if (letter !== "u") {
      if (!Object.hasOwn(ESCAPES, letter ?? "")) throw this.fault("an escape that JSON knows");
      this.position += 2;
      return ESCAPES[letter];
    }
    const unit = this.unit();
    if (unit >= 0xdc00 && unit <= 0xdfff) throw this.fault("a surrogate pair");
    if (unit < 0xd800 || unit > 0xdbff) return String.fromCharCode(unit);
    if (!this.text.startsWith("\\u", this.position)) throw this.fault("a surrogate pair");
    const second = this.unit();
    if (second < 0xdc00 || second > 0xdfff) throw this.fault("a surrogate pair");
    return String.fromCharCode(unit, second);
  }

  unit() {
    const digits = this.text.slice(this.position + 2, this.position + 6);
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw this.fault("four hexadecimal digits");
    this.position += 6;
    return parseInt(digits, 16);
  }

  get offset() { return bytesOf(this.text.slice(0, this.position)); }

  fault(expected) {
    return new TrackingError("invalidPayload", `the text is not JSON: expected ${expected} at byte ${this.offset}`);
  }
}
