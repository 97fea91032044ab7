// Where a trackable was: a span's track coloured by speed, scrubbed and replayed, its trips and stops, and its downloads.

import { answer, reason } from "./session.js";
import { bearing, distance, interpolated } from "./animator.js";
import { drawLine, drawMarker } from "./layers.js";
import * as text from "./text.js";
import { set } from "./list.js";

const element = (id) => document.getElementById(id);
/** More points than this the gateway leaves out by itself, without moving the line visibly. */
const MAXIMUM_POINTS = 5000;

export class History {
  /** @param fit called with places to bring into view */
  constructor(fit) {
    this.fit = fit;
    this.points = [];
    for (const button of document.querySelectorAll("[data-span]")) {
      button.addEventListener("click", () => this.pick(Number(button.dataset.span)));
    }
    element("span").addEventListener("submit", (event) => { event.preventDefault(); this.load(); });
    element("scrub").addEventListener("input", () => { this.stop(); this.scrubbed(); });
    element("play").addEventListener("click", () => this.isPlaying ? this.stop() : this.play());
  }

  /** Opens it for a trackable, with the last hour. */
  open(id) {
    this.id = id;
    this.clear();
    element("history").hidden = false;
    this.pick(3600);
  }

  close() {
    this.id = this.asked = undefined;
    this.clear();
    element("history").hidden = true;
  }

  clear() {
    this.stop();
    this.points = [];
    element("replay").hidden = true;
    set(element("history-note"), "");
  }

  pick(seconds) {
    for (const button of document.querySelectorAll("[data-span]")) {
      button.classList.toggle("chosen", Number(button.dataset.span) === seconds);
    }
    const now = Date.now();
    element("from").value = local(now - seconds * 1000);
    element("to").value = local(now + 1000);
    this.load();
  }

  async load() {
    this.clear();
    // The newest question counts, whichever answer comes last.
    const asked = this.asked = {};
    const [from, to] = ["from", "to"].map((id) => new Date(element(id).value).getTime() / 1000);
    if (!(from < to)) { set(element("history-note"), "The span ends before it begins."); return; }
    const path = `/api/v1/trackables/${encodeURIComponent(this.id)}`;
    const span = `from=${new Date(from * 1000).toISOString()}&to=${new Date(to * 1000).toISOString()}`;
    set(element("history-note"), "Loading …");
    const [track, trips] = await Promise.all([
      answer(`${path}/history?format=geojson&${span}&max-points=${MAXIMUM_POINTS}`), answer(`${path}/trips?${span}`)]);
    if (this.asked !== asked) return;
    if (!track.ok || !track.body) { set(element("history-note"), reason(track)); return; }
    this.points = markGaps(pointsOf(track.body));
    if (this.points.length === 0) { set(element("history-note"), "Nothing was recorded in this span."); return; }
    for (const format of ["gpx", "geojson", "csv"]) element(`as-${format}`).href = `${path}/history?format=${format}&${span}`;
    this.measure();
    if (trips.ok) this.listTrips(trips.body?.trips ?? []);
    else element("trips").replaceChildren(Object.assign(document.createElement("li"), { textContent: reason(trips) }));
    element("replay").hidden = false;
    element("scrub").value = element("scrub").max;
    this.scrubbed();
    this.fit(this.points);
  }

  /** Speeds, where the points tell none, and the ends of the scale. */
  measure() {
    let length = 0;
    for (let i = 1; i < this.points.length; i += 1) {
      const [a, b] = [this.points[i - 1], this.points[i]];
      const step = distance(a, b);
      if (!b.isAfterGap) length += step;
      b.speed ??= b.time > a.time ? step / (b.time - a.time) : 0;
    }
    this.points[0].speed ??= this.points[1]?.speed ?? 0;
    const speeds = this.points.map((point) => point.speed).sort((a, b) => a - b);
    this.top = Math.max(1, speeds[Math.floor(speeds.length * 0.98)]);
    set(element("scale-high"), text.speed(this.top));
    const seconds = this.points[this.points.length - 1].time - this.points[0].time;
    set(element("history-note"), `${this.points.length} points, ${text.metres(length)} in ${text.duration(seconds)}`);
  }

  listTrips(trips) {
    element("trips").replaceChildren(...trips.map((trip) => {
      const item = document.createElement("li");
      const button = document.createElement("button");
      button.type = "button";
      const isTrip = trip.kind === "trip";
      button.append(isTrip ? `Trip${trip.mode ? ` (${trip.mode})` : ""}` : "Stop", span(text.duration(trip.duration), ""),
        span(`${text.moment(trip.start)}${isTrip && trip.distance !== undefined ? ` · ${text.metres(trip.distance)}` : ""}${isTrip && trip.averageSpeed !== undefined ? ` · ${text.speed(trip.averageSpeed)}` : ""}`, "faint"));
      button.addEventListener("click", () => this.goTo(trip.start, trip.end));
      item.append(button);
      return item;
    }));
  }

