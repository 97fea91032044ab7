// The subscriber over MQTT. The decisions are those of SubscriberStateMachine.

import { TrackingError } from "./core/errors.js";
import { encodeEvent, encodeLiveness } from "./core/messages.js";
import { checkedClient, checkedRoot, checkedTrackable } from "./core/topics.js";
import { SubscriberStateMachine } from "./subscriber/machine.js";
import { SubscriberStreams, withCoordinate } from "./streams.js";
import { checkedBroker } from "./transport/links.js";
import { MQTTTransport } from "./transport/mqtt.js";

const LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789";

/** Returns a random name of 12 characters. */
const randomName = () => [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => LETTERS[byte % LETTERS.length]).join("");

/** The events of the state machine that have a received update. */
const WITH_UPDATE = ["location", "publishedLocation", "raw"];

/**
 * Watches trackables over one connection to the broker: their positions in order, their states, and the presence of their
 * publishers. Requests resolutions from the publishers. Network failures never throw; they appear as events and states.
 */
export class AssetSubscriber extends SubscriberStreams {
  constructor({ broker, client, username, password, WebSocket, tls, topicRoot = "tracking", ...configuration }) {
    super();
    const url = checkedBroker(broker, WebSocket);
    const id = client === undefined ? `js-${randomName()}` : checkedClient(client);
    const session = randomName();
    this.machine = new SubscriberStateMachine({
      ...configuration, client: id, session, topicRoot: checkedRoot(topicRoot), isClientRandom: client === undefined,
    });
    const will = (connection) => ({
      topic: `${topicRoot}/_clients/${id}`, payload: encodeLiveness({ status: "offline", session, connection }),
    });
    this.transport = new MQTTTransport(withoutUser(url), {
      client: id, username: username ?? userOf(url.username), password: password ?? userOf(url.password), WebSocket, tls, will,
    }, (event) => this.post({ type: "transport", event }));
    this.inbox = [];
    this.isDraining = false;
    this.hasStarted = false;
    this.ended = new Promise((resolve) => { this.resolveEnd = resolve; });
    /** The calls of `publish` that wait for the broker's answer, by the number of the request. */
    this.publishing = new Map();
    this.lastNumber = 0;
  }

  /** The client id of this subscriber. */
  get client() { return this.machine.member.client; }

  /** True while the subscriber is connected and the broker has answered all its subscriptions. */
  get isSettled() { return this.machine.isSettled; }

  /** The number of received messages that were skipped because they are invalid. */
  get badMessages() { return this.machine.member.badMessages; }

  /** Connects to the broker. Every method that watches or reads calls it. */
  start() {
    if (this.hasStarted) return;
    this.hasStarted = true;
    this.transport.start();
  }

  /** Watches a trackable, and requests a resolution for it. */
  watch(trackable, { requesting, preferring } = {}) {
    this.post({ type: "watch", trackable: checkedTrackable(trackable), request: requesting, kind: preferring });
    this.start();
  }

  unwatch(trackable) { this.post({ type: "unwatch", trackable }); }

  /** Requests another resolution for a watched trackable; undefined withdraws the request. */
  request(trackable, requesting) { this.post({ type: "request", trackable, request: requesting }); }

  /** Publishes a tracking event of a trackable. Resolves once the broker has accepted it. */
  async publish(trackable, event) {
    encodeEvent(event);
    this.start();
    this.lastNumber += 1;
    const number = this.lastNumber;
    return new Promise((resolve, reject) => {
      this.publishing.set(number, { resolve, reject });
      this.post({ type: "publish", trackable: checkedTrackable(trackable), event, number });
    });
  }

  /** Returns the ms until the next position is expected; negative when it is overdue, undefined when none is expected. */
  untilNextExpected(trackable) {
    const expected = this.machine.nextExpected(trackable);
    return expected === undefined ? undefined : expected - performance.now();
  }

  /** Withdraws all requests and presences, and closes the connection in order. Resolves at the end of the connection. */
  async finish() {
    if (!this.hasStarted) this.end();
    else this.post({ type: "stop" });
    return this.ended;
  }

  // Events and actions

  post(event) {
    this.inbox.push(event);
    if (this.isDraining) return;
    this.isDraining = true;
    try {
      while (this.inbox.length > 0) {
        const moment = { now: performance.now(), wall: Date.now() / 1000 };
        for (const action of this.machine.happened(this.inbox.shift(), moment)) this.perform(action);
      }
    } finally {
      this.isDraining = false;
    }
    this.setTimer();
    if (this.machine.isClosed) this.end();
  }

  perform({ type, commands, event, number, error }) {
    if (type === "send") {
      this.transport.send(commands);
    } else if (type === "deliver") {
      this.deliveries.yield(WITH_UPDATE.includes(event.type) ? { ...event, update: withCoordinate(event.update) } : event);
    } else {
      const { resolve, reject } = this.publishing.get(number) ?? {};
      this.publishing.delete(number);
      if (error) reject?.(error);
      else resolve?.();
    }
  }

  setTimer() {
    clearTimeout(this.timer);
    const deadline = this.machine.nextDeadline;
    if (deadline === undefined || this.machine.isClosed) return;
    // A timer may fire a little early.
    const wait = Math.max(0, Math.min(deadline - performance.now(), 2 ** 31 - 2)) + 1;
    this.timer = setTimeout(() => this.post({ type: "timer" }), wait);
  }

  end() {
    clearTimeout(this.timer);
    for (const { reject } of this.publishing.values()) {
      reject(new TrackingError("stopped", "cannot publish the tracking event: the subscriber has ended. Create a new subscriber"));
    }
    this.publishing.clear();
    this.deliveries.end(this.machine.failure);
    this.resolveEnd();
  }
}

const userOf = (text) => (text === "" ? undefined : decodeURIComponent(text));

/** Returns an address without its user and password, which a WebSocket does not accept. */
function withoutUser(url) {
  const plain = new URL(url);
  [plain.username, plain.password] = ["", ""];
  return plain;
}
