// The connection to the broker: when to connect, to which address, with which version of MQTT, and when the connection is lost.

import { Backoff } from "./backoff.js";
import { TrackingError } from "./errors.js";

/** The settings of a connection, with their defaults. Times are in ms. */
const DEFAULTS = {
  endpoints: 1, endpointNames: [], pinnedVersion: undefined, connectTimeout: 4000, answerTimeout: 10_000, firstWait: 500,
  longestWait: 60_000, longestRefusedWait: 900_000, settlesAfter: 10_000, suspiciousCloses: 4, goodbyeTimeout: 1000,
};

const connectionOf = (event) => ({ type: "deliver", event });

/**
 * The state of a connection. It uses no socket and no clock.
 *
 * Actions: {type: "connect", attempt: {endpoint, version, connection, retainsWill}}, {type: "abandon"}, {type: "sendGoodbye"},
 * {type: "deliver", event} and {type: "finish"}. Versions are "v5" and "v311".
 *
 * `state.name` is "idle", "connecting" (attempt, until), "waiting" (until), "online" (attempt, since, unanswered), "closing" and
 * "leaving" (since, until), or "ended".
 */
export class ConnectionStateMachine {
  constructor(configuration = {}, random = Math.random) {
    this.configuration = { ...DEFAULTS, ...configuration };
    this.random = random;
    this.state = { name: "idle" };
    /** The version that the broker at each address accepted last. */
    this.known = new Map();
    /** The addresses of which the broker rejected a retained will. */
    this.withoutRetain = new Set();
    this.endpoint = 0;
    this.connections = 0;
    this.backoff = new Backoff(this.configuration.firstWait, this.configuration.longestWait, 0.5);
    this.triedInRound = 0;
    this.shortLives = 0;
  }

  get nextDeadline() {
    const { unanswered, until } = this.state;
    return this.state.name === "online" ? unanswered && unanswered + this.configuration.answerTimeout : until;
  }

  /** True while messages can be sent. */
  get isOnline() { return ["online", "closing"].includes(this.state.name); }

  get isClosing() { return ["closing", "leaving", "ended"].includes(this.state.name); }

  started(now) { return this.state.name === "idle" ? [this.connect(now)] : []; }

  accepted(sessionPresent, now) {
    if (this.state.name !== "connecting") return [];
    const { attempt } = this.state;
    this.known.set(attempt.endpoint, attempt.version);
    this.connections += 1;
    this.triedInRound = 0;
    this.state = { name: "online", attempt, since: now };
    const { connection, endpoint: broker } = attempt;
    return [connectionOf({ type: "connected", connection, sessionPresent, broker })];
  }

  /**
   * Handles that an attempt to connect failed.
   *
   * @param kind "unreachable", "closedUnanswered" (after CONNECT was sent) or "refused" (in CONNACK)
   */
  attemptFailed(kind, error, now) {
    if (this.state.name !== "connecting") return [];
    const { attempt } = this.state;
    if (this.fallsBack(attempt, kind, error)) return [this.connect(now, "v311")];
    if (kind === "refused" && attempt.retainsWill && error.reasonCode === 0x9a) {
      this.withoutRetain.add(attempt.endpoint);
      return [this.connect(now, attempt.version)];
    }
    return this.failed(error, now);
  }

  connectionLost(reason, now) {
    if (this.state.name === "online") return this.lost(reason, now);
    return this.state.name === "closing" || this.state.name === "leaving" ? this.end(reason, this.state.since, now) : [];
  }

  /** Sets the time of the oldest unanswered request; undefined if all are answered. */
  answersAwaited(since) {
    if (this.state.name === "online") this.state.unanswered = since;
  }

  /** Handles that the program asks to close the connection, within `limit` ms. */
  closeRequested(limit, now) {
    const { name, since, until } = this.state;
    switch (name) {
      case "online":
      case "closing":
        if (limit <= 0) return this.leave(since, now);
        this.state = { name: "closing", since, until: Math.min(until ?? Infinity, now + limit) };
        return [];
      case "connecting": return [{ type: "abandon" }, ...this.end(undefined, undefined, now)];
      case "idle":
      case "waiting": return this.end(undefined, undefined, now);
      default: return [];
    }
  }

  /** Ends the connection at once, so that the broker publishes the will. */
  cancelled(now) {
    if (this.state.name !== "online") return this.closeRequested(0, now);
    return [{ type: "abandon" }, ...this.end(undefined, this.state.since, now)];
  }

  tryRequested(now) { return this.state.name === "waiting" ? [this.connect(now)] : []; }

