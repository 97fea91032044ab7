// The members that are present on trackables (docs/reference/protocol.md, "Members and leases").

import { compareBytes } from "./text.js";
import { DeadlineQueue } from "./time.js";

/** The time in ms for which a subscriber still counts as present after it went offline. */
const GRACE = 2000;
/** The largest number of sessions of one client that count as present on one trackable. */
const MAXIMUM_SESSIONS = 4;

/** Returns true if the claim of a publisher to its trackable is greater than that of another one. */
const isGreater = ({ presence: a }, { presence: b }) =>
  a.since > b.since || (a.since === b.since && compareBytes(a.session, b.session) > 0);

/**
 * Decides which members are present on each trackable. A member is present while its presence is retained, its client is
 * online, and both are of the same session.
 *
 * Each method returns changes: {type: "watch" | "unwatch" | "full", client} or {type: "arrived" | "changed" | "left", member}. A
 * member is {trackable, kind, client, presence}.
 */
export class PresenceStateMachine {
  /** @param limit the largest number of stored presences */
  constructor(limit = 50_000) {
    this.limit = limit;
    this.isConnected = false;
    /**
     * The clients, {online: {session, connection, lease}, usedUp: {session, connection}, remains: {session, connection, until}, entries: Set},
     * by client id. `remains` is the time until which a client still counts as online after its will arrived.
     */
    this.clients = new Map();
    /** The stored presences, {key, trackable, kind, client, presence, sessions}. `sessions` has the present ones, by session. */
    this.entries = new Map();
    this.entriesOf = new Map();
    this.timers = new DeadlineQueue();
    /** The timers by their keys: {type: "lease" | "confirmation" | "grace", …}. */
    this.timerOf = new Map();
  }

  get nextDeadline() { return this.timers.next; }

  /** Returns the members of a kind that are present on a trackable. */
  members(kind, trackable) {
    return [...this.entriesOf.get(trackable) ?? []].filter((entry) => entry.kind === kind)
      .flatMap((entry) => [...entry.sessions.values()].map((presence) => memberOf(entry, presence)));
  }

  /** Returns the owner of a trackable: the present publisher with the greatest claim; undefined if none is present. */
  owner(trackable) {
    return this.members("PUBLISHER", trackable)
      .reduce((owner, member) => (owner && !isGreater(member, owner) ? owner : member), undefined);
  }

  /** Returns the trackables on which a client has a retained presence. */
  trackables(client) { return [...this.clients.get(client)?.entries ?? []].map(({ trackable }) => trackable); }

  /** Handles a new connection: each present member has one more lease in which its messages must arrive again. */
  connected(now) {
    this.isConnected = true;
    for (const [client, { online, remains }] of this.clients) {
      if (!online) continue;
      const end = isSameRun(remains, online) ? remains.until : Infinity;
      this.set({ type: "lease", client }, Math.min(now + online.lease * 1000, end));
    }
    for (const entry of this.entries.values()) {
      if (entry.presence) this.set({ type: "confirmation", entry }, now + entry.presence.lease * 1000);
    }
  }

  /** Handles a lost connection: no lease runs until the next one. */
  disconnected() {
    this.isConnected = false;
    this.timers.clear();
    this.timerOf.clear();
  }

  /** Handles a presence; undefined if the retained message was cleared. */
  receivedPresence(presence, kind, trackable, client, isRetained, now) {
    const key = `${kind}\n${client}\n${trackable}`;
    if (!presence) return this.entries.has(key) ? this.cleared(this.entries.get(key)) : [];
    if (!this.entries.has(key) && this.entries.size >= this.limit) return [{ type: "full", client }];
    const changes = this.clients.has(client) ? [] : [{ type: "watch", client }];
    const entry = this.entry(key, kind, trackable, client);
    entry.presence = presence;
    this.unset({ type: "confirmation", entry });
    const known = this.clients.get(client);
    const before = known.online?.session;
    if (!isRetained) this.believe(presence, client, false, now);
    if (known.online?.session === before) changes.push(...this.review(entry, known.online?.session, false, now));
    else changes.push(...this.reviewClient(client, false, now));
    return changes;
  }

  /** Handles a liveness; undefined if the retained message was cleared, which means offline. */
  receivedLiveness(liveness, client, isRetained, now) {
    const known = this.clients.get(client);
    if (!known) return [];
    if (!liveness) {
      known.online = undefined;
      return this.reviewClient(client, false, now);
    }
    const { online } = known;
    if (liveness.status === "online") {
      if (isRetained) {
        if (isSameRun(known.usedUp, liveness) || isSameRun(online, liveness)) return [];
        known.usedUp = { session: liveness.session, connection: liveness.connection };
      }
      this.believe(liveness, client, isRetained, now);
      if (known.online?.session === online?.session) return [];
    } else {
      // A late will has no effect after a fast reconnection.
      if (online?.session !== liveness.session || liveness.connection < online.connection) return [];
      if (liveness.remain !== undefined && this.isConnected) {
        // The broker's copy of the same will, after a reconnection, does not start the time again.
        const { session, connection } = liveness;
        const until = isSameRun(known.remains, liveness) ? known.remains.until : now + liveness.remain * 1000;
        known.remains = { session, connection, until };
        const timer = { type: "lease", client };
        this.set(timer, Math.min(this.timers.deadlineOf(keyOf(timer)) ?? Infinity, until));
        return [];
      }
      known.online = undefined;
    }
    return this.reviewClient(client, false, now);
  }

