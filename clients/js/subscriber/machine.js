// The decisions of a subscriber: its subscriptions, the messages that it publishes, and the events that it delivers.

import { encodeEvent } from "../core/messages.js";
import { MemberStateMachine } from "../core/member.js";
import { DeadlineQueue, earliest } from "../core/time.js";
import { deliver, notPublished, send } from "./actions.js";
import { WatchedAsset } from "./asset.js";
import { Attendance } from "./attendance.js";
import { happenedOnConnection, lost } from "./connection.js";
import { enhancedOf, filtersForAll, filtersOf } from "./filters.js";
import { handleMembers } from "./receiving.js";
import { FilterRefusals, SilentTrackables, WatchRoom } from "./refusals.js";
import { RetainedCollection } from "./retained.js";
import { packetsOf } from "./slices.js";

/** The settings of a subscriber, with their defaults. `client` and `session` have none. */
const DEFAULTS = {
  topicRoot: "tracking", lease: 90, isSilent: false, isPresentOnlyWhileAsking: false, wantsRaw: false, prefers: "published",
  wantsJourneys: false, wantsRecorded: false, watchesAll: false, requestForAll: undefined, maximumTrackables: 10_000,
  isClientRandom: false,
};

/**
 * The state of a subscriber. It uses no network, no clock and no log.
 *
 * Events: {type: "transport", event}, {type: "watch", trackable, request, kind}, {type: "unwatch", trackable}, {type: "request",
 * trackable, request}, {type: "publish", trackable, event, number}, {type: "expect", trackables}, {type: "stop"} and {type:
 * "timer"}. A moment is {now, wall}: milliseconds of a clock that never goes back, and Unix time in seconds.
 *
 * Actions: {type: "send", commands}, {type: "deliver", event} and {type: "published", number, error}.
 */
export class SubscriberStateMachine {
  /** @param random returns a random number, 0 ≤ r < 1 */
  constructor(configuration, random = Math.random) {
    this.configuration = { ...DEFAULTS, ...configuration };
    this.random = random;
    this.member = new MemberStateMachine(this.configuration);
    /** The watched trackables by id. */
    this.assets = new Map();
    this.staleDeadlines = new DeadlineQueue();
    this.preferenceDeadlines = new DeadlineQueue();
    /** The paths of the filters of enhanced positions that the broker rejected. */
    this.enhancedRefusals = new Set();
    /** The error that another program took over the client id. */
    this.failure = undefined;
    this.isStopping = false;
    this.attendance = new Attendance(this.configuration);
    this.silence = new SilentTrackables();
    this.refusals = new FilterRefusals();
    /** The topics on which the broker rejected a message on this connection. */
    this.refusedTopics = new Set();
    this.room = new WatchRoom();
    this.retained = new RetainedCollection(this.configuration);
    this.filtersForAll = this.configuration.watchesAll ? filtersForAll(this.configuration) : [];
    /** The topics of journeys and estimates that are retained, and those of which a message arrived on this connection. */
    this.journeys = new Map();
    this.arrivedJourneys = new Set();
  }

  /** The time at which the event "timer" must be passed; undefined for never. */
  get nextDeadline() {
    if (this.isStopping) return undefined;
    return earliest(
      this.member.nextDeadline, this.staleDeadlines.next, this.silence.nextDeadline, this.preferenceDeadlines.next,
      this.refusals.retryAt, this.retained.nextDeadline);
  }

  get isClosed() { return this.member.isClosed; }

  /** True while the subscriber is connected and the broker has answered its subscriptions. */
  get isSettled() { return this.member.session.isAnnounced; }

  nextExpected(id) { return this.assets.get(id)?.nextExpected; }

  /** Handles an event, and everything that is due at its moment. Returns the actions, in order. */
  happened(event, moment) {
    if (this.isStopping) return this.happenedAfterGoodbye(event);
    return [...this.react(event, moment), ...this.timersFired(moment)];
  }

  react(event, moment) {
    switch (event.type) {
      case "transport": return happenedOnConnection(this, event.event, moment);
      case "watch": return this.watch(event.trackable, event.request, event.kind, moment);
      case "unwatch": return this.unwatch(event.trackable, moment);
      case "request": return this.request(event.trackable, event.request, moment);
      case "publish": return this.publish(event);
      case "stop": return this.stop();
      case "expect":
        this.retained.expect(event.trackables, this.assets, moment.now);
        return [];
      default: return [];
    }
  }

