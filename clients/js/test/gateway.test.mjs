// The subscriber over the live stream, against a server that plays the gateway.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { GatewaySubscriber } from "../gateway-subscriber.js";
import { high } from "../resolution.js";
import { EventParser } from "../transport/sse.js";

const limits = { timeout: 30_000 };

/** A gateway whose streams and requests a test reads and answers in order. */
class Gateway {
  constructor() {
    this.streams = [];
    this.requests = [];
    /** Returns the status of the answer to a request. */
    this.status = () => 204;
    this.changed = () => {};
    this.server = createServer((request, response) => {
      const { method, url, headers } = request;
      if (headers.authorization !== "Bearer secret") {
        response.writeHead(401).end();
      } else if (url.startsWith("/api/v1/live") && this.status(method, url) !== 403) {
        response.writeHead(200, { "Content-Type": "text/event-stream" });
        response.flushHeaders();
        this.streams.push({ url, response });
      } else {
        request.setEncoding("utf8").on("data", (body) => { request.body = body; }).on("end", () => {
          this.requests.push(`${method} ${url} ${request.body ?? ""}`);
          const status = this.status(method, url);
          response.writeHead(status).end(status === 204 ? undefined : JSON.stringify({ status, detail: `detail of ${status}` }));
          this.changed();
        });
      }
      this.changed();
    });
  }

  async start() {
    this.server.listen(0, "127.0.0.1");
    await once(this.server, "listening");
    return `http://127.0.0.1:${this.server.address().port}`;
  }

  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }

  /** Resolves once a condition holds, which is examined after each request. */
  until(condition) {
    return new Promise((resolve) => {
      this.changed = () => { if (condition()) resolve(); };
      this.changed();
    });
  }

  send(type, data, id) {
    this.streams.at(-1).response.write(`event: ${type}\n${id ? `id: ${id}\n` : ""}data: ${JSON.stringify(data)}\n\n`);
  }

  hello(more = {}) { this.send("hello", { stream: "st", now: 1, heartbeat: 15, resumed: false, reader: "r", ...more }); }
}

const position = (seq, more = {}) => ({
  trackable: "van-7",
  location: { type: "Feature", geometry: { type: "Point", coordinates: [9.5, 47.1] }, properties: { time: seq, seq, stream: "s" } },
  ...more,
});

async function take(stream, count) {
  const values = [];
  while (values.length < count) values.push((await stream.next()).value);
  return values;
}

test("the live stream is read, requests are sent, and a lost stream is resumed", limits, async (t) => {
  const gateway = new Gateway();
  t.after(() => gateway.stop());
  const desk = new GatewaySubscriber({ gateway: await gateway.start(), token: "secret", trackables: ["van-7", "a,b"] });
  t.after(() => desk.finish());
  const events = desk.events();
  const locations = desk.locations("van-7", { requesting: high({ every: 2, moving: 5 }) });
  await gateway.until(() => gateway.streams.length === 1);
  assert.equal(gateway.streams[0].url, "/api/v1/live?trackable=van-7&trackable=a%2Cb");
  gateway.hello();
  gateway.send("state", { trackable: "van-7", state: "ONLINE" });
  gateway.send("presence", { trackable: "van-7", presence: "PRESENT", lastSeen: 5, metadata: "bike" });
  gateway.send("position", position(2), "e-1");
  gateway.send("position", position(1, { late: true }), "e-2");
  gateway.send("position", { trackable: "van-7" });
  gateway.send("position", { trackable: "van-7", location: 7 });
  gateway.send("resolution", { trackable: "van-7" });
  assert.deepEqual((await take(events, 8)).map(({ type, state, presence, topic }) => state ?? presence?.status ?? topic ?? type), [
    "connection", "ONLINE", "PRESENT", "location", "location", "locationCleared", "position of van-7", "resolution",
  ]);
  const [first, late] = await take(locations, 2);
  assert.deepEqual([first.coordinate, first.isLate, late.isLate], [{ latitude: 47.1, longitude: 9.5 }, false, true]);
  await gateway.until(() => gateway.requests.length === 1);
  assert.equal(
    gateway.requests[0],
    'POST /api/v1/trackables/van-7/resolution?stream=st {"accuracy":"HIGH","desiredInterval":2000,"minimumDisplacement":5}');

  gateway.streams[0].response.destroy();
  await gateway.until(() => gateway.streams.length === 3);
  // The stream in between is the question for the reason of the end.
  assert.equal(gateway.streams[1].url, "/api/v1/live?trackable=van-7&trackable=a%2Cb");
  assert.equal(gateway.streams[2].url, "/api/v1/live?trackable=van-7&trackable=a%2Cb&lastEventId=e-2");
  gateway.hello({ resumed: true });
  assert.deepEqual((await take(events, 2)).map(({ disconnection, resumed }) => [disconnection !== undefined, resumed]), [
    [true, undefined], [false, true],
  ]);
  await gateway.until(() => gateway.requests.length === 2);
  await locations.return();
  await gateway.until(() => gateway.requests.length === 3);
  assert.equal(gateway.requests[2], "DELETE /api/v1/trackables/van-7/resolution?stream=st ");
  gateway.send("end", { reason: "expired" });
  await assert.rejects(events.next(), { code: "notAuthorized" });
});

