// The part of a subscriber that every member has: its own liveness, the presence of others, and its requests to the broker.

import { TrackingError } from "./errors.js";
import { decodeLiveness, decodePresence, encodeLiveness } from "./messages.js";
import { PresenceStateMachine } from "./presence.js";
import { SessionStateMachine } from "./session.js";
import { DeadlineQueue, earliest } from "./time.js";
import { isRetained, pathOf, topicOf } from "./topics.js";

/** The longest random wait in ms before an announcement is repeated. */
const LONGEST_WAIT = 1000;
const EMPTY = new Uint8Array();

/**
 * The state of a member. Topic filters are objects with a `path` beneath the topic root.
 *
 * Events that it returns: {type: "send", commands}, {type: "arrived" | "changed" | "left", member}, {type: "announcementsDue",
 * trackables} and {type: "badMessage", topic, error}.
 */
export class MemberStateMachine {
  constructor({ client, session, topicRoot, lease = 90 }) {
    this.root = topicRoot;
    this.session = new SessionStateMachine(client, session, lease);
    this.presence = new PresenceStateMachine();
    /** The other clients to whose liveness this client subscribes. */
    this.watched = new Set();
    this.publishesLiveness = true;
    this.isClosed = false;
    this.badMessages = 0;
    /** The topics to clear, by path: {topic, token}, with the token of the publish that clears it, or 0 before such a publish. */
    this.unclear = new Map();
    this.requests = new Map();
    this.lastToken = 0;
    this.announcements = new DeadlineQueue();
    this.nextAnnouncement = undefined;
  }

  get client() { return this.session.client; }

  get ownLiveness() { return livenessFilter(this.client); }

  get watchedLiveness() { return [...this.watched].map(livenessFilter); }

  get nextDeadline() {
    return earliest(this.session.nextDeadline, this.presence.nextDeadline, this.announcements.next);
  }

  // The connection

  connected(connection, broker, now) {
    this.session.connected(connection, broker);
    this.presence.connected(now);
  }

  /** Returns the purposes of the requests that the broker did not answer. */
  disconnected({ retry }) {
    this.session.disconnected();
    this.presence.disconnected();
    this.announcements.clear();
    this.isClosed = retry === undefined;
    const unanswered = [...this.requests.values()].flatMap(({ purpose }) => (purpose === undefined ? [] : [purpose]));
    this.requests.clear();
    return unanswered;
  }

  /** Handles the broker's answer to the last subscription: returns {type: "announced", commands}, "takenOver" or "notConnected". */
  settled(now) {
    if (this.session.settled(now)) return { type: "announced", commands: this.publishLiveness() };
    if (this.session.phase !== "takenOver") return { type: "notConnected" };
    return {
      type: "takenOver",
      error: new TrackingError(
        "takenOver", `another program uses the client id '${this.client}'; give each program a client id of its own`),
    };
  }

  publishLiveness() {
    return this.publishesLiveness ? [this.publishOwn({ kind: "liveness", client: this.client }, encodeLiveness(this.session.birth))] : [];
  }

  /** Returns the command that publishes the orderly goodbye; a client with a random id clears its liveness instead. */
  publishGoodbye(isClientRandom = false) {
    const payload = isClientRandom ? EMPTY : encodeLiveness(this.session.goodbye);
    return this.publishOwn({ kind: "liveness", client: this.client }, payload);
  }

  timerFired(now) {
    const events = this.apply(this.presence.timerFired(now));
    if (this.session.timerFired(now) && this.publishesLiveness) events.push({ type: "send", commands: this.publishLiveness() });
    const trackables = this.announcements.popExpired(now);
    if (trackables.length > 0 && this.session.isAnnounced) events.push({ type: "announcementsDue", trackables });
    return events;
  }

  // Requests to the broker

  subscribe(filters, purpose) {
    return { type: "subscribe", filters: filters.map((filter) => this.pathOf(filter)), token: this.add({ purpose }) };
  }

  unsubscribe(filters) { return { type: "unsubscribe", filters: filters.map((filter) => this.pathOf(filter)) }; }

  publish(topic, payload, purpose) { return this.publishAs(topic, payload, { purpose }); }

  publishOwn(topic, payload) { return this.publishAs(topic, payload, { own: topic }); }

  publishAs(topic, payload, answer) {
    const token = this.add(answer);
    const path = pathOf(topic);
    if (payload.length === 0) this.unclear.set(path, { topic, token });
    else this.unclear.delete(path);
    return { type: "publish", topic: `${this.root}/${path}`, payload, isRetained: isRetained(topic), token };
  }

  /** Returns the purpose of a subscription that the broker answered. */
  subscribed(token) { return this.take(token)?.purpose; }

  /** Returns {purpose} or {own: topic} of a publish that the broker answered; undefined if it was withdrawn. */
  published(token) {
    const answer = this.take(token);
    const path = answer?.own && pathOf(answer.own);
    if (path !== undefined && this.unclear.get(path)?.token === token) this.unclear.delete(path);
    return answer;
  }