  happenedAfterGoodbye(event) {
    if (event.type === "publish") return notPublished(event.number);
    return event.type === "transport" && event.event.type === "disconnected" ? lost(this, event.event) : [];
  }

  // Watching

  watch(id, request, kind, moment) {
    if (this.assets.has(id)) return [...this.request(id, request, moment), ...kind ? this.prefer(kind, id) : []];
    const { watchesAll, prefers } = this.configuration;
    this.assets.set(id, new WatchedAsset(id, watchesAll ? prefers : kind ?? prefers));
    this.attendance.watch(id, request);
    if (watchesAll) return [...this.announce(id, moment), ...this.stateMayHaveChanged(id)];
    this.silence.watch(id);
    const actions = this.stateMayHaveChanged(id);
    if (this.member.session.isOffline) return actions;
    return [...actions, ...send([this.member.subscribe(this.filtersOf(id), { type: "watching", trackable: id })])];
  }

  unwatch(id, moment) {
    const filters = this.filtersOf(id);
    if (!this.assets.delete(id)) return [];
    this.staleDeadlines.remove(id);
    this.preferenceDeadlines.remove(id);
    this.silence.forget(id);
    for (const filter of filters) {
      this.refusals.remove(filter);
      this.enhancedRefusals.delete(filter.path);
    }
    this.retained.forget(id, filters);
    for (const [path, topic] of this.journeys) if (topic.trackable === id) this.journeys.delete(path);
    const actions = handleMembers(this, this.member.forget(id), moment);
    if (this.member.session.isConnected && !this.configuration.watchesAll) actions.push(...send([this.member.unsubscribe(filters)]));
    return [...actions, ...this.perform(this.attendance.unwatch(id, this.member.client))];
  }

  /** Returns the filters of a trackable that is watched by its id. */
  filtersOf(id) {
    return filtersOf(id, this.assets.get(id)?.prefers ?? this.configuration.prefers, this.configuration);
  }

  /** Changes the kind of positions that the program wants of a trackable. */
  prefer(kind, id) {
    const asset = this.assets.get(id);
    if (this.configuration.watchesAll || !asset || asset.prefers === kind) return [];
    const actions = this.deliverPreferred(asset.prefer(kind), asset);
    if (!this.member.session.isConnected) return actions;
    const filters = [enhancedOf(id)];
    if (kind === "enhanced") return [...actions, ...send([this.member.subscribe(filters, { type: "preferring", filters })])];
    this.enhancedRefusals.delete(filters[0].path);
    return [...actions, ...send([this.member.unsubscribe(filters)])];
  }

  /** Delivers an update of the publisher: at once, or when no enhanced update of its fix arrives. */
  deliverPublished(received, asset, { now }) {
    if (asset.prefers !== "enhanced") return [deliver({ type: "location", trackable: asset.id, update: received })];
    const preferred = asset.preferred(received, now);
    return [deliver({ type: "publishedLocation", trackable: asset.id, update: received }), ...this.deliverPreferred(preferred, asset)];
  }

  deliverPreferred(received, asset) {
    this.preferenceDeadlines.keep(asset.id, asset.preferenceDeadline);
    return received ? [deliver({ type: "location", trackable: asset.id, update: received })] : [];
  }

  // Messages of this subscriber

  announce(id, { wall }) {
    return this.assets.has(id) ? this.perform(this.attendance.announce(id, this.member.session, wall)) : [];
  }

  request(id, resolution, { wall }) {
    return this.assets.has(id) ? this.perform(this.attendance.request(resolution, id, this.member.session, wall)) : [];
  }

  /** Publishes and clears the presences and requests of the subscriber. */
  perform(messages) {
    return send(messages.flatMap(({ topic, payload }) =>
      (payload ? [this.member.publish(topic, payload, { type: "announcement", topic })] : this.member.clear(topic))));
  }

  publish({ trackable, event, number }) {
    if (!this.member.session.isAnnounced) return notPublished(number);
    return send([this.member.publish({ kind: "event", trackable }, encodeEvent(event), { type: "event", number })]);
  }

  /** Clears the requests and presences, publishes that the subscriber is offline, and closes the connection. */
  stop() {
    this.isStopping = true;
    if (!this.member.session.isAnnounced) return send([{ type: "close", within: 0 }]);
    const actions = this.perform(this.attendance.leaveAll(this.member.client));
    const goodbye = this.member.publishGoodbye(this.configuration.isClientRandom);
    return [...actions, ...send([goodbye, { type: "close", within: 2000 }])];
  }

