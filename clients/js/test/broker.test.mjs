// The subscriber against a real Mosquitto, and with the real agent if this checkout was built.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { AssetSubscriber } from "../asset-subscriber.js";
import { high } from "../resolution.js";
import { MQTTTransport } from "../transport/mqtt.js";
import { startBroker } from "./broker.mjs";
import { payloadOf } from "./player.mjs";

const AGENT = new URL("../../../.build/debug/godwit-agent", import.meta.url).pathname;
const limits = { timeout: 60_000 };

let broker;
before(async () => { broker = await startBroker(); });
after(() => broker.stop());

/** A publisher of van-1 that is made of the transport alone, and records the messages that it receives. */
class Publisher {
  constructor(url) {
    this.received = [];
    this.changed = () => {};
    this.token = 0;
    const will = () => ({ topic: "tracking/_clients/device", payload: payloadOf({ status: "offline", session: "s", connection: 0 }) });
    this.transport = new MQTTTransport(new URL(url), { client: "device", will }, (event) => this.handle(event));
    this.transport.start();
  }

  handle(event) {
    if (event.type === "connected") {
      this.transport.send([{ type: "subscribe", filters: ["tracking/van-1/request/+"], token: this.nextToken() }]);
      this.publish("_clients/device", { status: "online", session: "s", connection: 0, lease: 90 });
      const resolution = { accuracy: "HIGH", desiredInterval: 1000, minimumDisplacement: 0 };
      const rest = { near: false, subscribers: 1, lowBattery: false, state: "ONLINE", filter: "both", maximumSilence: 60_000 };
      this.publish("van-1/resolution", { resolution, ...rest });
      this.publish("van-1/publisher/device", { type: "PUBLISHER", session: "s", connection: 0, lease: 90, since: 1, stream: "one" });
    }
    if (event.type === "received") this.received.push(event.message);
    this.changed();
  }

  nextToken() { return this.token += 1; }

  publish(topic, json, isRetained = true) {
    const payload = payloadOf(json);
    this.transport.send([{ type: "publish", topic: `tracking/${topic}`, payload, isRetained, token: this.nextToken() }]);
  }

  move(seq, more = {}) {
    const properties = { time: 1_700_000_000 + seq, seq, stream: "one", ...more };
    this.publish("van-1", { location: { type: "Feature", geometry: { type: "Point", coordinates: [9.5, 47.1] }, properties } });
  }

  /** Resolves once a condition holds, which is examined after each event. */
  until(condition) {
    return new Promise((resolve) => {
      this.changed = () => { if (condition()) resolve(); };
      this.changed();
    });
  }

  close() { this.transport.send([{ type: "close", within: 1000 }]); }
}

/** Returns the next event of a stream that fulfils a condition. */
async function next(stream, condition) {
  for (;;) {
    const { value, done } = await stream.next();
    assert.ok(!done, "the stream ended");
    if (condition(value)) return value;
  }
}

test("positions, states and requests pass between a publisher and a subscriber", limits, async (t) => {
  const publisher = new Publisher(broker.tcp);
  const desk = new AssetSubscriber({ broker: broker.tcp });
  t.after(() => Promise.all([publisher.close(), desk.finish()]));
  const events = desk.events();
  const locations = desk.locations("van-1", { requesting: high({ every: 0.5 }) });
  await next(events, ({ type, state }) => type === "state" && state === "ONLINE");
  await publisher.until(() => publisher.received.some(({ payload }) => payload.length > 0));
  const [{ topic, payload }] = publisher.received;
  assert.equal(topic, `tracking/van-1/request/${desk.client}`);
  assert.deepEqual(JSON.parse(new TextDecoder().decode(payload)).resolution, high({ every: 0.5 }));

  publisher.move(1);
  publisher.move(3);
  publisher.move(2);
  publisher.publish("van-1", "no JSON", false);
  publisher.move(4, { extra: { text: "é".repeat(70_000) } });
  publisher.move(5);
  const seqs = [];
  for await (const { coordinate, isLate, update } of locations) {
    assert.deepEqual(coordinate, { latitude: 47.1, longitude: 9.5 });
    seqs.push(isLate ? -update.location.seq : update.location.seq);
    if (update.location.seq === 5) break;
  }
  assert.deepEqual(seqs, [1, 3, -2, 5]);
  assert.equal(desk.badMessages, 2);
  // The end of the last stream withdraws the request.
  await publisher.until(() => publisher.received.at(-1).payload.length === 0);
  await desk.finish();
  assert.deepEqual(await desk.locations("van-1").next(), { value: undefined, done: true });
});