  /** Withdraws the unanswered requests whose purpose fulfils a condition. */
  withdrawRequests(isWithdrawn) {
    for (const [token, { purpose }] of this.requests) {
      if (purpose !== undefined && isWithdrawn(purpose)) this.requests.delete(token);
    }
  }

  add(answer) {
    this.lastToken += 1;
    this.requests.set(this.lastToken, answer);
    return this.lastToken;
  }

  take(token) {
    const answer = this.requests.get(token);
    this.requests.delete(token);
    return answer;
  }

  /** Returns the complete text of a topic, as the broker receives it. */
  textOf(topic) { return `${this.root}/${pathOf(topic)}`; }

  pathOf(filter) { return `${this.root}/${filter.path}`; }

  // Clearing of retained messages

  /** Clears a topic now, or on the next connection, until the broker has answered. */
  clear(topic) {
    if (this.session.isAnnounced) return [this.publishOwn(topic, EMPTY)];
    this.unclear.set(pathOf(topic), { topic, token: 0 });
    return [];
  }

  /** Clears all topics that are still to be cleared, on a new connection. */
  clearAgain() {
    const topics = [...this.unclear].filter(([, { token }]) => !this.requests.has(token));
    return topics.sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, { topic }]) => this.clear(topic));
  }

  abandonClearing(topic) { this.unclear.delete(pathOf(topic)); }

  // Members and their messages

  /**
   * Examines a received message {topic, payload, isRetained}, and handles a liveness.
   *
   * @returns {type: "foreign"}, {type: "role", topic}, {type: "presence", …}, {type: "ownLiveness", commands} or {type:
   *   "liveness", client, isLive, events}
   * @throws TrackingError for a presence or a liveness that cannot be read
   */
  received({ topic: text, payload, isRetained: wasRetained }, now) {
    const topic = topicOf(this.root, text);
    if (!topic) return { type: "foreign" };
    const { kind, trackable, client } = topic;
    if (kind === "liveness") {
      const liveness = payload.length === 0 ? undefined : decodeLiveness(payload);
      if (client === this.client) return { type: "ownLiveness", commands: this.receivedOwn(liveness, wasRetained) };
      const events = this.apply(this.presence.receivedLiveness(liveness, client, wasRetained, now));
      return { type: "liveness", client, isLive: liveness !== undefined && !wasRetained, events };
    }
    if (kind !== "publisher" && kind !== "subscriber") return { type: "role", topic };
    const member = kind.toUpperCase();
    const presence = payload.length === 0 ? undefined : decodePresence(payload, member);
    return { type: "presence", kind: member, trackable, client, presence, isRetained: wasRetained };
  }

  receivedOwn(liveness, wasRetained) {
    return this.session.receivedOwn(liveness, wasRetained) ? this.publishLiveness() : [];
  }

  /** Handles a presence of another client on a trackable that the caller follows. */
  note({ presence, kind, trackable, client, isRetained: wasRetained }, now) {
    return this.apply(this.presence.receivedPresence(presence, kind, trackable, client, wasRetained, now));
  }

  /** Forgets the clients that are present on a trackable. */
  forget(trackable) {
    this.announcements.remove(trackable);
    return this.apply(this.presence.forget(trackable));
  }

  /** Schedules a repetition of the announcement on a trackable at a random moment within a second. */
  announceSoon(trackable, now, random) {
    if (this.announcements.deadlineOf(trackable) !== undefined) return;
    const wait = Math.floor(random() * LONGEST_WAIT);
    this.nextAnnouncement = this.nextAnnouncement > now ? this.nextAnnouncement : now + wait;
    this.announcements.set(trackable, this.nextAnnouncement);
  }

  cancelAnnouncement(trackable) { this.announcements.remove(trackable); }

  /** Counts a message that cannot be read, and returns the event that reports it. */
  skipped(topic, error) {
    this.badMessages += 1;
    return { type: "badMessage", topic, error };
  }

  apply(changes) {
    return changes.map((change) => {
      const { type, client } = change;
      if (type === "watch") {
        this.watched.add(client);
        const filters = [this.pathOf(livenessFilter(client))];
        return { type: "send", commands: [{ type: "subscribe", filters, token: this.add({ isLiveness: true }) }] };
      }
      if (type === "unwatch") {
        this.watched.delete(client);
        return { type: "send", commands: [this.unsubscribe([livenessFilter(client)])] };
      }
      if (type !== "full") return change;
      const error = new TrackingError(
        "refused",
        `cannot follow the presence of client '${client}': this program already follows as many clients as its limit allows. `
          + "Watch fewer trackables with one program");
      return { type: "badMessage", topic: this.pathOf(livenessFilter(client)), error };
    });
  }
}

const livenessFilter = (client) => ({ path: `_clients/${client}`, retained: () => 1 });
