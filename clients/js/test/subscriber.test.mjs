// Plays Tests/Scenarios/subscriber.

import { TrackingError } from "../core/errors.js";
import { decodeLiveness, decodePresence, decodeRequest } from "../core/messages.js";
import { SubscriberStateMachine } from "../subscriber/machine.js";
import { SHORTEST_PAUSE } from "../subscriber/slices.js";
import { milliseconds, passTime, payloadOf, playScenarios, valueAfter } from "./player.mjs";
import { splitMix64 } from "./random.mjs";

/** The events of the program, as text. */
const DELIVERED = {
  location: ({ trackable, update }) => `${trackable} at ${updateText(update)}`,
  publishedLocation: ({ trackable, update }) => `${trackable} published ${updateText(update)}`,
  raw: ({ trackable, update }) => `${trackable} raw at ${updateText(update)}`,
  locationCleared: ({ trackable }) => `${trackable} location cleared`,
  positionsKept: ({ trackables }) => `keeps ${[...trackables].sort().join(" ")}`,
  state: ({ trackable, state, reason }) => `${trackable} is ${state}${reason ? ` (${reason.code})` : ""}`,
  presence: ({ trackable, presence: { status, metadata } }) =>
    `${trackable} publisher ${status}${metadata === undefined ? "" : ` called ${metadata}`}`,
  resolution: ({ trackable, resolution }) => `${trackable} every ${resolution ? secondsText(resolution.resolution.desiredInterval) : "?"}`,
  trip: ({ trackable, trip }) => `${trackable} trip ${trip ? `${trip.id} ${trip.state} #${trip.seq}` : "cleared"}`,
  tripRecorded: ({ trackable, trip }) => `${trackable} recorded trip ${trip.id} #${trip.seq}`,
  event: ({ trackable, event }) => `${trackable} event ${event.kind} #${event.seq}`,
  silent: ({ trackable }) => `${trackable} unheard`,
  refused: ({ trackable = "everything", error }) => `refused ${trackable} (${error.code})`,
  enhancedRefused: ({ trackable = "everything", error }) => `no enhanced ${trackable} (${error.code})`,
  publishRefused: ({ topic, error }) => `may not write ${topic} (${error.code})`,
  badMessage: ({ topic }) => `bad message on ${topic}`,
  connection: ({ disconnection }) => (disconnection ? "not connected" : "connected"),
};

function updateText({ update, skipped, isLate, isRetained }) {
  const seqs = skipped.map(({ seq }) => seq).join(",");
  const road = update.enhancement?.road;
  return [
    update.location.seq, seqs && ` skipped ${seqs}`, road && ` on ${road} after ${update.intermediate.length}`, isLate && " late",
    isRetained && " kept",
  ].filter(Boolean).join("");
}

const decimal = (number) => (Number.isInteger(number) ? number.toFixed(1) : String(number));
const secondsText = (duration) => `${decimal(duration / 1000)} seconds`;
const short = (path) => path.slice("tracking/".length);

/** A subscriber of client w1, session mine. Its subscriptions and publishes are answered only by `granted` and `acked`. */
class Conversation {
  constructor(configuration = {}) {
    this.machine = new SubscriberStateMachine({ client: "w1", session: "mine", ...configuration }, splitMix64(1));
    /** The wall clock is this number of milliseconds after 1000 s. */
    this.now = 0;
    this.subscriptions = [];
    this.publishes = [];
  }

  happened(event) {
    return this.machine.happened(event, { now: this.now, wall: 1000 + this.now / 1000 }).flatMap((action) => this.texts(action));
  }

  transport(event) { return this.happened({ type: "transport", event }); }

  connect(connection) {
    [this.subscriptions, this.publishes] = [[], []];
    return this.transport({ type: "connected", connection });
  }

  lose() {
    this.subscriptions = [];
    return this.transport({ type: "disconnected", reason: new TrackingError("connectionLost", "cut"), retry: 0 });
  }

