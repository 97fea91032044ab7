// The client's own liveness, the retained message that shows if it is online (docs/reference/protocol.md, "Members and leases").

/** The largest number of corrections between two heartbeats. */
const ANSWERS_PER_HEARTBEAT = 4;

/**
 * Decides when a client publishes its liveness, and notices another program with the same client id.
 *
 * `phase` is "offline", "reading" (connected; retained messages arrive), "online" (announced) or "takenOver".
 */
export class SessionStateMachine {
  /** @param lease the time in seconds for which others consider this client online after a heartbeat */
  constructor(client, session, lease) {
    this.client = client;
    this.session = session;
    this.lease = Math.max(1, Math.min(86_400, Math.trunc(lease)));
    this.connection = 0;
    this.phase = "offline";
    /** The index of the broker's address in the client's list of addresses. */
    this.broker = 0;
    /** The session in the retained liveness of this client's own id; undefined if none arrived. */
    this.standing = undefined;
    this.nextHeartbeat = undefined;
    /** True after the broker delivered the liveness that this client published on this connection. */
    this.isLivenessConfirmed = false;
    this.answersLeft = ANSWERS_PER_HEARTBEAT;
    /** For each broker (index of its address), the session in the retained liveness of the first connection. */
    this.noted = new Map();
  }

  get isOffline() { return this.phase === "offline"; }

  get isConnected() { return this.phase === "reading" || this.phase === "online"; }

  /** True while the client is connected and has announced itself. */
  get isAnnounced() { return this.phase === "online"; }

  get nextDeadline() { return this.phase === "online" ? this.nextHeartbeat : undefined; }

  get birth() { return { status: "online", session: this.session, connection: this.connection, lease: this.lease }; }

  get goodbye() { return { status: "offline", session: this.session, connection: this.connection }; }

  presence(kind, since) {
    return { kind, session: this.session, connection: this.connection, lease: this.lease, since };
  }

  /** Handles that a broker accepted the connection; brokers that are not joined have different retained messages. */
  connected(connection, broker = 0) {
    if (this.phase === "takenOver") return;
    this.connection = connection;
    this.broker = broker;
    this.isLivenessConfirmed = false;
    this.phase = "reading";
    this.standing = undefined;
  }

  disconnected() {
    if (this.phase === "takenOver") return;
    this.isLivenessConfirmed = false;
    this.phase = "offline";
  }

  /**
   * Handles a message on the topic of this client's own liveness; undefined if it was cleared.
   *
   * @returns true if the client must publish its liveness again at once
   */
  receivedOwn(liveness, isRetained = false) {
    if (this.phase === "reading") this.standing = liveness?.session;
    if (this.phase !== "online") return false;
    if (liveness?.status === "online") {
      if (liveness.session === this.session && liveness.connection === this.connection) this.isLivenessConfirmed = true;
      return false;
    }
    // A retained goodbye of another program is older than the birth that has replaced it.
    if ((isRetained && liveness?.session !== this.session) || this.answersLeft <= 0) return false;
    this.answersLeft -= 1;
    return true;
  }

  /**
   * Handles that the broker answered all subscriptions of the connection.
   *
   * @returns true if the client must announce itself; false if another program uses the client id
   */
  settled(now) {
    if (this.phase !== "reading") return false;
    if (!this.noted.has(this.broker)) {
      this.noted.set(this.broker, this.standing);
    } else if (![undefined, this.session, this.noted.get(this.broker)].includes(this.standing)) {
      this.phase = "takenOver";
      return false;
    }
    this.beat(now);
    return true;
  }

  /** Returns true if the client must publish its liveness now as a heartbeat. */
  timerFired(now) {
    if (!(this.nextDeadline <= now)) return false;
    this.beat(now);
    return true;
  }

  beat(now) {
    this.phase = "online";
    this.nextHeartbeat = now + this.lease * 500;
    this.answersLeft = ANSWERS_PER_HEARTBEAT;
  }
}
