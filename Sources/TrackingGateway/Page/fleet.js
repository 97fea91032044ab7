// What this page knows of each trackable, from the live stream.

import { Animator, distance } from "./animator.js";

/** The trail keeps so many seconds and points. */
const TRAIL_SECONDS = 900;
const TRAIL_POINTS = 600;

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
    for (const point of [...(update.skippedLocations ?? []), update.location]) this.addToTrail(point, update.location);
    const time = update.location.properties.time;
    if (update.late || (this.time !== undefined && time < this.time)) return;
    const { coordinates: [lng, lat] } = update.location.geometry;
    const properties = update.location.properties;
    this.place = { lat, lng, bearing: properties.bearing };
    this.time = time;
    this.properties = properties;
    this.isPredicted = update.type === "PREDICTED";
    const intermediate = (update.intermediateLocations ?? []).map(placeOf);
    this.animator.updated([...intermediate, this.place], now);
  }

  /** Where it was is not to be shown any more, nor what happened there. */
  forget() {
    this.place = this.time = this.properties = this.isPredicted = this.lastEvent = undefined;
    this.trail = [];
    this.seen.clear();
    this.animator = new Animator(this.animator.interval);
  }

  addToTrail(point, location) {
    const { seq, time, stream = location.properties.stream, speed } = point.properties;
    const name = seq === undefined ? `t${time}` : `${stream}/${seq}`;
    if (this.seen.has(name)) return;
    this.seen.add(name);
    const entry = { ...placeOf(point), time, name, speed };
    let index = this.trail.length;
    while (index > 0 && this.trail[index - 1].time > time) index -= 1;
    this.trail.splice(index, 0, entry);
    const oldest = this.trail[this.trail.length - 1].time - TRAIL_SECONDS;
    while (this.trail.length > TRAIL_POINTS || this.trail[0].time < oldest) this.seen.delete(this.trail.shift().name);
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

function placeOf(feature) {
  const [lng, lat] = feature.geometry.coordinates;
  return { lat, lng, bearing: feature.properties.bearing };
}

export class Fleet {
  constructor() {
    this.byId = new Map();
    /** Whether the list is to be put in order anew. */
    this.hasNewNames = false;
  }

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
    switch (kind) {
      case "position": trackable.moved(data, now); break;
      case "state": trackable.state = data.state; break;
      case "presence": trackable.presence = data; break;
      case "resolution": trackable.resolved(data); break;
      case "trip": trackable.trip = data.tripId ? data : undefined; break;
      case "event": trackable.lastEvent = data; break;
      default: break;
    }
    return trackable;
  }

  /** Forgets everything. */
  clear() {
    this.byId.clear();
    this.hasNewNames = true;
  }

  get placed() { return [...this.byId.values()].filter((trackable) => trackable.place); }
}
