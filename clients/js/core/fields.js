// Checks of the members of messages. An error names the member by its path, and the rule that it breaks.

import { TrackingError } from "./errors.js";
import { hasBytes, hasControlCharacters } from "./text.js";

const GREATEST = Number.MAX_VALUE;
/** The permitted ranges of numbers: the lowest and the highest value, and the words for an error. */
export const RULES = {
  finite: [-GREATEST, GREATEST, "a number"],
  notNegative: [0, GREATEST, "a number of 0 or more"],
  fraction: [0, 1, "a number from 0 to 1"],
  radius: [1, 100_000, "a number of metres from 1 to 100000"],
  latitude: [-90, 90, "a latitude from -90 to 90"],
  longitude: [-180, 180, "a longitude from -180 to 180"],
  bearing: [0, 360, "a number from 0 to below 360"],
  time: [-1e11, 1e11, "Unix time in seconds"],
  lease: [1, 86_400, "a number of seconds from 1 to 86400"],
  interval: [0, 31_536_000_000, "milliseconds, from 0 to 365 days"],
  milliseconds: [0, Number.MAX_SAFE_INTEGER, "milliseconds, 0 or more"],
};

export const invalid = (message) => new TrackingError("invalidPayload", message);

/** Returns the error for a wrong value of a member. */
export const mismatch = (path, expected, found) => invalid(`${path || "the payload"} must be ${expected}; found ${found}`);

function kindOf(value) {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return { string: "a string", object: "an object", boolean: "true or false", number: "a number" }[typeof value];
}

const typed = (type, expected) => (value, path) => {
  if (kindOf(value) !== type) throw mismatch(path, expected, kindOf(value));
  return value;
};

/** The readers of values: each returns the value, or throws an error that names the path. */
export const object = typed("an object", "an object");
export const array = typed("an array", "an array");
export const text = typed("a string", "a string");
export const flag = typed("true or false", "true or false");

export const number = ([lowest, highest, words]) => (value, path) => {
  if (typeof value !== "number") throw mismatch(path, words, kindOf(value));
  if (!(value >= lowest && value <= highest)) throw mismatch(path, words, "a number out of range");
  return value;
};

export const integer = (lowest, highest = Number.MAX_SAFE_INTEGER) => (value, path) => {
  if (typeof value !== "number") throw mismatch(path, "a number", kindOf(value));
  if (!Number.isSafeInteger(value) || value < lowest || value > highest) {
    throw mismatch(path, `a whole number from ${lowest} to ${highest}`, "another number");
  }
  return value;
};

export const choice = (choices) => (value, path) => {
  if (!choices.includes(text(value, path))) throw mismatch(path, `one of ${choices.join(", ")}`, "another string");
  return value;
};

/** Reads one of the known words; undefined for another string. */
export const knownChoice = (choices) => (value, path) => (choices.includes(text(value, path)) ? value : undefined);

/** Reads a string that a condition accepts. */
export const textThat = (expected, accepts) => (value, path) => {
  if (!accepts(text(value, path))) throw mismatch(path, expected, "another string");
  return value;
};

export const name = textThat("a string of 1 to 64 bytes", (value) => hasBytes(value, 64));
export const stream = textThat(
  "a string of 1 to 64 bytes without control characters", (value) => hasBytes(value, 64) && !hasControlCharacters(value));

/** Reads a position, [longitude, latitude]. Further numbers are ignored. */
export function place(value, path) {
  const [longitude, latitude] = array(value, path).map((one, index) =>
    number(index === 0 ? RULES.longitude : index === 1 ? RULES.latitude : RULES.finite)(one, path));
  if (latitude === undefined) throw mismatch(path, "[longitude, latitude]", "fewer numbers");
  return { latitude, longitude };
}

/** The members of an object of a message. */
export class Fields {
  /**
   * @param value the parsed object
   * @param path the path of the object, "" for the whole message
   */
  constructor(value, path = "") {
    this.value = object(value, path);
    this.path = path;
  }

  pathOf(member) { return this.path ? `${this.path}.${member}` : member; }

  /** Returns the value of a member as `read` reads it; undefined if it is absent or null. */
  optional(member, read) {
    const value = this.value[member];
    return value === undefined || value === null ? undefined : read(value, this.pathOf(member));
  }

  /** Returns the value of a member as `read` reads it. Throws if it is absent or null. */
  required(member, read) {
    const value = this.optional(member, read);
    if (value === undefined) throw invalid(`${this.pathOf(member)} is missing`);
    return value;
  }

  /** Returns the fields of a member that is an object. */
  fields(member) {
    return this.required(member, (value, path) => new Fields(value, path));
  }
}

/** Returns a copy of an object without its undefined members. */
export function defined(object) {
  for (const member of Object.keys(object)) if (object[member] === undefined) delete object[member];
  return object;
}
