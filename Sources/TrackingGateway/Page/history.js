// The history of a trackable: the track of a time span, coloured by speed, its replay, trips, stops and downloads.

import { answer, reason } from "./session.js";
import { bearing, distance, interpolated } from "./animator.js";
import { drawLine, drawMarker } from "./layers.js";
import { t } from "./i18n.js";
import * as text from "./text.js";
import { showEmptySpan } from "./guide.js";
import { set } from "./list.js";

const element = (id) => document.getElementById(id);
/** The largest number of points to request. The gateway omits further points that do not change the line visibly. */
const MAXIMUM_POINTS = 5000;

export class History {
  /**
   * @param fit called with places to bring into view
   * @param now the gateway's time
   * @param changed called after another span was chosen or the history was closed
   */
  constructor(fit, now, changed = () => {}) {
    this.fit = fit;
    this.now = now;
    this.changed = changed;
    this.points = [];
    /**
     * The time span, in seconds. A time in the input fields is ambiguous in the hour after clocks were set back, so the fields
     * are read only after the user changed them.
     */
    this.span = {};
    for (const end of ["from", "to"]) {
      element(end).addEventListener("input", () => {
        this.span[end] = new Date(element(end).value).getTime() / 1000;
        this.markPicked(undefined);
      });
    }
    for (const button of document.querySelectorAll("[data-span]")) {
      button.addEventListener("click", () => this.pick(Number(button.dataset.span)));
    }
    element("span").addEventListener("submit", (event) => { event.preventDefault(); this.load(); });
    element("scrub").addEventListener("input", () => { this.stop(); this.scrubbed(); });
    element("play").addEventListener("click", () => this.isPlaying ? this.stop() : this.play());
  }

  /**
   * Shows a span {from, to} of a trackable, or its last hour: before now, or before the time of its last record.
   *
   * @param recorded the time of the last record of a trackable; `isPast` is true if it has no current position
   */
  open(id, recorded, { isPast = true, span, keepsView = false } = {}) {
    this.id = id;
    this.recorded = isPast ? recorded : undefined;
    this.latest = recorded;
    this.clear();
    element("history").hidden = false;
    if (span) this.showSpan(span, keepsView); else this.pick(3600);
  }

  /** The shown span {from, to} in seconds; undefined while the history is closed. */
  get shown() { return this.id !== undefined && this.span.from < this.span.to ? this.span : undefined; }

  showSpan(span, keepsView = false) {
    this.markPicked(undefined);
    this.write(span);
    this.load(keepsView);
  }

  write(span) {
    this.span = span;
    for (const end of ["from", "to"]) element(end).value = local(span[end] * 1000);
  }

  close() {
    this.id = undefined;
    this.asking?.abort();
    this.clear();
    element("history").hidden = true;
    this.changed();
  }

  clear() {
    this.stop();
    this.points = [];
    this.isEmpty = false;
    this.time = undefined;
    element("replay").hidden = true;
    set(element("history-note"), "");
    element("history-next").replaceChildren();
  }

  pick(seconds) {
    this.markPicked(seconds);
    const to = Math.floor(this.recorded ?? this.now()) + 1;
    this.write({ from: to - 1 - seconds, to });
    this.load();
  }

