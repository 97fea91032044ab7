// The panel with the facts about the chosen trackable.

import * as text from "./text.js";
import { set, words } from "./list.js";

const element = (id) => document.getElementById(id);

/** Fills the panel; `shown` is the trackable's state, as far as it is known; `asked` is the resolution that the page requests. */
export function showPanel(trackable, shown, asked, now) {
  const state = element("panel-state");
  set(element("panel-name"), trackable.label);
  if (state.className !== `state ${shown}`) state.className = `state ${shown}`;
  set(state, stateText(trackable, shown, now));
  const facts = factsOf(trackable, asked, now);
  for (const name of ["follow", "zoom"]) element(name).disabled = trackable.place === undefined;
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

function positionText(trackable, state, now) {
  const { time, recorded } = trackable;
  const isRecorded = time === undefined && recorded !== undefined;
  const ago = time === undefined ? "no position" : `position ${text.ago(now - time)}`;
  const seen = isRecorded ? `recorded until ${text.ago(now - recorded)}` : ago;
  if (state === "UNKNOWN") return `State unknown: this page is not connected to the gateway; ${seen}`;
  if (state === "STALE") return `Stale: no position arrived in the expected time; ${seen}`;
  if (state === "OFFLINE") return `Offline; ${time === undefined ? "" : "last "}${seen}`;
  if (trackable.isPredicted) return `Online; ${seen}, extrapolated`;
  return `${words(state).replace(/^./, (letter) => letter.toUpperCase())}; ${seen}`;
}

function factsOf(trackable, asked, now) {
  const facts = [];
  const properties = trackable.properties ?? {};
  if (trackable.speed !== undefined) facts.push(["Speed", text.speed(trackable.speed)]);
  if (properties.bearing !== undefined) facts.push(["Heading", `${Math.round(properties.bearing)}°`]);
  if (properties.accuracyHorizontal !== undefined) facts.push(["Accuracy", `± ${text.metres(properties.accuracyHorizontal)}`]);
  if (properties.batteryLevel !== undefined) facts.push(["Battery", text.percent(properties.batteryLevel)]);
  if (trackable.place) facts.push(["Place", `${trackable.place.lat.toFixed(5)}, ${trackable.place.lng.toFixed(5)}`]);
  if (trackable.time !== undefined) facts.push(["Time", text.moment(trackable.time)]);
  else if (trackable.recorded !== undefined) facts.push(["Recorded until", text.moment(trackable.recorded)]);
  const inForce = trackable.inForce;
  if (inForce) {
    facts.push(["Resolution", text.resolution(inForce.resolution)]);
    const reason = text.reason(inForce, asked);
    if (reason) facts.push(["Because", reason]);
  } else if (asked) facts.push(["Asked for", text.resolution(asked)]);
  const trip = trackable.trip;
  if (trip) {
    const length = `${text.metres(trip.distance)} in ${text.duration(trip.state === "ACTIVE" ? now - trip.start : trip.duration)}`;
    facts.push([trip.state === "ACTIVE" ? "Trip" : "Last trip", length]);
  }
  if (trackable.lastEvent) {
    const kind = trackable.lastEvent.kind.toLowerCase().replaceAll("_", " ");
    facts.push(["Event", `${kind}, ${text.moment(trackable.lastEvent.time)}`]);
  }
  return facts;
}