  /** Answers all pending subscriptions and those of the next slices: grants them, or refuses all or one of them. */
  granted({ refusal, not }) {
    const answers = this.subscriptions.splice(0).flatMap(({ token, filters }) => {
      const refusals = filters.map((filter) => (filter === not ? new TrackingError("notAuthorized", "no") : refusal));
      return this.transport({ type: "subscribed", token, refusals });
    });
    const { slices } = this.machine.retained;
    if (slices.isAllSent || slices.deadline === undefined) return answers;
    return [...answers, ...this.wait(SHORTEST_PAUSE), ...this.granted({ refusal, not })];
  }

  acked(not) {
    return this.publishes.splice(0).flatMap(({ token, topic }) => {
      const refusal = topic === not ? new TrackingError("notAuthorized", "forbidden") : undefined;
      return this.transport({ type: "published", token, refusal });
    });
  }

  receive(topic, value, isRetained = false) {
    return this.transport({ type: "received", message: { topic: `tracking/${topic}`, payload: payloadOf(value), isRetained } });
  }

  wait(time) {
    return passTime(this, this.now + time, () => this.machine.nextDeadline, () => this.happened({ type: "timer" }));
  }

  texts(action) {
    switch (action.type) {
      case "send": return action.commands.map((command) => this.commandText(command));
      case "deliver": return [DELIVERED[action.event.type](action.event)];
      default: return [`published ${action.number}${action.error ? ` not: ${action.error.code}` : ""}`];
    }
  }

  commandText(command) {
    if (command.type === "close") return "close";
    if (command.type === "subscribe") this.subscriptions.push(command);
    if (command.type !== "publish") return `${command.type} ${command.filters.map(short).join(" ")}`;
    this.publishes.push(command);
    return `${short(command.topic)}: ${command.payload.length === 0 ? "cleared" : messageText(command.payload)}`;
  }
}

function messageText(payload) {
  for (const [decode, text] of [
    [decodeLiveness, ({ status, session, connection }) => `${status} ${session}/${connection}`],
    [decodePresence, ({ session, connection, since }) => `present ${session}/${connection} since ${decimal(since)}`],
    [decodeRequest, ({ resolution }) => `ask ${resolution.desiredInterval}`],
  ]) {
    try { return text(decode(payload)); } catch { /* it is another message */ }
  }
  return "ask -1";
}

const resolutionOf = (text) => ({ accuracy: "HIGH", desiredInterval: Number(text), minimumDisplacement: 0 });

/** The JSON of the messages that a scenario names. */
const feature = (seq, stream) => ({
  type: "Feature", geometry: { type: "Point", coordinates: [1, 0] }, properties: { time: seq, seq, stream },
});
const liveness = (status, run) => {
  const [session, connection] = run.split("/");
  return { status, session, connection: Number(connection), lease: 90 };
};
const inForce = (interval, silence) => ({
  resolution: resolutionOf(interval), near: false, subscribers: 1, lowBattery: false, state: "ONLINE", filter: "both",
  maximumSilence: Number(silence),
});
const trip = (seq, stream, state) => ({
  tripId: "t1", mode: "bicycle", state, start: 1, ...state === "ENDED" && { end: 60 }, distance: 9, duration: 59, stream, seq,
});
const event = (seq, stream, time) => ({ id: `e${seq}`, stream, seq, time, kind: "LOW_BATTERY", detail: {} });

function configuration(words) {
  const has = (word) => words.includes(word);
  return {
    isSilent: has("silent"), isPresentOnlyWhileAsking: has("asking"), wantsRaw: has("raw"),
    prefers: has("enhanced") ? "enhanced" : "published", wantsRecorded: has("recorded"), watchesAll: has("all"),
    isClientRandom: has("random"),
  };
}