  /** Handles that the broker has answered everything. */
  drained(now) { return this.state.name === "closing" ? this.leave(this.state.since, now) : []; }

  goodbyeSent(now) { return this.state.name === "leaving" ? this.end(undefined, this.state.since, now) : []; }

  timerFired(now) {
    if (!(this.nextDeadline <= now)) return [];
    const { answerTimeout, connectTimeout } = this.configuration;
    switch (this.state.name) {
      case "waiting": return [this.connect(now)];
      case "connecting": return [{ type: "abandon" }, ...this.failed(new TrackingError(
        "brokerUnreachable",
        `cannot connect to the broker: ${this.configuration.endpointNames[this.endpoint] ?? "the broker"} did not answer within `
          + `${connectTimeout / 1000} s. Check host, port and network`), now)];
      case "online": return [{ type: "abandon" }, ...this.lost(new TrackingError(
        "connectionLost",
        `connection to the broker ended: the broker left a message unanswered for ${answerTimeout / 1000} s. The client connects again`),
      now, true)];
      case "closing": return this.leave(this.state.since, now);
      default: return [{ type: "abandon" }, ...this.end(undefined, this.state.since, now)];
    }
  }

  // Steps

  connect(now, version = this.configuration.pinnedVersion ?? this.known.get(this.endpoint) ?? "v5") {
    const attempt = {
      endpoint: this.endpoint, version, connection: this.connections, retainsWill: !this.withoutRetain.has(this.endpoint),
    };
    this.state = { name: "connecting", attempt, until: now + this.configuration.connectTimeout };
    return { type: "connect", attempt };
  }

  /** Returns true if an attempt with MQTT 5 is to be repeated with 3.1.1. */
  fallsBack({ version, endpoint }, kind, { reasonCode }) {
    if (this.configuration.pinnedVersion || version !== "v5") return false;
    if (kind === "refused") return reasonCode === 0x84 || reasonCode === 0x01;
    return kind === "closedUnanswered" && this.known.get(endpoint) !== "v5";
  }

  /** Tries the next address; after all of them, waits first. */
  failed(reason, now) {
    this.endpoint = (this.endpoint + 1) % this.configuration.endpoints;
    this.triedInRound += 1;
    const isRoundOver = this.triedInRound >= this.configuration.endpoints;
    const retry = isRoundOver ? this.nextWait(reason) : 0;
    const event = connectionOf({ type: "disconnected", reason, retry });
    if (!isRoundOver) return [event, this.connect(now)];
    this.triedInRound = 0;
    this.state = { name: "waiting", until: now + retry };
    return [event];
  }

  /** Connects again: to the next address if the connection was short, or if the broker did not answer (`isSilent`). */
  lost(reason, now, isSilent = false) {
    const lasted = now - this.state.since;
    const isShort = lasted < this.configuration.settlesAfter;
    if (isShort || isSilent) this.endpoint = (this.endpoint + 1) % this.configuration.endpoints;
    if (!isShort) {
      this.backoff.reset();
      this.shortLives = 0;
    } else {
      // A malformed packet is no sign of a second program with the same client id.
      this.shortLives += reason.code === "notAuthorized" || reason.reasonCode === 0x81 ? 0 : 1;
    }
    const retry = this.nextWait(reason);
    this.state = { name: "waiting", until: now + retry };
    const isSuspicious = this.shortLives >= this.configuration.suspiciousCloses;
    return [connectionOf({ type: "disconnected", reason: isSuspicious ? this.suspicion(reason) : reason, retry, lasted })];
  }

  suspicion(reason) {
    if (reason.code === "takenOver") return reason;
    return new TrackingError(
      "takenOver",
      `${this.shortLives} connections in a row were closed, each within ${this.configuration.settlesAfter / 1000} s: another program `
        + `probably uses the same client id. Give each program its own client id (${reason.message})`, reason.reasonCode);
  }

  nextWait(reason) {
    const { longestRefusedWait, longestWait } = this.configuration;
    return this.backoff.next(this.random, reason.isIdentityRefusal ? longestRefusedWait : longestWait);
  }

  leave(since, now) {
    this.state = { name: "leaving", since, until: now + this.configuration.goodbyeTimeout };
    return [{ type: "sendGoodbye" }];
  }

  end(reason, since, now) {
    this.state = { name: "ended" };
    const lasted = since === undefined ? undefined : now - since;
    return [connectionOf({ type: "disconnected", reason, retry: undefined, lasted }), { type: "finish" }];
  }
}