  timerFired(now) {
    if (!this.isConnected) return [];
    return this.timers.popExpired(now).flatMap((key) => {
      const timer = this.timerOf.get(key);
      this.timerOf.delete(key);
      if (timer.type === "confirmation") return this.cleared(timer.entry);
      if (timer.type === "grace") return this.bury(timer.entry, timer.session);
      // From now on, only a live heartbeat makes this run present again.
      const client = this.clients.get(timer.client);
      if (client) [client.usedUp, client.online] = [client.online, undefined];
      return this.reviewClient(timer.client, true, now);
    });
  }

  /** Forgets the members of a trackable. They are not reported as left. */
  forget(trackable) {
    return [...this.entriesOf.get(trackable) ?? []].flatMap((entry) => this.cleared(entry)).filter(({ type }) => type === "unwatch");
  }

  // Steps

  entry(key, kind, trackable, client) {
    let entry = this.entries.get(key);
    if (entry) return entry;
    entry = { key, kind, trackable, client, presence: undefined, sessions: new Map() };
    this.entries.set(key, entry);
    if (!this.entriesOf.has(trackable)) this.entriesOf.set(trackable, new Set());
    this.entriesOf.get(trackable).add(entry);
    if (!this.clients.has(client)) this.clients.set(client, { online: undefined, usedUp: undefined, remains: undefined, entries: new Set() });
    this.clients.get(client).entries.add(entry);
    return entry;
  }

  /** Marks a client as online in the session and connection of a message, unless a later connection is known. */
  believe({ session, connection, lease }, client, isRetained, now) {
    const known = this.clients.get(client);
    if (known.online?.session === session && connection < known.online.connection) return;
    known.online = { session, connection, lease };
    if (!isRetained) known.usedUp = known.remains = undefined;
    if (this.isConnected) this.set({ type: "lease", client }, now + lease * 1000);
  }

  cleared(entry) {
    this.unset({ type: "confirmation", entry });
    this.entries.delete(entry.key);
    const others = this.entriesOf.get(entry.trackable);
    others?.delete(entry);
    if (others?.size === 0) this.entriesOf.delete(entry.trackable);
    const changes = [...entry.sessions.keys()].flatMap((session) => this.bury(entry, session));
    const known = this.clients.get(entry.client);
    if (!known?.entries.delete(entry) || known.entries.size > 0) return changes;
    this.clients.delete(entry.client);
    this.unset({ type: "lease", client: entry.client });
    return [...changes, { type: "unwatch", client: entry.client }];
  }

  /** Ends the presence of a session. */
  bury(entry, session) {
    this.unset({ type: "grace", entry, session });
    const presence = entry.sessions.get(session);
    if (!entry.sessions.delete(session)) return [];
    return [{ type: "left", member: memberOf(entry, presence) }];
  }

  reviewClient(client, isAtOnce, now) {
    const known = this.clients.get(client);
    if (!known) return [];
    if (!known.online) this.unset({ type: "lease", client });
    return [...known.entries].flatMap((entry) => this.review(entry, known.online?.session, isAtOnce, now));
  }

  /** Determines which sessions of a client are present on a trackable, and returns the changes. */
  review(entry, online, isAtOnce, now) {
    const { presence } = entry;
    const isPresent = online === presence.session;
    const changes = isPresent ? this.appeared(entry) : [];
    for (const session of [...entry.sessions.keys()]) {
      if (!(isPresent && session === presence.session)) changes.push(...this.vanished(entry, session, isAtOnce, now));
    }
    return [...changes, ...this.buryExcess(entry)];
  }

  appeared(entry) {
    const { presence } = entry;
    this.unset({ type: "grace", entry, session: presence.session });
    const before = entry.sessions.get(presence.session);
    if (before && isSamePresence(before, presence)) return [];
    entry.sessions.set(presence.session, presence);
    return [{ type: before ? "changed" : "arrived", member: memberOf(entry, presence) }];
  }

  vanished(entry, session, isAtOnce, now) {
    if (entry.kind !== "SUBSCRIBER" || isAtOnce) return this.bury(entry, session);
    const timer = { type: "grace", entry, session };
    if (this.timers.deadlineOf(keyOf(timer)) === undefined) this.set(timer, now + GRACE);
    return [];
  }

  buryExcess(entry) {
    const excess = entry.sessions.size - MAXIMUM_SESSIONS;
    if (excess <= 0) return [];
    const deadline = (session) => this.timers.deadlineOf(keyOf({ type: "grace", entry, session }));
    return [...entry.sessions.keys()].filter((session) => deadline(session) !== undefined)
      .sort((a, b) => deadline(a) - deadline(b) || compareBytes(a, b)).slice(0, excess)
      .flatMap((session) => this.bury(entry, session));
  }

  set(timer, deadline) {
    const key = keyOf(timer);
    this.timerOf.set(key, timer);
    this.timers.set(key, deadline);
  }

  unset(timer) {
    const key = keyOf(timer);
    this.timerOf.delete(key);
    this.timers.remove(key);
  }
}

const keyOf = ({ type, client, entry, session = "" }) => `${type}\n${client ?? entry.key}\n${session}`;
const memberOf = ({ trackable, kind, client }, presence) => ({ trackable, kind, client, presence });
const isSameRun = (a, b) => a !== undefined && a.session === b.session && a.connection === b.connection;
const isSamePresence = (a, b) =>
  ["session", "connection", "lease", "since", "stream", "rawLocations", "metadata", "sendsResolution"]
    .every((member) => a[member] === b[member]);
