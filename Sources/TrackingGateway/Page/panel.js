// The panel with the facts about the chosen trackable.

import { t } from "./i18n.js";
import { nextStop, nextStopText } from "./journey.js";
import * as text from "./text.js";
import { set } from "./list.js";
import { coordinates, keepPlace, showPlace } from "./place.js";
import { StopList } from "./stops.js";

const element = (id) => document.getElementById(id);

let stops;

/** Makes the buttons of the panel work; `fit` is called with the place of a stop that the user wants to see. */
export function makePanel(fit) {
  keepPlace();
  stops = new StopList(element("journey"), fit);
}

/** Fills the panel; `shown` is the trackable's state, as far as it is known; `asked` is the resolution that the page requests. */
export function showPanel(trackable, shown, asked, now) {
  const state = element("panel-state");
  set(element("panel-name"), trackable.label);
  if (state.className !== `state ${shown}`) state.className = `state ${shown}`;
  set(state, stateText(trackable, shown, now));
  const facts = factsOf(trackable, shown, asked, now);
  for (const name of ["follow", "zoom"]) element(name).disabled = trackable.place === undefined;
  showPlace(trackable.place);
  stops?.show(trackable, now);
  const list = element("facts");
  const names = facts.map(([name]) => name).join("\n");
  if (list.dataset.names !== names) {
    list.dataset.names = names;
    list.replaceChildren(...facts.flatMap(([name]) => {
      const term = document.createElement("dt");
      term.textContent = name;
      return [term, document.createElement("dd")];
    }));
  }
  const values = list.querySelectorAll("dd");
  facts.forEach(([, value], index) => set(values[index], value));
}

function stateText(trackable, state, now) {
  const position = positionText(trackable, state, now);
  return trackable.clockAhead === undefined ? position : `${position}; ${text.clockAhead(trackable.clockAhead)}`;
}

/** The texts of the states in which a position is not shown as current. */
const TEXTS = { OLD: "panel.old", UNKNOWN: "panel.unknown", STALE: "panel.stale", OFFLINE: "panel.offline", FAILED: "panel.failed" };

/** The confidences of a position that is on a road. */
const ON_ROAD = ["matched", "presumed"];

/** The states in which the trackable may have left its last position. */
const AWAY = ["OLD", "OFFLINE", "FAILED"];

function positionText(trackable, state, now) {
  const { time, recorded } = trackable;
  let seen = t("panel.no-position");
  if (time !== undefined) seen = AWAY.includes(state) ? text.lastSeen(now - time) : t("panel.position", { ago: text.ago(now - time) });
  else if (recorded !== undefined) seen = t("recorded-until", { ago: text.ago(now - recorded) });
  return t(TEXTS[state] ?? (trackable.isPredicted ? "panel.extrapolated" : "panel.online"), { seen });
}

function factsOf(trackable, shown, asked, now) {
  const facts = [];
  const properties = trackable.properties ?? {};
  const { metadata } = trackable.presence ?? {};
  if (metadata) facts.push([t("fact.metadata"), metadata]);
  const next = nextStopText(trackable, now);
  if (next) facts.push([t("fact.next-stop"), next]);
  if (trackable.speed !== undefined && !AWAY.includes(shown)) facts.push([t("fact.speed"), text.speed(trackable.speed)]);
  if (properties.bearing !== undefined) facts.push([t("fact.heading"), `${Math.round(properties.bearing)}°`]);
  if (properties.accuracyHorizontal !== undefined) facts.push([t("fact.accuracy"), `± ${text.metres(properties.accuracyHorizontal)}`]);
  if (properties.batteryLevel !== undefined) facts.push([t("fact.battery"), text.percent(properties.batteryLevel)]);
  if (ON_ROAD.includes(trackable.enhanced?.confidence) && trackable.enhanced.road) facts.push([t("fact.road"), trackable.enhanced.road]);
  if (trackable.place) facts.push([t("fact.place"), coordinates(trackable.place)]);
  if (trackable.time !== undefined) facts.push([t("fact.time"), text.moment(trackable.time)]);
  else if (trackable.recorded !== undefined) facts.push([t("fact.recorded"), text.moment(trackable.recorded)]);
  const inForce = trackable.inForce;
  if (inForce) {
    facts.push([t("fact.resolution"), text.resolution(inForce.resolution)]);
    const reason = text.reason(inForce, asked);
    if (reason) facts.push([t("fact.because"), reason]);
  } else if (asked) facts.push([t("fact.asked"), text.resolution(asked)]);
  const { destination, arrival } = trackable;
  if (destination) {
    const place = `${destination.lat.toFixed(5)}, ${destination.lng.toFixed(5)}`;
    const length = inForce.distance;
    facts.push([t("fact.destination"), length === undefined ? place : t("destination.away", { place, length: text.metres(length) })]);
  }
  if (arrival > now && nextStop(trackable.stops)?.estimate.eta === undefined) facts.push([t("fact.arrives"), t("arrives-in", { moment: text.clock(arrival, now), time: text.duration(arrival - now) })]);
  const trip = trackable.trip;
  if (trip) {
    const isActive = trip.state === "ACTIVE";
    const time = text.duration(isActive ? now - trip.start : trip.duration);
    facts.push([t(isActive ? "fact.trip" : "fact.last-trip"), t("length-in-time", { length: text.metres(trip.distance), time })]);
  }
  if (trackable.lastEvent) {
    const kind = trackable.lastEvent.kind.toLowerCase().replaceAll("_", " ");
    facts.push([t("fact.event"), `${kind}, ${text.moment(trackable.lastEvent.time)}`]);
  }
  return facts;
}
