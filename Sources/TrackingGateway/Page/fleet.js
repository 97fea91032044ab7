// What this page knows of each trackable, from the live stream.

import { Animator, distance } from "./animator.js";

/** The trail keeps so many seconds and points: one a second, and some that were skipped. */
const TRAIL_SECONDS = 900;
const TRAIL_POINTS = 1000;

export class Trackable {
  constructor(id) {
    this.id = id;
    this.state = "OFFLINE";
    this.animator = new Animator();
    this.trail = [];
    this.seen = new Set();
  }

  get label() { return this.name ?? this.id; }

  /** A position: {location, skippedLocations, late}; nothing of it where it was cleared. */
  moved(update, now) {
    if (!update.location) { this.forget(); return; }
    for (const point of [...(update.skippedLocations ?? []), update.location]) this.addToTrail(point, update);
    // The stream says what is late; times do not, as a device's clock may have been set back.
    if (update.late) return;
    const { time } = update.location.properties;
    const { coordinates: [lng, lat] } = update.location.geometry;
    const properties = update.location.properties;
    this.place = { lat, lng, bearing: properties.bearing };
    this.time = time;
    this.properties = properties;
    this.isPredicted = update.type === "PREDICTED";
    const intermediate = (update.intermediateLocations ?? []).map(placeOf);
    this.animator.updated([...intermediate, this.place], now);
  }

  /** Removes the track and the last event of the trackable, because its position was cleared. */
  forget() {
    this.place = this.time = this.properties = this.isPredicted = this.lastEvent = this.clockAhead = undefined;
    this.trail = [];
    this.seen.clear();
    this.animator = new Animator(this.animator.interval);
  }

  addToTrail(point, { location, late }) {
    const { seq, time, stream = location.properties.stream, speed } = point.properties;
    const name = seq === undefined ? `t${time}` : `${stream}/${seq}`;
    if (this.seen.has(name)) return;
    this.seen.add(name);
    const entry = { ...placeOf(point), time, name, speed, stream, seq };
    let index = this.trail.length;
    while (index > 0 && isBefore(entry, this.trail[index - 1], late)) index -= 1;
    this.trail.splice(index, 0, entry);
    const newest = this.trail[this.trail.length - 1].time;
    const isOver = (first) => this.trail.length > TRAIL_POINTS || Math.abs(newest - first.time) > TRAIL_SECONDS;
    while (isOver(this.trail[0])) this.seen.delete(this.trail.shift().name);
  }

  /** The trail as far as the marker has come: it is under way to the newest points. */
  trailTo(now) {
    const left = this.animator.remaining(now);
    let [end, away] = [this.trail.length, 0];
    while (end > 0 && away < left) {
      end -= 1;
      if (end > 0) away += distance(this.trail[end - 1], this.trail[end]);
    }
    return this.trail.slice(0, end);
  }

  /** Whether there is anything to show of it: of what was erased, and is not told of any more, there is not. */
  get isListed() {
    return this.place !== undefined || this.clockAhead !== undefined || this.inForce !== undefined || this.state !== "OFFLINE" || this.recorded !== undefined;
  }

  resolved(message) {
    this.inForce = message.resolution ? message : undefined;
    if (this.inForce) this.animator.interval = Math.min(60000, this.inForce.resolution.desiredInterval);
  }

  /** The speed that was told, or what the trail shows; undefined where neither tells. */
  get speed() {
    if (this.properties?.speed !== undefined) return this.properties.speed;
    const [before, last] = this.trail.slice(-2);
    if (!last || last.time - before.time <= 0 || last.time - before.time > 60) return undefined;
    return distance(before, last) / (last.time - before.time);
  }
}

/** Whether a point comes before another: by their numbers, else as they were told, and by the times what is late. */
function isBefore(a, b, isLate) {
  if (a.seq !== undefined && b.seq !== undefined && a.stream === b.stream) return a.seq < b.seq;
  return Boolean(isLate) && a.time < b.time;
}

function placeOf(feature) {
  const [lng, lat] = feature.geometry.coordinates;
  return { lat, lng, bearing: feature.properties.bearing };
}

export class Fleet {
  constructor() {
    this.byId = new Map();
    /** Whether the list is to be put in order anew. */
    this.hasNewOrder = false;
    /** Whether nothing is heard at the moment: states are those of before. */
    this.isLost = false;
  }

  stateOf(trackable) { return this.isLost ? "UNKNOWN" : trackable.state; }

  get(id) {
    let trackable = this.byId.get(id);
    if (!trackable) {
      trackable = new Trackable(id);
      this.byId.set(id, trackable);
    }
    return trackable;
  }

  /** Takes in an event of the live stream; the trackable that it is about. */
  happened(kind, data, now) {
    const trackable = this.get(data.trackable);
    const wasListed = trackable.isListed;
    switch (kind) {
      case "position": trackable.moved(data, now); break;
      case "state": trackable.state = data.state; break;
      case "presence": trackable.presence = data; break;
      case "resolution": trackable.resolved(data); break;
      case "clock": trackable.clockAhead = data.ahead; break;
      case "trip": if (!data.late) trackable.trip = data.tripId ? data : undefined; break;
      case "event": if (!data.late || !(trackable.lastEvent?.time > data.time)) trackable.lastEvent = data; break;
      default: break;
    }
    if (trackable.isListed !== wasListed) this.hasNewOrder = true;
    return trackable;
  }

  /** Forgets everything. */
  clear() {
    this.byId.clear();
    this.hasNewOrder = true;
  }

  get listed() { return [...this.byId.values()].filter((trackable) => trackable.isListed); }

  get placed() { return [...this.byId.values()].filter((trackable) => trackable.place); }
}
