// The names and topics of the protocol.

import { TrackingError } from "./errors.js";
import { bytesOf, encoded, hasControlCharacters } from "./text.js";

const SAFE = /^[A-Za-z0-9_-]+$/;

/** Returns the id of a trackable after a check of its rules. */
export function checkedTrackable(id) {
  if (typeof id !== "string" || bytesOf(id) < 1 || bytesOf(id) > 128) {
    throw new TrackingError("invalidName", `a trackable id has 1 to 128 bytes of UTF-8; this one has ${bytesOf(String(id))}`);
  }
  if (hasControlCharacters(id)) {
    throw new TrackingError("invalidName", "a trackable id must not contain control characters; remove them");
  }
  return id;
}

const isClient = (id) => typeof id === "string" && id.length <= 64 && SAFE.test(id);

/** Returns a client id after a check of its rules. */
export function checkedClient(id) {
  if (isClient(id)) return id;
  throw new TrackingError(
    "invalidName", `a client id must have 1 to 64 characters of A-Z a-z 0-9 _ -, unlike '${String(id).slice(0, 80)}'`);
}

/** Returns a topic root after a check of its rules. */
export function checkedRoot(root) {
  const levels = root.split("/");
  if (levels.length > 4 || bytesOf(root) > 256 || !levels.every((level) => /^[A-Za-z0-9_=-]+$/.test(level))) {
    throw new TrackingError(
      "invalidName",
      `a topic root must have 1 to 4 levels of A-Z a-z 0-9 _ - = and at most 256 bytes, unlike '${root.slice(0, 80)}'`);
  }
  return root;
}

/** Returns the id of a trackable as one level of a topic. */
export function levelOf(trackable) {
  if (SAFE.test(trackable) && trackable[0] !== "_") return trackable;
  return [...encoded(trackable)].map((byte, index) => {
    const letter = String.fromCharCode(byte);
    const isKept = SAFE.test(letter) && !(index === 0 && letter === "_");
    return isKept ? letter : `=${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }).join("");
}

/** Returns the id of a trackable that a level of a topic names; undefined if the level is not the shortest form of an id. */
function trackableOf(level) {
  const parts = level.match(/[A-Za-z0-9_-]|=[0-9A-F]{2}/g) ?? [];
  if (parts.join("") !== level) return undefined;
  const bytes = parts.map((part) => (part.length === 1 ? part.charCodeAt(0) : parseInt(part.slice(1), 16)));
  try {
    const id = checkedTrackable(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes)));
    return levelOf(id) === level ? id : undefined;
  } catch {
    return undefined;
  }
}

const OF_TRACKABLE = ["raw", "enhanced", "journey", "estimate", "history", "resolution", "trip", "event", "command"];
const OF_CLIENT = { publisher: "publisher", subscriber: "subscriber", request: "request", ack: "ack", command: "answer" };
const NOT_RETAINED = ["raw", "history", "event", "command", "answer"];

/** Returns true if the messages of a topic are published with the retain flag. */
export const isRetained = (topic) => !NOT_RETAINED.includes(topic.kind);

/** Returns the text of a topic beneath the topic root. */
export function pathOf({ kind, trackable, client }) {
  switch (kind) {
    case "liveness": return `_clients/${client}`;
    case "location": return levelOf(trackable);
    case "answer": return `${levelOf(trackable)}/command/${client}`;
    default: return `${levelOf(trackable)}/${kind}${client === undefined ? "" : `/${client}`}`;
  }
}

/**
 * Parses a topic.
 *
 * @returns {kind, trackable, client}; undefined for a topic that the protocol does not define beneath `root`
 */
export function topicOf(root, text) {
  if (!text.startsWith(`${root}/`)) return undefined;
  const levels = text.slice(root.length + 1).split("/");
  if (levels[0] === "_clients") {
    return levels.length === 2 && isClient(levels[1]) ? { kind: "liveness", client: levels[1] } : undefined;
  }
  const trackable = trackableOf(levels[0]);
  if (trackable === undefined) return undefined;
  if (levels.length === 1) return { kind: "location", trackable };
  if (levels.length === 2) return OF_TRACKABLE.includes(levels[1]) ? { kind: levels[1], trackable } : undefined;
  if (levels.length !== 3 || !isClient(levels[2]) || !Object.hasOwn(OF_CLIENT, levels[1])) return undefined;
  return { kind: OF_CLIENT[levels[1]], trackable, client: levels[2] };
}
