// The state of each trackable that the page received from the live stream.

import { Animator, distance } from "./animator.js";
import { giveEstimates, stopsOf } from "./journey.js";
import { routeOf } from "./polyline.js";

/** The longest time in seconds and the largest number of points of a trail: one a second, and some skipped ones. */
const TRAIL_SECONDS = 900;
const TRAIL_POINTS = 1000;
/** The largest number of places along the road between the points of a trail. */
const WAY_PLACES = 4000;

export class Trackable {
  constructor(id) {
    this.id = id;
    this.state = "OFFLINE";
    this.animator = new Animator();
    /** The stops of the journey, and the way ahead; empty without a journey or a route. */
    this.stops = [];
    this.route = [];
    this.clearTrail();
  }

  clearTrail() {
    this.trail = [];
    this.seen = new Set();
    this.wayPlaces = 0;
    this.line = undefined;
  }

  get label() { return this.name ?? this.id; }

  /** Handles a position, {location, skippedLocations, late}; without a location the position was cleared. */
  moved(update, now) {
    if (!update.location) { this.forget(); return; }
    const way = (update.intermediateLocations ?? []).map(placeOf);
    for (const point of update.skippedLocations ?? []) this.addToTrail(point, update, { isBetween: true });
    this.addToTrail(update.location, update, { way, isBetween: update.late });
    // The stream marks late positions. Their times cannot be compared, because a device's clock may have been set back.
    if (update.late) return;
    const { time } = update.location.properties;
    const { coordinates: [lng, lat] } = update.location.geometry;
    const properties = update.location.properties;
    this.place = { lat, lng, bearing: properties.bearing };
    this.time = time;
    this.properties = properties;
    this.isPredicted = update.type === "PREDICTED";
    this.enhanced = update.enhanced;
    const fix = nameOf(update.location, update);
    if (fix === this.fix) this.animator.corrected(this.place, now);
    else this.animator.updated([...way, this.place], now);
    this.fix = fix;
  }

  /** Removes the position, the trail and the last event of the trackable, because its position was cleared. */
  forget() {
    this.place = this.time = this.properties = this.isPredicted = this.enhanced = this.lastEvent = this.clockAhead = this.fix = undefined;
    this.clearTrail();
    this.animator = new Animator(this.animator.interval);
  }

  /**
   * Adds a point of an update to the trail. The position on the road of the same fix replaces the published position.
   *
   * @param options `way` has the places along the road since the position before; `isBetween` is true for a point that has no update
   *   of its own or is late, so that a way may pass it by
   */
  addToTrail(point, update, { way = [], isBetween = false } = {}) {
    const { seq, time, stream = update.location.properties.stream, speed } = point.properties;
    const name = nameOf(point, update);
    if (this.seen.has(name)) {
      if (update.enhanced) this.replaceInTrail(name, { ...placeOf(point), way });
      return;
    }
    this.seen.add(name);
    const entry = { ...placeOf(point), time, name, speed, stream, seq, way, isBetween };
    let index = this.trail.length;
    while (index > 0 && isBefore(entry, this.trail[index - 1], update.late)) index -= 1;
    this.trail.splice(index, 0, entry);
    this.wayPlaces += way.length;
    this.limitTrail();
  }

  replaceInTrail(name, place) {
    const index = this.trail.findLastIndex((entry) => entry.name === name);
    if (index < 0) return;
    this.wayPlaces += place.way.length - this.trail[index].way.length;
    this.trail[index] = { ...this.trail[index], ...place, isBetween: false };
    this.limitTrail();
  }

  limitTrail() {
    this.line = undefined;
    const newest = this.trail[this.trail.length - 1].time;
    const isOver = (first) => this.trail.length > TRAIL_POINTS || this.wayPlaces > WAY_PLACES || Math.abs(newest - first.time) > TRAIL_SECONDS;
    while (isOver(this.trail[0])) {
      const first = this.trail.shift();
      this.seen.delete(first.name);
      this.wayPlaces -= first.way.length;
    }
  }

  /** Returns the places of the trail up to the marker, which is still moving to the newest points. */
  trailTo(now) {
    const line = this.line ??= lineOf(this.trail);
    const left = this.animator.remaining(now);
    let [end, away] = [line.length, 0];
    while (end > 0 && away < left) {
      end -= 1;
      if (end > 0) away += distance(line[end - 1], line[end]);
    }
    return line.slice(0, end);
  }

  /** True while there is anything to show of the trackable; false for one that was erased. */
  get isListed() {
    return this.place !== undefined || this.clockAhead !== undefined || this.inForce !== undefined || this.state !== "OFFLINE" || this.recorded !== undefined;
  }

  /** The destination {lat, lng}; undefined without one. */
  get destination() {
    const [lng, lat] = this.inForce?.destination ?? [];
    return lat === undefined ? undefined : { lat, lng };
  }

