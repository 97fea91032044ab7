// The vectors of Tests/Vectors, which the Swift tests read too, and the seeds of Tests/Fuzz.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { decodeUpdate } from "../core/location.js";
import * as messages from "../core/messages.js";
import { UpdateOrder } from "../core/order.js";
import { pathOf, topicOf } from "../core/topics.js";
import { payloadOf } from "./player.mjs";

const TESTS = new URL("../../../Tests/", import.meta.url);
const vectors = (name) => JSON.parse(readFileSync(new URL(`Vectors/${name}.json`, TESTS), "utf8"));
const seed = (name) => readFileSync(new URL(`Fuzz/seeds/${name}.json`, TESTS));

const DECODERS = {
  presence: messages.decodePresence, liveness: messages.decodeLiveness, request: messages.decodeRequest,
  resolution: messages.decodeResolution, update: decodeUpdate, trip: messages.decodeTrip, event: messages.decodeEvent,
  journey: messages.decodeJourney, estimate: messages.decodeEstimate,
};
const ENCODERS = { liveness: messages.encodeLiveness, request: messages.encodeRequest, event: messages.encodeEvent };

test("messages are read", () => {
  for (const { message, payload, written, value } of vectors("messages")) {
    for (const text of [payload, written]) {
      // Both go through JSON, because a parsed object has other prototypes than a vector.
      assert.deepEqual(JSON.parse(JSON.stringify(DECODERS[message](payloadOf(text)))), value, text);
    }
    if (ENCODERS[message] && !value.location) assert.deepEqual(ENCODERS[message](value), payloadOf(written), payload);
  }
});

test("bad messages are rejected with the same error", () => {
  for (const { message, payload, code, error } of vectors("bad-messages")) {
    assert.throws(() => DECODERS[message](payloadOf(payload)), { name: "TrackingError", code, message: error }, payload.slice(0, 200));
  }
});

test("payloads that are too large, binary or no UTF-8 are rejected", () => {
  assert.throws(() => decodeUpdate(new Uint8Array(131_073).fill(0x20)), { code: "payloadTooLarge" });
  assert.throws(() => decodeUpdate(Uint8Array.of(3, 4)), { message: /later protocol version/ });
  assert.throws(() => decodeUpdate(Uint8Array.of(0x22, 0xff, 0x22)), { message: "the text is not JSON: it is not UTF-8" });
  for (const [decode, bytes] of [["event", 32_768], ["trip", 32_768], ["journey", 32_768], ["estimate", 65_536], ["liveness", 4096]]) {
    assert.throws(() => DECODERS[decode](new Uint8Array(bytes + 1).fill(0x20)), { code: "payloadTooLarge" }, decode);
    assert.throws(() => DECODERS[decode](new Uint8Array(bytes).fill(0x20)), { code: "invalidPayload" }, decode);
  }
  const point = { type: "Feature", geometry: { type: "Point", coordinates: [1, 2] }, properties: { time: 1 } };
  const update = (count) => payloadOf({ location: point, skippedLocations: Array(count).fill(point) });
  assert.equal(decodeUpdate(update(1000)).skipped.length, 1000);
  assert.throws(() => decodeUpdate(update(1001)), { message: "skippedLocations[1000] must be one of at most 1000 points; found one more" });
  const nested = (depth) => payloadOf(`{"location":${JSON.stringify({ ...point, properties: { time: 1, extra: "?" } })
    .replace('"?"', `${'{"a":'.repeat(depth - 1)}{}${"}".repeat(depth - 1)}`)}}`);
  assert.ok(decodeUpdate(nested(16)).location.extra.a);
  assert.throws(() => decodeUpdate(nested(17)), { code: "invalidPayload" });
});

test("a member named __proto__ is an ordinary member", () => {
  const { detail } = messages.decodeEvent(payloadOf('{"id":"e","stream":"a","seq":1,"time":5,"kind":"X","detail":{"__proto__":{"a":1}}}'));
  assert.equal(detail.a, undefined);
  assert.deepEqual(Object.keys(detail), ["__proto__"]);
});

test("a batch gives its trips and events, and the error of one that cannot be read", () => {
  const event = { id: "e", stream: "other", seq: 4, time: 5, kind: "X" };
  const batch = messages.decodeDocuments(payloadOf({ batch: "b", stream: "one", events: [event, { id: "f" }, 7], trips: null }));
  assert.deepEqual(batch.events, [{ ...event, stream: "one", detail: {} }]);
  assert.deepEqual([batch.trips, batch.refusal.code], [[], "invalidPayload"]);
});

test("topics are parsed, and written as they were", () => {
  for (const { path, kind, trackable, client } of vectors("topics")) {
    const topic = topicOf("tracking", `tracking/${path}`);
    assert.deepEqual([topic?.kind, topic?.trackable, topic?.client], [kind, trackable, client], path);
    if (topic) assert.equal(pathOf(topic), path);
    assert.equal(topicOf("other", `tracking/${path}`), undefined);
  }
});

test("updates are ordered", () => {
  for (const [number, updates] of vectors("update-order").entries()) {
    const order = new UpdateOrder();
    for (const [index, { location, skipped, isOwners, verdict, new: points }] of updates.entries()) {
      assert.equal(order.consider({ location }, isOwners), verdict, `${number}, ${index}`);
      assert.deepEqual(order.newSkipped({ location, skipped }).map(({ seq, time }) => seq ?? time), points, `${number}, ${index}`);
    }
  }
});

test("the seeds of the fuzz targets are read", () => {
  for (const name of ["trip", "event", "journey", "estimate", "resolution"]) assert.ok(DECODERS[name](seed(`messages/${name}`)), name);
  assert.ok(decodeUpdate(seed("location/update")));
});