  goTo(start, end) {
    this.stop();
    this.setTime(start);
    const within = this.points.filter((point) => point.time >= start && (end === undefined || point.time <= end));
    if (within.length > 0) this.fit(within);
  }

  // Scrubbing and replay.

  get first() { return this.points[0].time; }
  get last() { return this.points[this.points.length - 1].time; }

  setTime(time) {
    const fraction = this.last > this.first ? (time - this.first) / (this.last - this.first) : 1;
    element("scrub").value = Math.round(Math.max(0, Math.min(1, fraction)) * 1000);
    this.time = Math.max(this.first, Math.min(this.last, time));
    this.tell();
  }

  scrubbed() {
    this.time = this.first + (this.last - this.first) * Number(element("scrub").value) / 1000;
    this.tell();
  }

  tell() {
    const point = this.at(this.time);
    set(element("scrubbed"), `${text.preciseMoment(this.time)} · ${text.speed(point.speed)}`);
    element("scrub").setAttribute("aria-valuetext", text.preciseMoment(this.time));
  }

  play() {
    if (this.time >= this.last) this.setTime(this.first);
    this.isPlaying = true;
    element("play").textContent = "❚❚";
    element("play").setAttribute("aria-label", "Pause");
    let before = performance.now();
    const step = (now) => {
      if (!this.isPlaying) return;
      this.setTime(this.time + (now - before) / 1000 * Number(element("rate").value));
      before = now;
      if (this.time >= this.last) this.stop();
      else requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  stop() {
    this.isPlaying = false;
    element("play").textContent = "▶";
    element("play").setAttribute("aria-label", "Replay");
  }

  /** Where it was at a time, between the points. */
  at(time) {
    let [low, high] = [0, this.points.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.points[middle].time < time) low = middle + 1; else high = middle;
    }
    const after = this.points[low];
    const before = this.points[Math.max(0, low - 1)];
    if (low === 0 || after.time <= before.time) return after;
    const fraction = Math.max(0, Math.min(1, (time - before.time) / (after.time - before.time)));
    return { ...interpolated(before, after, fraction), speed: after.speed,
      bearing: distance(before, after) > 1 ? bearing(before, after) : after.bearing };
  }

  draw(context, view, colours) {
    if (this.points.length === 0) return;
    drawLine(context, view, this.points, colours.halo, 6, 0.7);
    drawLine(context, view, this.points, (i) => colour(this.points[i].speed / this.top), 3.5);
    const point = this.at(this.time);
    drawMarker(context, view.near(point.lng), view.y(point.lat),
      { colour: colour(point.speed / this.top), bearing: point.bearing, isMoving: true, isChosen: true, label: text.timeOfDay(this.time) }, colours);
  }
}

/** From slow (blue) to fast (red): the colours of the ramp in the style sheet. */
function colour(fraction) {
  const stops = [[215, 75, 52], [160, 65, 42], [48, 90, 50], [8, 80, 52]];
  const place = Math.max(0, Math.min(1, fraction)) * 3;
  const index = Math.min(2, Math.floor(place));
  const mixed = stops[index].map((value, i) => value + (stops[index + 1][i] - value) * (place - index));
  return `hsl(${mixed[0]} ${mixed[1]}% ${mixed[2]}%)`;
}

function pointsOf(collection) {
  return (collection?.features ?? []).filter((feature) => feature.geometry?.type === "Point").map((feature) => ({
    lng: feature.geometry.coordinates[0], lat: feature.geometry.coordinates[1], time: feature.properties.time,
    speed: feature.properties.speed, bearing: feature.properties.bearing, stream: feature.properties.stream,
  })).sort((a, b) => a.time - b.time);
}

/** A longer time between two points may be a gap, in seconds. */
const LONGEST_STEP = 300;

/**
 * Marks the points that the line does not go to: those of another stream than the one before, and those that come later than
 * five minutes and ten times what is usual among them.
 */
export function markGaps(points) {
  const steps = points.slice(1).map((point, i) => point.time - points[i].time).sort((a, b) => a - b);
  const longest = Math.max(LONGEST_STEP, 10 * (steps[steps.length >> 1] ?? 0));
  for (let i = 1; i < points.length; i += 1) {
    const [a, b] = [points[i - 1], points[i]];
    b.isAfterGap = a.stream !== b.stream || b.time - a.time > longest;
  }
  return points;
}

function span(content, name) {
  const made = document.createElement("span");
  made.textContent = content;
  made.className = name;
  return made;
}

/** What an input of type datetime-local takes. */
function local(milliseconds) {
  const date = new Date(milliseconds);
  return new Date(milliseconds - date.getTimezoneOffset() * 60000).toISOString().slice(0, 19);
}
