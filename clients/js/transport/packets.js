// The packets of MQTT 5 and 3.1.1 that a subscriber sends and receives. Versions are "v5" and "v311".

import { TrackingError } from "../core/errors.js";
import { encoded } from "../core/text.js";

const CONNECT = 1;
const CONNACK = 2;
const PUBLISH = 3;
const PUBACK = 4;
const SUBSCRIBE = 8;
const SUBACK = 9;
const UNSUBSCRIBE = 10;
const UNSUBACK = 11;
const PINGREQ = 12;
const PINGRESP = 13;
const DISCONNECT = 14;

/** The bytes of a packet that are read. The rest of a larger packet is skipped: its payload exceeds the limit of the protocol. */
export const MAXIMUM_PACKET_BYTES = 262_144;

// Writing

const uint16 = (number) => [number >> 8, number & 0xff];
const properties = (version, bytes = []) => (version === "v5" ? [bytes.length, ...bytes] : []);

function string(text) {
  const bytes = encoded(text);
  return [...uint16(bytes.length), ...bytes];
}

/** Returns a packet from its type with flags, the bytes of its head, and its payload. */
function packet(first, head, payload = new Uint8Array()) {
  const length = [];
  for (let rest = head.length + payload.length, more = true; more; rest >>= 7) {
    more = rest > 0x7f;
    length.push((rest & 0x7f) | (more ? 0x80 : 0));
  }
  const bytes = new Uint8Array(1 + length.length + head.length + payload.length);
  bytes.set([first, ...length, ...head]);
  bytes.set(payload, 1 + length.length + head.length);
  return bytes;
}

/** @param will {topic, payload, isRetained} */
export function connect(version, { client, username, password, keepAlive, will }) {
  const flags = 0x02 | 0x04 | 0x08 | (will.isRetained ? 0x20 : 0) | (username === undefined ? 0 : 0x80)
    | (password === undefined ? 0 : 0x40);
  return packet(CONNECT << 4, [
    ...string("MQTT"), version === "v5" ? 5 : 4, flags, ...uint16(keepAlive), ...properties(version), ...string(client),
    ...properties(version), ...string(will.topic), ...uint16(will.payload.length), ...will.payload,
    ...username === undefined ? [] : string(username), ...password === undefined ? [] : string(password),
  ]);
}

/** Returns a PUBLISH with QoS 1. */
export const publish = (version, id, { topic, payload, isRetained }) =>
  packet((PUBLISH << 4) | 0x02 | (isRetained ? 1 : 0), [...string(topic), ...uint16(id), ...properties(version)], payload);

export const puback = (id) => packet(PUBACK << 4, uint16(id));

/** Returns a SUBSCRIBE with QoS 1. */
export const subscribe = (version, id, filters) =>
  packet((SUBSCRIBE << 4) | 0x02, [...uint16(id), ...properties(version), ...filters.flatMap((filter) => [...string(filter), 1])]);

export const unsubscribe = (version, id, filters) =>
  packet((UNSUBSCRIBE << 4) | 0x02, [...uint16(id), ...properties(version), ...filters.flatMap(string)]);

export const pingreq = () => packet(PINGREQ << 4, []);

export const disconnect = () => packet(DISCONNECT << 4, []);

// Reading

const malformed = (what) => new TrackingError("connectionLost", `connection to the broker ended: ${what}. The client connects again`, 0x81);

/** Divides the bytes of a connection into packets. */
export class PacketReader {
  constructor(version) {
    this.version = version;
    this.head = [];
    this.body = undefined;
  }

  /** Returns the packets that are complete. Throws a TrackingError for a malformed packet. */
  push(bytes) {
    const packets = [];
    for (let at = 0; at < bytes.length;) {
      if (!this.body) {
        this.begin(bytes[at]);
        at += 1;
      } else {
        at += this.fill(bytes.subarray(at));
      }
      if (this.body && this.missing === 0) packets.push(this.take());
    }
    return packets;
  }

  /** Reads a byte of the fixed header. */
  begin(byte) {
    this.head.push(byte);
    if (this.head.length === 1 || (byte & 0x80 && this.head.length < 5)) return;
    if (byte & 0x80) throw malformed("the broker sent a packet with a malformed length");
    this.missing = this.head.slice(1).reduce((sum, one, index) => sum + (one & 0x7f) * 128 ** index, 0);
    this.body = new Uint8Array(Math.min(this.missing, MAXIMUM_PACKET_BYTES));
    this.filled = 0;
  }