  markPicked(seconds) {
    for (const button of document.querySelectorAll("[data-span]")) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.span) === seconds));
    }
  }

  /** Loads the shown span; `keepsView` is true if the map is already where the user wants it. */
  async load(keepsView = false) {
    this.clear();
    this.changed();
    // Only the answer to the newest request is shown, so an earlier request is cancelled.
    this.asking?.abort();
    const { signal } = this.asking = new AbortController();
    const { from, to } = this.span;
    if (Number.isNaN(from + to)) { set(element("history-note"), t("history.no-date")); return; }
    if (!(from < to)) { set(element("history-note"), t("history.order")); return; }
    const path = `/api/v1/trackables/${encodeURIComponent(this.id)}`;
    const span = `from=${new Date(from * 1000).toISOString()}&to=${new Date(to * 1000).toISOString()}`;
    set(element("history-note"), t("loading"));
    const [track, trips] = await Promise.all([
      answer(`${path}/history?format=geojson&${span}&max-points=${MAXIMUM_POINTS}`, { signal }),
      answer(`${path}/trips?${span}`, { signal })]);
    if (signal.aborted) return;
    if (!track.ok || !track.body) { set(element("history-note"), reason(track)); return; }
    this.points = pointsOf(track.body);
    this.isSimplified = this.points.length >= MAXIMUM_POINTS;
    markGaps(this.points, this.isSimplified);
    if (this.points.length === 0) { this.showEmpty(); return; }
    for (const format of ["gpx", "geojson", "csv"]) element(`as-${format}`).href = `${path}/history?format=${format}&${span}`;
    this.trips = trips;
    this.show();
    element("replay").hidden = false;
    element("scrub").value = element("scrub").max;
    this.scrubbed();
    if (!keepsView) this.fit(this.points);
  }

  /** Shows that the span has no positions, and the next step. */
  showEmpty() {
    this.isEmpty = true;
    set(element("history-note"), t("history.empty"));
    const showLast = () => this.showSpan({ from: Math.floor(this.latest) - 3599, to: Math.floor(this.latest) + 1 });
    showEmptySpan(element("history-next"), this.latest, showLast);
  }

  /** Fills the texts of the shown track, in the chosen language and units. */
  show() {
    if (this.isEmpty) this.showEmpty();
    if (this.points.length === 0) return;
    this.measure();
    const { trips } = this;
    if (trips.ok && trips.body) this.listTrips(trips.body.trips);
    else element("trips").replaceChildren(Object.assign(document.createElement("li"), { textContent: reason(trips) }));
    if (this.time !== undefined) this.tell();
  }

  /** Computes the speeds of points that have none, and the ends of the colour scale. */
  measure() {
    let length = 0;
    for (let i = 1; i < this.points.length; i += 1) {
      const [a, b] = [this.points[i - 1], this.points[i]];
      const step = distance(a, b);
      if (!b.isAfterGap) length += step;
      b.speed ??= b.time > a.time && !b.isAfterGap ? step / (b.time - a.time) : 0;
    }
    this.points[0].speed ??= this.points[1]?.speed ?? 0;
    const speeds = this.points.map((point) => point.speed).sort((a, b) => a - b);
    this.top = Math.max(1, speeds[Math.floor(speeds.length * 0.98)]);
    set(element("scale-high"), text.speed(this.top));
    const seconds = this.points[this.points.length - 1].time - this.points[0].time;
    const values = { count: this.points.length, length: text.metres(length), time: text.duration(seconds) };
    set(element("history-note"), t(this.isSimplified ? "history.simplified" : "history.points", values));
  }

  listTrips(trips) {
    element("trips").replaceChildren(...trips.map((trip) => {
      const item = document.createElement("li");
      const button = document.createElement("button");
      button.type = "button";
      const isTrip = trip.kind === "trip";
      button.append(isTrip ? t(trip.mode ? "trip.mode" : "trip", { mode: trip.mode }) : t("stop"), span(text.duration(trip.duration), ""),
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
    set(element("scrubbed"), `${text.preciseMoment(this.time)} · ${point.isGap ? t("history.gap") : text.speed(point.speed)}`);
    element("scrub").setAttribute("aria-valuetext", text.preciseMoment(this.time));
  }

  play() {
    if (this.time >= this.last) this.setTime(this.first);
    this.isPlaying = true;
    element("play").textContent = "❚❚";
    element("play").setAttribute("aria-label", t("pause"));
    let before = performance.now();
    const step = (now) => {
      this.setTime(this.time + (now - before) / 1000 * Number(element("rate").value));
      before = now;
      if (this.time >= this.last) this.stop();
      else this.frame = requestAnimationFrame(step);
    };
    this.frame = requestAnimationFrame(step);
  }

  stop() {
    cancelAnimationFrame(this.frame);
    this.isPlaying = false;
    element("play").textContent = "▶";
    element("play").setAttribute("aria-label", t("replay"));
  }

  /** Returns the position at a time, interpolated between points; in a gap of the track the last one before it (`isGap`). */
  at(time) {
    let [low, high] = [0, this.points.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.points[middle].time < time) low = middle + 1; else high = middle;
    }
    const after = this.points[low];
    const before = this.points[Math.max(0, low - 1)];
    if (low === 0 || after.time <= before.time) return after;
    if (after.isAfterGap && time < after.time) return { ...before, isGap: true };
    const fraction = Math.max(0, Math.min(1, (time - before.time) / (after.time - before.time)));
    return { ...interpolated(before, after, fraction), speed: after.speed,
      bearing: distance(before, after) > 1 ? bearing(before, after) : after.bearing };
  }

  /** Draws the track and the replay's marker, and returns {label, x, y} of the marker. */
  draw(context, view, colours) {
    drawLine(context, view, this.points, colours.halo, 6, 0.7);
    drawLine(context, view, this.points, (i) => colour(this.points[i].speed / this.top), 3.5);
    const point = this.at(this.time);
    const [x, y] = [view.near(point.lng), view.y(point.lat)];
    drawMarker(context, x, y, { colour: colour(point.speed / this.top), bearing: point.bearing, isMoving: !point.isGap, isChosen: true }, colours);
    return { label: text.timeOfDay(this.time), x, y };
  }
}

/** The colours of the speed scale in the style sheet, from slow (blue) to fast (red). */
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
    speed: feature.properties.speed, bearing: feature.properties.bearing,
    isInterrupted: feature.interrupted === true,
  })).sort((a, b) => a.time - b.time);
}

/** The time in seconds between two points above which a gap in the track is possible. */
const LONGEST_STEP = 300;

/**
 * Marks the points before which the track has a gap: those that the gateway marks, and those that follow after more than five
 * minutes and more than ten times the median step. In a simplified track only the marks of the gateway count, because a
 * straight way has few points.
 */
export function markGaps(points, isSimplified = false) {
  const steps = points.slice(1).map((point, i) => point.time - points[i].time).sort((a, b) => a - b);
  const longest = Math.max(LONGEST_STEP, 10 * (steps[steps.length >> 1] ?? 0));
  for (let i = 1; i < points.length; i += 1) {
    const [a, b] = [points[i - 1], points[i]];
    b.isAfterGap = b.isInterrupted || (!isSimplified && b.time - a.time > longest);
  }
  return points;
}

function span(content, name) {
  const made = document.createElement("span");
  made.textContent = content;
  made.className = name;
  return made;
}

/** Returns a time as the value of an input of type datetime-local. */
function local(milliseconds) {
  const date = new Date(milliseconds);
  return new Date(milliseconds - date.getTimezoneOffset() * 60000).toISOString().slice(0, 19);
}