  /** The estimated time of arrival in seconds; undefined without an estimate or without the position that it belongs to. */
  get arrival() {
    const left = this.inForce?.timeToArrival;
    return left === undefined || this.time === undefined ? undefined : this.time + left;
  }

  resolved(message) {
    this.inForce = message.resolution ? message : undefined;
    if (this.inForce) this.animator.interval = Math.min(60000, this.inForce.resolution.desiredInterval);
  }

  /** Handles a journey; null if it was cleared. */
  planned(journey) {
    this.stops = stopsOf(journey);
    giveEstimates(this.stops, this.estimate);
  }

  /** Handles the estimate of the journey; null if it was cleared. */
  estimated(estimate) {
    this.estimate = estimate ?? undefined;
    this.route = estimate?.route === undefined ? [] : routeOf(estimate.route);
    giveEstimates(this.stops, this.estimate);
  }

  /** The reported speed in m/s, or the speed of the trail; undefined if neither is known. */
  get speed() {
    if (this.properties?.speed !== undefined) return this.properties.speed;
    const [before, last] = this.trail.slice(-2);
    if (!last || last.time - before.time <= 0 || last.time - before.time > 60) return undefined;
    return distance(before, last) / (last.time - before.time);
  }
}

/** Returns true if a point precedes another: by their numbers in a stream, or else, for a late point, by their times. */
function isBefore(a, b, isLate) {
  if (a.seq !== undefined && b.seq !== undefined && a.stream === b.stream) return a.seq < b.seq;
  return Boolean(isLate) && a.time < b.time;
}

/** Returns the places of a trail along the roads. A way replaces the points between its ends. */
function lineOf(trail) {
  const line = [];
  for (const entry of trail) {
    if (entry.way.length > 0) while (line.at(-1)?.isBetween) line.pop();
    line.push(...entry.way, entry);
  }
  return line;
}

/** Returns the name of a point of an update: its number in its stream, or else its time. */
function nameOf(point, { location }) {
  const { seq, time, stream = location.properties.stream } = point.properties;
  return seq === undefined ? `t${time}` : `${stream}/${seq}`;
}

function placeOf(feature) {
  const [lng, lat] = feature.geometry.coordinates;
  return { lat, lng, bearing: feature.properties.bearing };
}

/** The number of expected intervals, and the least number of seconds, after which a position is no recent one. */
const OLD_INTERVALS = 10;
const OLD_SECONDS = 600;

export class Fleet {
  /** @param now returns the gateway's time in seconds */
  constructor(now = () => 0) {
    this.now = now;
    this.byId = new Map();
    /** True if the list must be sorted again. */
    this.hasNewOrder = false;
    /** True while the live stream is interrupted, so that all states are unknown. */
    this.isLost = false;
  }

  /** Returns the state to show: OLD for a trackable that is online but whose last position is not recent. */
  stateOf(trackable) {
    if (this.isLost) return "UNKNOWN";
    return trackable.state === "ONLINE" && this.isOld(trackable) ? "OLD" : trackable.state;
  }

  isOld({ time, inForce }) {
    const limit = Math.max(OLD_SECONDS, OLD_INTERVALS * (inForce?.resolution.desiredInterval ?? 0) / 1000);
    return time !== undefined && this.now() - time > limit;
  }

  get(id) {
    let trackable = this.byId.get(id);
    if (!trackable) {
      trackable = new Trackable(id);
      this.byId.set(id, trackable);
    }
    return trackable;
  }

  /** Handles an event of the live stream, and returns its trackable. */
  happened(kind, data, now) {
    const trackable = this.get(data.trackable);
    const wasListed = trackable.isListed;
    switch (kind) {
      case "position": trackable.moved(data, now); break;
      case "state": trackable.state = data.state; break;
      case "presence": trackable.presence = data; break;
      case "resolution": trackable.resolved(data); break;
      case "journey": trackable.planned(data.journey); break;
      case "estimate": trackable.estimated(data.estimate); break;
      case "clock": trackable.clockAhead = data.ahead; break;
      case "trip": if (!data.late) trackable.trip = data.tripId ? data : undefined; break;
      case "event": if (!data.late || !(trackable.lastEvent?.time > data.time)) trackable.lastEvent = data; break;
      default: break;
    }
    if (trackable.isListed !== wasListed) this.hasNewOrder = true;
    return trackable;
  }

  /** Removes all trackables. */
  remove(id) {
    if (this.byId.delete(id)) this.hasNewOrder = true;
  }

  clear() {
    this.byId.clear();
    this.hasNewOrder = true;
  }

  get listed() { return [...this.byId.values()].filter((trackable) => trackable.isListed); }

  get placed() { return [...this.byId.values()].filter((trackable) => trackable.place); }
}