/** The inputs of the program and of the connection. */
const INPUTS = {
  watch: (talk, [, interval]) => talk.happened({ type: "watch", trackable: "van", request: interval && resolutionOf(interval) }),
  unwatch: (talk) => talk.happened({ type: "unwatch", trackable: "van" }),
  request: (talk, [, interval]) =>
    talk.happened({ type: "request", trackable: "van", request: interval === "none" ? undefined : resolutionOf(interval) }),
  connect: (talk, [, connection]) => talk.connect(Number(connection)),
  lose: (talk) => talk.lose(),
  close: (talk) => talk.transport({ type: "disconnected" }),
  granted: (talk, words) => talk.granted({ not: `tracking/${valueAfter("not", words)}` }),
  refused: (talk) => talk.granted({ refusal: new TrackingError("notAuthorized", "forbidden") }),
  acked: (talk, words) => talk.acked(`tracking/${valueAfter("not", words)}`),
  wait: (talk, [, seconds]) => talk.wait(milliseconds(seconds)),
  prefer: (talk, [, kind]) => talk.happened({ type: "watch", trackable: "van", kind }),
  expect: (talk) => talk.happened({ type: "expect", trackables: ["van"] }),
  stop: (talk) => talk.happened({ type: "stop" }),
  tell: (talk, [, number]) => talk.happened({ type: "publish", trackable: "van", event: event(1, "mine", 1), number: Number(number) }),
};

/** The messages that arrive. */
const MESSAGES = {
  resolution: (talk, [, interval, silence], { isRetained }) => talk.receive("van/resolution", inForce(interval, silence), isRetained),
  update: (talk, words, { stream, isRetained }) => {
    const skipping = valueAfter("skipping", words);
    const skippedLocations = skipping === undefined ? [] : [feature(Number(skipping), stream)];
    const update = { location: feature(Number(words[1]), stream), skippedLocations, intermediateLocations: [], type: "ACTUAL" };
    return talk.receive(valueAfter("for", words) ?? "van", update, isRetained);
  },
  enhanced: (talk, words, { stream, isRetained }) => {
    const location = feature(Number(words[1]), stream);
    const update = { location, intermediateLocations: [location, location], enhanced: { confidence: "matched", road: "Main" } };
    return talk.receive(`${valueAfter("for", words) ?? "van"}/enhanced`, update, isRetained);
  },
  position: (talk) => talk.receive("van", ""),
  trip: (talk, words, { stream }) => talk.receive("van/trip", trip(Number(words[1]), stream, words.includes("ENDED") ? "ENDED" : "ACTIVE")),
  event: (talk, words, { stream }) => talk.receive("van/event", event(Number(words[1]), stream, 5)),
  batch: (talk, words, { stream }) => talk.receive(
    "van/history", { batch: "b", stream, oldest: 1, points: [{ not: "read" }], trips: [], events: [event(Number(words[1]), stream, 900)] }),
  garbage: (talk, [, topic]) => talk.receive(topic, "no message"),
  publisher: (talk, words, { stream, isRetained }) => {
    const topic = `van/publisher/${words[1]}`;
    if (words.includes("cleared")) return talk.receive(topic, "");
    const [session, connection] = words[2].split("/");
    const since = Number(valueAfter("since", words) ?? 500);
    const metadata = valueAfter("called", words);
    const presence = { type: "PUBLISHER", session, connection: Number(connection), lease: 90, since, stream, metadata };
    return talk.receive(topic, presence, isRetained);
  },
  own: (talk, words, { isRetained }) => talk.receive("_clients/w1", liveness(words[1], words[2]), isRetained),
  online: (talk, words, { isRetained }) => talk.receive(`_clients/${words[1]}`, liveness("online", words[2]), isRetained),
  offline: (talk, words, { isRetained }) => talk.receive(`_clients/${words[1]}`, liveness("offline", words[2]), isRetained),
};

playScenarios("subscriber", () => {
  let talk = new Conversation();
  return (words) => {
    if (words[0] === "with") {
      talk = new Conversation(configuration(words));
      return [];
    }
    if (INPUTS[words[0]]) return INPUTS[words[0]](talk, words);
    const message = { stream: valueAfter("of", words) ?? "one", isRetained: words.includes("retained") };
    return MESSAGES[words[0]](talk, words, message);
  };
}, { "renewed-credentials.txt": "this client has no provider of credentials" });
