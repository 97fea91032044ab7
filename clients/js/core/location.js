// Location updates: published, enhanced and raw ones.

import {
  array, choice, defined, Fields, integer, invalid, knownChoice, mismatch, number, object, RULES, stream, text, textThat,
} from "./fields.js";
import { depthOf, parse, sizeOf } from "./json.js";
import { cut, isTripID } from "./text.js";

const MODES = ["ACTIVE", "BALANCED", "PASSIVE", "CUSTOM"];
const MOTIONS = ["driving", "walking", "running", "cycling", "stationary"];
const SOURCES = ["gps", "network", "replay", "simulated", "zone", "predicted"];
const KINDS = ["ACTUAL", "PREDICTED"];
const CONFIDENCES = ["matched", "presumed", "off-road"];

/** The largest number of points in one list of an update. */
const MAXIMUM_POINTS = 1000;
const MAXIMUM_EXTRA_BYTES = 4096;
const MAXIMUM_EXTRA_DEPTH = 16;
const MAXIMUM_ROAD_BYTES = 128;

export const TRIP_ID_RULE =
  "a string of 1 to 64 bytes without control characters and without characters that change the direction of text";

/** Decodes a location update, an enhanced update or a raw update from the bytes of its payload. */
export const decodeUpdate = (payload) => updateFrom(parse(payload));

/** Decodes an update from parsed JSON, as the gateway's live stream has it. */
export function updateFrom(json) {
  const message = new Fields(json);
  if (message.value.location === undefined) throw invalid("location is missing");
  const location = feature(message.value.location, "location");
  const skipped = message.optional("skippedLocations", points) ?? [];
  for (const point of skipped) if (location.stream !== undefined) point.stream ??= location.stream;
  return defined({
    location,
    skipped,
    intermediate: message.optional("intermediateLocations", points) ?? [],
    kind: message.optional("type", choice(KINDS)) ?? "ACTUAL",
    enhancement: message.optional("enhanced", enhancement),
  });
}

/** Reads a GeoJSON Feature with a Point. */
export function feature(value, path) {
  const fields = new Fields(value, path);
  constant(fields, "type", "Feature", "type");
  if (fields.value.geometry === undefined) throw invalid(`${fields.pathOf("geometry.coordinates")} is missing`);
  const geometry = new Fields(fields.value.geometry, fields.pathOf("geometry"));
  constant(geometry, "type", "Point");
  if (geometry.value.coordinates === undefined) throw invalid(`${geometry.pathOf("coordinates")} is missing`);
  const { coordinate, altitude } = position(geometry.value.coordinates, geometry.pathOf("coordinates"));
  const properties = new Fields(fields.value.properties ?? {}, fields.pathOf("properties"));
  return defined({ coordinate, altitude, ...measurements(properties), ...labels(properties) });
}

function constant(fields, member, word) {
  const value = fields.value[member];
  if (value === undefined) throw invalid(`${fields.pathOf(member)} is missing`);
  if (typeof value !== "string") throw mismatch(fields.pathOf(member), `"${word}"`, value === null ? "null" : "another value");
  if (value !== word) throw mismatch(fields.pathOf(member), `"${word}"`, "another string");
}

function position(value, path) {
  const numbers = array(value, path);
  const longitude = numbers.length > 0 ? number(RULES.longitude)(numbers[0], path) : 0;
  if (numbers.length < 2) {
    throw mismatch(path, "[longitude, latitude] or [longitude, latitude, altitude]", "fewer numbers");
  }
  const latitude = number(RULES.latitude)(numbers[1], path);
  const [altitude, ...others] = numbers.slice(2);
  for (const other of others) number(RULES.finite)(other, path);
  return {
    coordinate: { latitude, longitude },
    altitude: altitude === undefined || altitude === null ? undefined : number(RULES.finite)(altitude, path),
  };
}

function measurements(fields) {
  const notNegative = number(RULES.notNegative);
  const bearing = fields.optional("bearing", number(RULES.bearing));
  return {
    time: fields.required("time", number(RULES.time)),
    accuracyHorizontal: fields.optional("accuracyHorizontal", notNegative),
    accuracyVertical: fields.optional("accuracyVertical", notNegative),
    bearing: bearing === 360 ? 0 : bearing,
    accuracyBearing: fields.optional("accuracyBearing", notNegative),
    speed: fields.optional("speed", notNegative),
    accuracySpeed: fields.optional("accuracySpeed", notNegative),
    batteryLevel: fields.optional("batteryLevel", number(RULES.fraction)),
  };
}

function labels(fields) {
  return {
    floor: fields.optional("floor", integer(-Number.MAX_SAFE_INTEGER)),
    seq: fields.optional("seq", integer(1)),
    stream: fields.optional("stream", stream),
    mode: fields.optional("mode", knownChoice(MODES)),
    motion: fields.optional("motion", motion) ?? [],
    tripId: fields.optional("tripId", textThat(TRIP_ID_RULE, (id) => id === "" || isTripID(id))) || undefined,
    source: fields.optional("source", knownChoice(SOURCES)),
    extra: fields.optional("extra", extra),
  };
}

function motion(value, path) {
  const words = array(value, path).filter((word) => word !== null).map((word) => knownChoice(MOTIONS)(word, path));
  return [...new Set(words)].filter((word) => word !== undefined);
}

function extra(value, path) {
  if (depthOf(object(value, path)) > MAXIMUM_EXTRA_DEPTH) throw invalid(`${path}: objects and arrays are nested too deep`);
  if (sizeOf(value) > MAXIMUM_EXTRA_BYTES) throw mismatch(path, `at most ${MAXIMUM_EXTRA_BYTES} bytes`, "more");
  return value;
}

function points(value, path) {
  if (array(value, path).length > MAXIMUM_POINTS) {
    throw mismatch(`${path}[${MAXIMUM_POINTS}]`, `one of at most ${MAXIMUM_POINTS} points`, "one more");
  }
  return value.map((point, index) => feature(point, `${path}[${index}]`));
}

function enhancement(value, path) {
  const fields = new Fields(value, path);
  const road = (name) => cut(text(name, path), MAXIMUM_ROAD_BYTES);
  return defined({
    confidence: fields.required("confidence", choice(CONFIDENCES)),
    road: fields.optional("road", road),
    way: fields.optional("way", integer(0)),
    roadClass: fields.optional("class", road),
    speedLimit: fields.optional("speedLimit", number(RULES.notNegative)),
    offset: fields.optional("offset", number(RULES.notNegative)),
    finalSeq: fields.optional("final", integer(0)),
  });
}

/** The time before which the clock of a device was not set: the beginning of 2001. */
const CLOCK_SET = 978_307_200;
/** The largest number of seconds by which a live position may be ahead of the reader's clock. */
const LONGEST_LEAD = 60;

/**
 * Returns true for a live position, one that may be shown as the current one: its place is not exactly [0, 0], the clock of its
 * device was set, and its time is at most 60 s ahead of `now`, the reader's Unix time in seconds.
 */
export function isLivePosition({ coordinate, time, extra: members }, now) {
  if (coordinate.latitude === 0 && coordinate.longitude === 0) return false;
  if (members?.clock === "unset") return false;
  // A reader's clock that was not set cannot judge the clock of a device.
  return now < CLOCK_SET || (time >= CLOCK_SET && time - now <= LONGEST_LEAD);
}
