// The journey of a trackable: its stops with their estimates, the way ahead, and the texts about them.

import { t } from "./i18n.js";
import * as text from "./text.js";

/** The age in seconds from which an estimate is shown as old. */
const OLD_SECONDS = 120;
/** The distance in metres from the route within which the way ahead begins at the marker. */
const NEAR = 100;
/** The distance in metres by which a later part of the route must be nearer to the marker than an earlier part. */
const CLEARLY = 10;
/** The metres of a degree of latitude. */
const DEGREE = 111195;

/** Returns true if an estimate is so old that the page must say so. */
export const isOld = ({ time }, now) => now - time > OLD_SECONDS;

/** Returns the stops of a journey, {id, number, name, label, place, planned}. Their estimates are not known yet. */
export function stopsOf(journey) {
  return (journey?.stops ?? []).map(({ id, name, location: [lng, lat], planned }, index) => ({
    id, number: index + 1, name, planned, place: { lat, lng }, get label() { return name ?? t("journey.stop", { number: index + 1 }); },
  }));
}

/** Gives each stop its part of an estimate, where there is one. */
export function giveEstimates(stops, estimate) {
  const byId = new Map((estimate?.stops ?? []).map((part) => [part.id, part]));
  for (const stop of stops) stop.estimate = byId.get(stop.id);
}

/** Returns the first stop that the trackable has not reached; undefined without estimates, and after the last arrival. */
export const nextStop = (stops) => stops.find(({ estimate }) => estimate && estimate.status !== "ARRIVED");

// MARK: Texts

/** Returns the text of a band of times, such as "14:25 to 14:40"; empty without a band. */
export function bandText({ earliest, latest }, now) {
  if (earliest === undefined || latest === undefined) return "";
  return t("journey.band", { earliest: text.clock(earliest, now), latest: text.clock(latest, now) });
}

/** Returns the text of an arrival, such as "14:32 (14:25 to 14:40)"; empty if it is not known. */
export function arrivalText({ eta, status, ...limits }, now) {
  if (eta === undefined) return "";
  const time = text.clock(eta, now);
  if (status === "ARRIVED") return t("journey.arrived", { time });
  const band = bandText(limits, now);
  return band ? t("journey.eta", { time, band }) : time;
}

/** Returns the text of the next stop of a trackable, with its arrival and the age of an old estimate; undefined without a next stop. */
export function nextStopText({ stops, estimate }, now) {
  const next = nextStop(stops);
  if (!next) return undefined;
  const age = isOld(estimate, now) ? t("journey.estimated", { ago: text.ago(now - estimate.time) }) : "";
  return [next.label, arrivalText(next.estimate, now), age].filter((part) => part !== "").join(", ");
}

/** Returns the text of the times and the distance of a stop. */
export function stopText({ planned, estimate = {} }, now) {
  const due = planned === undefined ? "" : t("journey.planned", { time: text.clock(planned, now) });
  return [arrivalText(estimate, now), text.metres(estimate.distance), due].filter((part) => part !== "").join(" · ");
}

/** Returns the note about an estimate: its age, or its basis if that is not a route; empty if there is nothing to say. */
export function noteText(estimate, now) {
  if (!estimate) return t("journey.no-estimate");
  if (isOld(estimate, now)) return t("journey.old", { time: text.clock(estimate.time, now), ago: text.ago(now - estimate.time) });
  return estimate.basis === "straight-line" ? t("journey.straight") : "";
}

// MARK: The way ahead

/** Returns the part of a route that is ahead of a place, from this place on. A place far from the route changes nothing. */
export function wayAhead(route, place) {
  if (!place || route.length < 2) return route;
  const steps = route.slice(1).map((to, index) => nearest(route[index], to, place));
  const least = Math.min(...steps.map(({ away }) => away));
  if (!(least <= NEAR)) return route;
  const index = steps.findIndex(({ away }) => away <= least + CLEARLY);
  return [place, steps[index], ...route.slice(index + 1)];
}

/** Returns the place of a step of a route that is nearest to another place, and the distance between them in metres. */
function nearest(from, to, place) {
  const shrink = Math.cos(place.lat * Math.PI / 180);
  const [x, y] = [(to.lng - from.lng) * shrink, to.lat - from.lat];
  const [dx, dy] = [(place.lng - from.lng) * shrink, place.lat - from.lat];
  const length = x * x + y * y;
  const share = length > 0 ? Math.max(0, Math.min(1, (dx * x + dy * y) / length)) : 0;
  return {
    lat: from.lat + share * (to.lat - from.lat), lng: from.lng + share * (to.lng - from.lng),
    away: DEGREE * Math.hypot(dx - share * x, dy - share * y),
  };
}