test("a subscriber connects again after a restart of the broker", limits, async (t) => {
  const desk = new AssetSubscriber({ broker: broker.tcp, client: "desk-2" });
  t.after(() => desk.finish());
  const events = desk.events();
  desk.watch("van-2");
  await next(events, ({ type, disconnection }) => type === "connection" && !disconnection);
  await broker.restart();
  const { disconnection } = await next(events, ({ type, disconnection: one }) => type === "connection" && one);
  assert.equal(disconnection.reason.code, "connectionLost");
  await next(events, ({ type, disconnection: one }) => type === "connection" && !one);
  await next(events, ({ type, presence }) => type === "presence" && presence.status === "ABSENT");
  await desk.finish();
  const states = [];
  for await (const event of events) states.push(event.type);
  assert.deepEqual(states, ["connection", "presence"]);
});

test("a tracking event is published, or rejected with an error", limits, async (t) => {
  const desk = new AssetSubscriber({ broker: broker.tcp, client: "desk-3" });
  t.after(() => desk.finish());
  const event = { id: "e1", stream: "mine", seq: 1, time: 5, kind: "LOW_BATTERY", detail: { percent: 19 } };
  await assert.rejects(desk.publish("van-3", event), { code: "connectionLost" });
  const events = desk.events();
  desk.watch("van-3");
  await next(events, ({ type, presence }) => type === "presence" && presence.status === "ABSENT");
  await desk.publish("van-3", event);
  assert.deepEqual((await next(events, ({ type }) => type === "event")).event, event);
  await assert.rejects(desk.publish("van-3", { ...event, detail: { text: "x".repeat(17_000) } }), { code: "payloadTooLarge" });
  await desk.finish();
  await assert.rejects(desk.publish("van-3", event), { code: "connectionLost" });
});

test("MQTT 3.1.1 is enough", limits, async (t) => {
  const desk = new AssetSubscriber({ broker: broker.tcp, client: "desk-4" });
  desk.transport.machine.configuration.pinnedVersion = "v311";
  t.after(() => desk.finish());
  const events = desk.events();
  desk.watch("van-4", { requesting: high({ every: 1 }) });
  await next(events, ({ type, presence }) => type === "presence" && presence.status === "ABSENT");
  await desk.publish("van-4", { id: "e1", stream: "mine", seq: 1, time: 5, kind: "X", detail: {} });
  assert.equal((await next(events, ({ type }) => type === "event")).event.kind, "X");
});

test("an address that cannot be used is an error that names the remedy", () => {
  assert.throws(() => new AssetSubscriber({ broker: "127.0.0.1:1883" }), { code: "invalidConfiguration", message: /must begin with/ });
  assert.throws(() => new AssetSubscriber({ broker: "mqtt://127.0.0.1", client: "a b" }), { code: "invalidName" });
  if (!globalThis.WebSocket) {
    assert.throws(() => new AssetSubscriber({ broker: broker.ws }), { code: "invalidConfiguration", message: /experimental-websocket/ });
  }
});

/** Watches van-7 until two updates in a row are at most 1.5 s apart, and prints the time between them. */
const WATCH = `
  import { AssetSubscriber, high } from ${JSON.stringify(new URL("../index.js", import.meta.url).href)};
  const desk = new AssetSubscriber({ broker: process.argv[1], client: "desk-7" });
  let before = 0;
  for await (const { update: { location: { time } } } of desk.locations("van-7", { requesting: high({ every: 1 }) })) {
    if (before > 0 && time - before <= 1.5) break;
    before = time;
  }
  await desk.finish();
  console.log("the agent publishes every second");
`;

test("the agent publishes faster for a subscriber over WebSocket", { ...limits, skip: !existsSync(AGENT) }, async () => {
  const home = mkdtempSync(join(tmpdir(), "godwit-js-"));
  const environment = { PATH: process.env.PATH, HOME: home, XDG_RUNTIME_DIR: home };
  const agent = spawn(
    AGENT, ["run", "--broker", broker.tcp, "--trackable", "van-7", "--source", "simulate:"], { stdio: "ignore", env: environment });
  try {
    const { stdout } = await promisify(execFile)(
      process.execPath, ["--experimental-websocket", "--no-warnings", "--input-type=module", "-e", WATCH, broker.ws], limits);
    assert.equal(stdout, "the agent publishes every second\n");
  } finally {
    agent.kill();
    rmSync(home, { recursive: true, force: true });
  }
});
