// The state of one watched trackable.

import { UpdateOrder } from "../core/order.js";
import { EnhancedPreference } from "./enhanced.js";
import { DeliveredRecords } from "./records.js";

export class WatchedAsset {
  constructor(id, kind) {
    this.id = id;
    /** The owner: the publisher whose positions count; undefined while none is present. */
    this.owner = undefined;
    this.resolution = undefined;
    this.signs = new SignsOfLife();
    this.order = new UpdateOrder();
    this.rawOrder = new UpdateOrder();
    /** A retained update whose publisher was not the owner when it arrived. */
    this.retainedOfOthers = undefined;
    /** True if a position was delivered, and was not cleared since. */
    this.hasPosition = false;
    /** True if a position was delivered earlier but the broker retains none any more. */
    this.isMissing = false;
    this.preference = kind === "enhanced" ? new EnhancedPreference() : undefined;
    this.records = new DeliveredRecords();
    /** The facts that were delivered last: state, presence, resolution, trip. */
    this.delivered = {};
  }

  /** True while a publisher is present, and its resolution in force is known or not published. */
  get hasState() {
    return this.owner !== undefined && (this.resolution !== undefined || this.owner.presence.sendsResolution === false);
  }

  get resolutionInForce() { return this.owner && this.resolution; }

  get interval() { return this.resolutionInForce?.resolution.desiredInterval; }

  /** The time at which the trackable becomes stale unless a position arrives before. */
  get staleDeadline() {
    const inForce = this.resolutionInForce;
    if (this.signs.isStale || this.signs.last === undefined || !(inForce?.maximumSilence > 0)) return undefined;
    return this.signs.last + inForce.maximumSilence + this.interval * 2;
  }

  /** The time at which the next position is expected; undefined while it is unknown. */
  get nextExpected() {
    return this.interval === undefined || this.signs.lastArrival === undefined ? undefined : this.signs.lastArrival + this.interval;
  }

  // Positions

  /** Returns true if a stream belongs to the owner, and while the owner or the stream is unknown. */
  isOfOwner(stream) {
    const owned = this.owner?.presence.stream;
    return owned === undefined || stream === undefined || owned === stream;
  }

  setAside(update, isRetained) {
    if (isRetained) this.retainedOfOthers = update;
  }

  /** The retained update that was set aside, if its publisher is the owner now. */
  get updateOfNewOwner() {
    const update = this.retainedOfOthers;
    return update && this.isOfOwner(update.location.stream) ? update : undefined;
  }

  disconnected() { this.retainedOfOthers = undefined; }

  /** Handles an update of the owner; returns the update to deliver, or undefined if it was delivered before. */
  moved(update, isRetained) {
    const { stream } = update.location;
    this.retainedOfOthers = undefined;
    const verdict = this.order.consider(update, stream !== undefined && stream === this.owner?.presence.stream);
    const skipped = this.order.newSkipped(update);
    const wasMissing = this.isMissing;
    this.isMissing = false;
    if (verdict === "duplicate" && !wasMissing) return undefined;
    this.hasPosition = true;
    return { update, skipped, isLate: verdict === "late", isRetained };
  }

  movedRaw(update, isRetained) {
    const verdict = this.rawOrder.consider(update);
    const skipped = this.rawOrder.newSkipped(update);
    return verdict === "duplicate" ? undefined : { update, skipped, isLate: verdict === "late", isRetained };
  }

  /** Handles that the retained position was cleared; returns true if the clearing must be delivered. */
  positionCleared() {
    this.restartPreference();
    this.retainedOfOthers = undefined;
    if (!this.hasPosition) return false;
    [this.hasPosition, this.isMissing] = [false, false];
    return true;
  }

  /** Handles that the broker retains no position. If the last one arrives again, it is delivered again. */
  positionIsMissing() {
    this.restartPreference();
    this.isMissing = this.hasPosition;
  }

  // Enhanced positions

  get prefers() { return this.preference ? "enhanced" : "published"; }

  get preferenceDeadline() { return this.preference?.deadline(this.interval); }

  preferred(received, now) { return this.preference?.published(received, now); }

  enhanced(update, isRetained, now) {
    return this.isOfOwner(update.location.stream) ? this.preference?.enhanced(update, isRetained, now) : undefined;
  }

  withheldUpdate(now) { return this.preference?.timerFired(this.interval, now); }

  /** Changes the kind of positions that the program wants; returns the withheld update to deliver, or undefined. */
  prefer(kind) {
    const withheld = this.preference?.deliverWithheld();
    this.preference = kind === "enhanced" ? new EnhancedPreference() : undefined;
    return withheld;
  }

  restartPreference() {
    if (this.preference) this.preference = new EnhancedPreference();
  }

  // Deliveries

  /** Returns the resolution in force as an event, if it changed since it was delivered last. */
  resolutionEvents() {
    const resolution = this.resolutionInForce;
    if (isEqual(this.delivered.resolution, resolution)) return [];
    this.delivered.resolution = resolution;
    return [{ type: "resolution", trackable: this.id, resolution }];
  }

  /**
   * Returns the state and the presence of the publisher as events, if they changed.
   *
   * @param link the connection as far as it concerns this trackable: {isConnected, isFailed, reason}
   */
  stateEvents({ isConnected, isFailed, reason }) {
    const events = [];
    const status = !isConnected ? "UNKNOWN" : this.owner ? "PRESENT" : "ABSENT";
    const metadata = this.owner?.presence.metadata;
    if (status !== this.delivered.presence || metadata !== this.delivered.metadata) {
      [this.delivered.presence, this.delivered.metadata] = [status, metadata];
      events.push({ type: "presence", trackable: this.id, presence: { status, lastSeen: this.signs.lastSeen, metadata } });
    }
    const online = this.signs.isStale ? "STALE" : "ONLINE";
    const state = isFailed ? "FAILED" : isConnected && this.owner ? online : "OFFLINE";
    if (state !== this.delivered.state) {
      this.delivered.state = state;
      events.push({ type: "state", trackable: this.id, state, reason });
    }
    return events;
  }

  /** Returns true if a trip must be delivered: a newer version, one of another stream, or a clearing after a delivery. */
  isNewTrip(trip) {
    const last = this.delivered.trip;
    if (!trip) {
      this.delivered.trip = undefined;
      return last !== undefined;
    }
    if (last?.stream === trip.stream && trip.seq <= last.seq) return false;
    this.delivered.trip = { stream: trip.stream, seq: trip.seq };
    if (trip.state === "ENDED") this.records.isNews(trip);
    return true;
  }
}

/** The times of the last signs of life of a trackable. */
class SignsOfLife {
  constructor() {
    /** The time from which the silence is measured; undefined before the first sign. */
    this.last = undefined;
    /** The time of the last live position. */
    this.lastArrival = undefined;
    /** The wall-clock times in seconds: of the last message of the publisher, and of the first appearance. */
    this.lastSeen = undefined;
    this.appeared = undefined;
    this.isStale = false;
  }

  get lastKnown() { return this.lastSeen ?? this.appeared; }

  updateArrived({ now, wall }) {
    [this.last, this.lastArrival, this.lastSeen, this.isStale] = [now, now, wall, false];
  }

  /** Restarts the time without a position. */
  restart(now) { [this.last, this.isStale] = [now, false]; }
}

/** Returns true for two messages with equal members. Their members were created in the same order. */
export const isEqual = (a, b) => a === b || (a !== undefined && b !== undefined && JSON.stringify(a) === JSON.stringify(b));
