// The reason codes of MQTT, as errors.

import { TrackingError } from "../core/errors.js";

/** The texts of frequent reason codes. */
const TEXTS = {
  0x80: "unspecified error", 0x81: "malformed packet", 0x82: "protocol error", 0x84: "unsupported protocol version",
  0x85: "client identifier not valid", 0x86: "bad user name or password", 0x87: "not authorized", 0x88: "server unavailable",
  0x89: "server busy", 0x8a: "banned", 0x8b: "server shutting down", 0x8d: "keep alive timeout", 0x8e: "session taken over",
  0x8f: "topic filter invalid", 0x90: "topic name invalid", 0x93: "receive maximum exceeded", 0x95: "packet too large",
  0x97: "quota exceeded", 0x98: "administrative action", 0x99: "payload format invalid", 0x9a: "retain not supported",
};
/** The reason codes of MQTT 5 for the refusals of a connection in MQTT 3.1.1. */
const V311 = { 1: 0x84, 2: 0x85, 3: 0x88, 4: 0x86, 5: 0x87 };
/** The reason codes after which a later attempt to connect may succeed. */
const PASSING = [0x80, 0x83, 0x88, 0x89, 0x97, 0x9c, 0x9d, 0x9f];

const textOf = (reason) => `${TEXTS[reason] ?? "error"} (0x${reason.toString(16).toUpperCase()})`;

function errorOf(reason, what) {
  const code = { 0x86: "badCredentials", 0x87: "notAuthorized" }[reason] ?? "refused";
  const remedy = {
    0x86: ". Correct the user, the password or the certificate", 0x87: ". Give this user the right at the broker",
  }[reason] ?? "";
  return new TrackingError(code, `${what}: ${textOf(reason)}${remedy}`, reason);
}

/** Returns the error of a rejected message or subscription; undefined for a code below 0x80. */
export const refusalOf = (code, what) => (code < 0x80 ? undefined : errorOf(code, `the broker refused ${what}`));

/** Returns the error of a rejected connection. */
export function connectionRefused(code, version) {
  const reason = version === "v311" ? V311[code] ?? code : code;
  const error = errorOf(reason, "the broker refused the connection");
  return PASSING.includes(reason) ? new TrackingError("brokerUnreachable", error.message, reason) : error;
}

/** Returns the error of a DISCONNECT that the broker sent. */
export function disconnected(reason) {
  if (reason === 0x87) return errorOf(reason, "the broker ended the connection");
  const isTakenOver = reason === 0x8e;
  return new TrackingError(
    isTakenOver ? "takenOver" : "connectionLost",
    isTakenOver
      ? "the broker ended the connection: another program connected with the same client id. Give each program its own client id"
      : `the broker ended the connection: ${textOf(reason)}`, reason);
}
