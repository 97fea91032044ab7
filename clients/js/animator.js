// The position of a smooth marker between updates, by the rules of TrackingCore's LocationAnimator.
//
// After each update the marker moves at an even speed from its place, through the positions that it has not passed yet, to
// the newest position, and arrives when the next update is expected. It is never further behind than one interval.

const EARTH = 6371008.8;
const MAXIMUM_WAYPOINTS = 256;
const radians = (degrees) => degrees * Math.PI / 180;
const degrees = (radians) => radians * 180 / Math.PI;
const normalized = (bearing) => ((bearing % 360) + 360) % 360;

/** Metres between two places along the great circle. */
export function distance(a, b) {
  const sinLat = Math.sin(radians(b.lat - a.lat) / 2);
  const sinLng = Math.sin(radians(b.lng - a.lng) / 2);
  const h = sinLat * sinLat + Math.cos(radians(a.lat)) * Math.cos(radians(b.lat)) * sinLng * sinLng;
  return 2 * EARTH * Math.asin(Math.min(1, Math.sqrt(h)));
}

/** The initial bearing of the great circle from one place to another, 0 ≤ b < 360. */
export function bearing(a, b) {
  const y = Math.sin(radians(b.lng - a.lng)) * Math.cos(radians(b.lat));
  const x = Math.cos(radians(a.lat)) * Math.sin(radians(b.lat))
    - Math.sin(radians(a.lat)) * Math.cos(radians(b.lat)) * Math.cos(radians(b.lng - a.lng));
  return normalized(degrees(Math.atan2(y, x)));
}

/** The place at a fraction of the great circle between two. */
export function interpolated(a, b, fraction) {
  if (fraction <= 0) return { lat: a.lat, lng: a.lng };
  if (fraction >= 1) return { lat: b.lat, lng: b.lng };
  const angle = distance(a, b) / EARTH;
  if (!(Math.sin(angle) > 1e-12)) return fraction < 0.5 ? { lat: a.lat, lng: a.lng } : { lat: b.lat, lng: b.lng };
  const from = Math.sin((1 - fraction) * angle) / Math.sin(angle);
  const to = Math.sin(fraction * angle) / Math.sin(angle);
  const vector = (p) => [Math.cos(radians(p.lat)) * Math.cos(radians(p.lng)),
    Math.cos(radians(p.lat)) * Math.sin(radians(p.lng)), Math.sin(radians(p.lat))];
  const [va, vb] = [vector(a), vector(b)];
  const [x, y, z] = [0, 1, 2].map((i) => from * va[i] + to * vb[i]);
  return { lat: degrees(Math.atan2(z, Math.hypot(x, y))), lng: degrees(Math.atan2(y, x)) };
}

export class Animator {
  /** @param {number} interval the time between two updates in ms; it holds from the next update on. */
  constructor(interval = 1000, { delay = 0, snapDistance = 10000 } = {}) {
    this.interval = interval;
    this.delay = delay;
    this.snapDistance = snapDistance;
    this.way = [];
    this.start = 0;
    this.duration = 0;
  }

  /** Adds the places of an update, {lat, lng, bearing?}, the newest last. */
  updated(places, now) { this.move(this.rest(now), places, now); }

  /** Replaces the newest position by the position on the road of the same fix. The marker moves there directly. */
  corrected(place, now) {
    const rest = this.rest(now);
    this.move(rest.length > 1 ? rest.slice(0, -1) : rest, [place], now);
  }

  /** Moves the marker along the rest of its way and then through the places of an update. */
  move(rest, places, now) {
    let way = rest;
    const isFirst = way.length === 0;
    for (const place of isFirst ? places.slice(-1) : places) {
      const previous = way[way.length - 1];
      const step = previous ? distance(previous, place) : 0;
      const direction = step > 0 ? bearing(previous, place) : undefined;
      if (step > this.snapDistance) way = [];
      const travelled = way.length ? way[way.length - 1].travelled + step : 0;
      way.push({ lat: place.lat, lng: place.lng, bearing: place.bearing ?? direction ?? previous?.bearing, travelled });
    }
    if (way.length > MAXIMUM_WAYPOINTS) way.splice(1, way.length - MAXIMUM_WAYPOINTS);
    this.way = way;
    this.start = now;
    this.duration = isFirst || way.length === 1 ? 0 : Math.max(0, this.interval + this.delay);
  }

  /** Moves the marker to the newest position at once, after the page was hidden. */
  snap() {
    this.way = this.way.slice(-1);
    this.duration = 0;
  }

  progress(now) {
    const passed = now - this.start;
    if (this.duration <= 0 || passed >= this.duration) return 1;
    return Math.max(0, passed / this.duration);
  }

  /** Returns the marker to draw, {lat, lng, bearing, hasRunOut}; undefined before the first update. */
  frame(now) {
    const last = this.way[this.way.length - 1];
    if (!last) return undefined;
    const progress = this.progress(now);
    if (progress >= 1) return { lat: last.lat, lng: last.lng, bearing: last.bearing, hasRunOut: true };
    const travelled = this.travelled(progress);
    const index = this.index(travelled);
    const [from, to] = [this.way[index - 1], this.way[index]];
    const length = to.travelled - from.travelled;
    const fraction = length > 0 ? (travelled - from.travelled) / length : progress;
    const place = interpolated(from, to, fraction);
    return { ...place, bearing: Animator.turned(from.bearing, to.bearing, fraction), hasRunOut: false };
  }

  travelled(progress) {
    const [first, last] = [this.way[0], this.way[this.way.length - 1]];
    return first.travelled + progress * (last.travelled - first.travelled);
  }

  /** Returns the distance in metres that the marker has yet to move. */
  remaining(now) {
    const progress = this.progress(now);
    return progress < 1 ? this.way[this.way.length - 1].travelled - this.travelled(progress) : 0;
  }

  index(travelled) {
    for (let i = 1; i < this.way.length; i += 1) if (this.way[i].travelled > travelled) return i;
    return this.way.length - 1;
  }

  rest(now) {
    const frame = this.frame(now);
    if (!frame) return [];
    if (frame.hasRunOut) return this.way.slice(-1);
    const travelled = this.travelled(this.progress(now));
    return [{ lat: frame.lat, lng: frame.lng, bearing: frame.bearing, travelled }, ...this.way.slice(this.index(travelled))];
  }

  static turned(from, to, fraction) {
    if (to === undefined) return from;
    if (from === undefined) return to;
    const turn = normalized(to - from);
    return normalized(from + (turn > 180 ? turn - 360 : turn) * fraction);
  }
}
