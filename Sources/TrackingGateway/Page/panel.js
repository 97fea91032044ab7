// What is known of the chosen trackable, in words.

import * as text from "./text.js";
import { set, words } from "./list.js";

const element = (id) => document.getElementById(id);

/** Fills the panel; `asked` is what this page asks for. */
export function showPanel(trackable, asked, now) {
  const state = element("panel-state");
  set(element("panel-name"), trackable.label);
  if (state.className !== `state ${trackable.state}`) state.className = `state ${trackable.state}`;
  set(state, stateText(trackable, now));
  const facts = factsOf(trackable, asked, now);
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

function stateText(trackable, now) {
  const seen = trackable.time === undefined ? "never seen" : `position ${ago(now - trackable.time)}`;
  if (trackable.state === "STALE") return `Stale: nothing came when it should have; ${seen}`;
  if (trackable.state === "OFFLINE") return `Offline; last ${seen}`;
  if (trackable.isPredicted) return `Online; ${seen}, extrapolated`;
  return `${words(trackable.state).replace(/^./, (letter) => letter.toUpperCase())}; ${seen}`;
}

const ago = (seconds) => seconds < 2 ? "just now" : `${text.age(seconds)} ago`;

function factsOf(trackable, asked, now) {
  const facts = [];
  const properties = trackable.properties ?? {};
  if (trackable.speed !== undefined) facts.push(["Speed", text.speed(trackable.speed)]);
  if (properties.bearing !== undefined) facts.push(["Heading", `${Math.round(properties.bearing)}°`]);
  if (properties.accuracyHorizontal !== undefined) facts.push(["Accuracy", `± ${text.metres(properties.accuracyHorizontal)}`]);
  if (properties.batteryLevel !== undefined) facts.push(["Battery", text.percent(properties.batteryLevel)]);
  if (trackable.place) facts.push(["Place", `${trackable.place.lat.toFixed(5)}, ${trackable.place.lng.toFixed(5)}`]);
  if (trackable.time !== undefined) facts.push(["Time", text.moment(trackable.time)]);
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
    facts.push(["Event", `${kind}, ${text.timeOfDay(trackable.lastEvent.time)}`]);
  }
  return facts;
}