  fill(bytes) {
    const count = Math.min(bytes.length, this.missing);
    const kept = Math.min(count, this.body.length - this.filled);
    this.body.set(bytes.subarray(0, kept), this.filled);
    this.filled += kept;
    this.missing -= count;
    return count;
  }

  take() {
    const [[first], { body, version }] = [this.head, this];
    [this.head, this.body] = [[], undefined];
    return decoded(first, new Cursor(body), version);
  }
}

class Cursor {
  constructor(bytes) {
    this.bytes = bytes;
    this.position = 0;
  }

  get isAtEnd() { return this.position >= this.bytes.length; }

  uint8() {
    if (this.isAtEnd) throw malformed("the broker sent a packet that is too short");
    this.position += 1;
    return this.bytes[this.position - 1];
  }

  uint16() { return (this.uint8() << 8) | this.uint8(); }

  uint32() { return this.uint16() * 65_536 + this.uint16(); }

  variable() {
    let [value, scale] = [0, 1];
    for (let more = true; more; scale *= 128) {
      const byte = this.uint8();
      value += (byte & 0x7f) * scale;
      more = byte >= 0x80;
    }
    return value;
  }

  take(count) {
    if (this.position + count > this.bytes.length) throw malformed("the broker sent a packet that is too short");
    this.position += count;
    return this.bytes.subarray(this.position - count, this.position);
  }

  string() { return new TextDecoder().decode(this.take(this.uint16())); }

  rest() { return this.take(this.bytes.length - this.position); }
}

/** The property of MQTT 5 with the number of unanswered publishes that the broker accepts. */
const RECEIVE_MAXIMUM = 0x21;
/** The property of MQTT 5 with the keep-alive time in seconds that the broker demands. */
const SERVER_KEEP_ALIVE = 0x13;

/** Returns the properties of a CONNACK. Unknown ones end the reading. */
function connackProperties(cursor) {
  const found = new Map();
  const end = cursor.variable() + cursor.position;
  const readers = {
    0x11: "uint32", 0x12: "string", 0x13: "uint16", 0x15: "string", 0x16: "string", 0x1a: "string", 0x1c: "string", 0x1f: "string",
    0x21: "uint16", 0x22: "uint16", 0x24: "uint8", 0x25: "uint8", 0x27: "uint32", 0x28: "uint8", 0x29: "uint8", 0x2a: "uint8",
  };
  while (cursor.position < end) {
    const id = cursor.uint8();
    if (id === 0x26) {
      cursor.string();
      cursor.string();
    } else if (readers[id]) {
      found.set(id, cursor[readers[id]]());
    } else {
      break;
    }
  }
  return found;
}

/** Returns {type, …} of a received packet. */
function decoded(first, cursor, version) {
  const isV5 = version === "v5";
  const skipProperties = () => { if (isV5) cursor.take(cursor.variable()); };
  switch (first >> 4) {
    case CONNACK: {
      const sessionPresent = (cursor.uint8() & 1) === 1;
      const code = cursor.uint8();
      const found = isV5 && !cursor.isAtEnd ? connackProperties(cursor) : new Map();
      const receiveMaximum = found.get(RECEIVE_MAXIMUM) ?? (isV5 ? 65_535 : 20);
      return { type: "connack", sessionPresent, code, receiveMaximum, keepAlive: found.get(SERVER_KEEP_ALIVE) };
    }
    case PUBLISH: {
      const topic = cursor.string();
      const id = first & 0x06 ? cursor.uint16() : undefined;
      skipProperties();
      return { type: "publish", topic, id, payload: cursor.rest(), isRetained: (first & 1) === 1 };
    }
    case PUBACK: return { type: "puback", id: cursor.uint16(), code: cursor.isAtEnd ? 0 : cursor.uint8() };
    case SUBACK: {
      const id = cursor.uint16();
      skipProperties();
      return { type: "suback", id, codes: [...cursor.rest()] };
    }
    case UNSUBACK: return { type: "unsuback", id: cursor.uint16() };
    case PINGRESP: return { type: "pingresp" };
    case DISCONNECT: return { type: "disconnect", code: cursor.isAtEnd ? 0 : cursor.uint8() };
    default: throw malformed(`the broker sent a packet of type ${first >> 4}`);
  }
}