  // Deadlines

  timersFired(moment) {
    const { now } = moment;
    const actions = handleMembers(this, this.member.timerFired(now), moment);
    for (const id of this.staleDeadlines.popExpired(now)) {
      this.assets.get(id).signs.isStale = true;
      actions.push(...this.stateMayHaveChanged(id));
    }
    for (const id of this.preferenceDeadlines.popExpired(now)) {
      const asset = this.assets.get(id);
      actions.push(...this.deliverPreferred(asset.withheldUpdate(now), asset));
    }
    actions.push(...this.silence.takeDue(now).map((trackable) => deliver({ type: "silent", trackable })));
    actions.push(...this.subscribePackets(this.retained.duePackets(now)), ...this.askAgain(now));
    actions.push(...this.collectionEnded(now), ...this.subscribeAgain(now));
    return actions;
  }

  askAgain(now) {
    const question = this.retained.askAgain(now);
    if (!question) return [];
    const asked = this.subscribe(question.asked, () => ({ type: "asking" }));
    this.retained.asked(asked.length, now);
    return [...packetsOf(question.ended).flatMap((filters) => send([this.member.unsubscribe(filters)])), ...asked];
  }

  subscribeAgain(now) {
    const filters = this.refusals.retryDue(now);
    if (filters.length === 0 || !this.member.session.isAnnounced) return [];
    return this.subscribe(filters, (packet) => ({ type: "retry", filters: packet }));
  }

  /** Subscribes to filters, in as many packets as necessary. `purpose` returns the purpose of a packet. */
  subscribe(filters, purpose) {
    return packetsOf(filters).flatMap((packet) => send([this.member.subscribe(packet, purpose(packet))]));
  }

  /** Subscribes to a slice of the filters of a new connection. */
  subscribePackets(packets) {
    return packets.flatMap(({ filters, isLast }) =>
      send([this.member.subscribe(filters, { type: isLast ? "settle" : "part", filters })]));
  }

  /** Ends the collection of retained positions if it is over, and delivers the trackables that have one. */
  collectionEnded(now) {
    const located = this.retained.end(this.assets, this.refusalOf() !== undefined, now);
    if (!located) return [];
    for (const [id, asset] of this.assets) {
      if (this.refusalOf(id)) located.add(id);
      else if (!located.has(id)) asset.positionIsMissing();
    }
    return [deliver({ type: "positionsKept", trackables: located }), ...this.clearedJourneys()];
  }

  /** Returns the journeys and estimates that were cleared while the subscriber was not connected. */
  clearedJourneys() {
    // A broker whose queue was too small may have dropped some of the retained messages.
    if (this.retained.isOverfull) return [];
    const cleared = [...this.journeys].filter(([path]) => !this.arrivedJourneys.has(path));
    for (const [path] of cleared) this.journeys.delete(path);
    return cleared.map(([, { kind, trackable }]) => deliver({ type: kind, trackable }));
  }

  // States

  /** Delivers the state of a trackable and the presence of its publisher, if they changed. */
  stateMayHaveChanged(id, reason) {
    const refusal = this.refusals.isEmpty ? undefined : this.refusalOf(id) ?? this.refusalOf();
    const isConnected = this.member.session.isAnnounced && !refusal;
    const link = {
      isConnected,
      isFailed: this.failure !== undefined || refusal?.isNameRefusal === true,
      reason: this.failure ?? refusal ?? (isConnected ? undefined : reason),
    };
    return (this.assets.get(id)?.stateEvents(link) ?? []).map(deliver);
  }

  /** Sets the time at which a trackable becomes stale unless a position arrives before. */
  expectSign(id) {
    this.staleDeadlines.keep(id, this.member.session.isAnnounced ? this.assets.get(id)?.staleDeadline : undefined);
  }

  /** Starts the time after which a trackable without any message is reported. */
  expectMessage(id, { now }) {
    if (this.silence.ids.has(id) && !this.refusalOf(id) && !this.refusalOf()) this.silence.granted(id, now);
  }

  /** Returns the reason with which the broker rejects a subscription of a trackable; without an id, of all trackables. */
  refusalOf(id) {
    if (this.refusals.isEmpty) return undefined;
    const filters = id === undefined ? this.filtersForAll : this.filtersOf(id);
    return filters.map((filter) => this.refusals.reasonFor(filter)).find((reason) => reason);
  }
}