test("a trackable that the token may not read is reported, with and without a request", limits, async (t) => {
  const gateway = new Gateway();
  t.after(() => gateway.stop());
  gateway.status = (_, url) => url.includes("van-8") || url.includes("van-9") ? 403 : 404;
  const desk = new GatewaySubscriber({ gateway: await gateway.start(), token: "secret" });
  t.after(() => desk.finish());
  const events = desk.events();
  desk.watch("van-9", { requesting: high({ every: 2 }) });
  await gateway.until(() => gateway.streams.length === 1);
  gateway.hello();
  const [connection, refused] = await take(events, 2);
  assert.deepEqual(connection, { type: "connection", resumed: false });
  assert.deepEqual([refused.type, refused.trackable, refused.error.code, refused.error.message],
    ["refused", "van-9", "notAuthorized", "cannot watch 'van-9': detail of 403"]);
  desk.watch("van-8");
  const [other] = await take(events, 1);
  assert.deepEqual([other.type, other.trackable, other.error.code], ["refused", "van-8", "notAuthorized"]);
  // A trackable of which the gateway knows nothing yet is no error.
  desk.watch("van-7", { requesting: high({ every: 2 }) });
  assert.deepEqual(await take(events, 1), [{ type: "silent", trackable: "van-7" }]);
});

test("a live stream of a trackable that the token may not read is an error", limits, async (t) => {
  const gateway = new Gateway();
  t.after(() => gateway.stop());
  gateway.status = () => 403;
  const desk = new GatewaySubscriber({ gateway: await gateway.start(), token: "secret", trackables: ["van-9"] });
  await assert.rejects(desk.locations("van-9").next(), {
    code: "notAuthorized", message: "cannot read the live stream: detail of 403",
  });
});

test("an unknown token is an error", limits, async (t) => {
  const gateway = new Gateway();
  t.after(() => gateway.stop());
  const desk = new GatewaySubscriber({ gateway: await gateway.start(), token: "other" });
  const locations = desk.locations("van-7");
  await assert.rejects(locations.next(), { name: "TrackingError", code: "badCredentials" });
  assert.throws(() => new GatewaySubscriber({ gateway: "nowhere" }), { code: "invalidConfiguration" });
});

test("server-sent events are read from pieces of any size", () => {
  const text = ": comment\r\nevent: a\r\nid: 1\r\ndata: x\r\ndata:  y\r\n\r\ndata: z\n\nevent: none\n\nid\ndata\n\n";
  const whole = new EventParser().push(text);
  assert.deepEqual(whole, [
    { type: "a", data: "x\n y", lastEventId: "1" }, { type: "message", data: "z", lastEventId: "1" },
    { type: "message", data: "", lastEventId: "" },
  ]);
  const parser = new EventParser();
  assert.deepEqual([...text].flatMap((letter) => parser.push(letter)), whole);
  assert.throws(() => new EventParser().push("x".repeat(5_000_000)), /too large/);
});
