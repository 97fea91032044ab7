// All messages except location updates: presences, liveness, requests, resolutions in force, trips, events, journeys, estimates
// and batches.

import { TrackingError } from "./errors.js";
import {
  array, choice, defined, Fields, flag, integer, invalid, mismatch, name, number, object, place, RULES, stream, text, textThat,
} from "./fields.js";
import { parse, sizeOf } from "./json.js";
import { feature, TRIP_ID_RULE } from "./location.js";
import { pointsOf } from "../polyline.js";
import { bytesOf, encoded, hasBytes, isMetadata, isPlain, isTripID } from "./text.js";

export const MEMBER_KINDS = ["PUBLISHER", "SUBSCRIBER"];
const ACCURACIES = ["MINIMUM", "LOW", "BALANCED", "HIGH", "MAXIMUM"];
const TRACKABLE_STATES = ["OFFLINE", "PUBLISHING", "ONLINE", "FAILED"];
const FILTERS = ["both", "either"];
const PROFILES = ["auto", "bicycle", "pedestrian", "bus", "truck"];
const BASES = ["route", "straight-line"];
const STOP_STATUSES = ["EN_ROUTE", "APPROACHING", "ARRIVED", "DELAYED", "OFF_ROUTE", "UNKNOWN"];

const METADATA_RULE =
  "a string of 1 to 1024 bytes without control characters and without characters that change the direction of text";

/** The largest sizes in bytes of the messages of a state, of documents, of the detail of an event, and of an estimate. */
const MAXIMUM_STATE_BYTES = 4096;
const MAXIMUM_DOCUMENT_BYTES = 32768;
const MAXIMUM_DETAIL_BYTES = 16384;
const MAXIMUM_ESTIMATE_BYTES = 65536;
const MAXIMUM_STOPS = 200;
const MAXIMUM_ROUTE_POINTS = 2000;
const MAXIMUM_STOP_NAME_BYTES = 128;
const DEFAULT_RADIUS = 150;

function checkSize(count, most, part) {
  if (count <= most) return;
  throw new TrackingError("payloadTooLarge", `${part} may have at most ${most} bytes; this one has ${count} bytes`);
}

/** Parses a payload of limited size as an object. */
function limited(payload, most, part) {
  checkSize(payload.length, most, part);
  return parse(payload);
}

const state = (payload, part) => new Fields(limited(payload, MAXIMUM_STATE_BYTES, part));

// Presences, liveness and requests

/**
 * Decodes a presence.
 *
 * @param kind the kind of member that the topic states; a presence with another type is an error
 */
export function decodePresence(payload, kind) {
  const message = state(payload, "a presence");
  const presence = defined({
    kind: message.required("type", choice(MEMBER_KINDS)),
    session: message.required("session", name),
    connection: message.required("connection", integer(0)),
    lease: Math.trunc(message.required("lease", number(RULES.lease))),
    since: message.required("since", number(RULES.time)),
    stream: message.optional("stream", stream),
    rawLocations: message.optional("rawLocations", flag),
    metadata: message.optional("metadata", textThat(METADATA_RULE, isMetadata)),
    sendsResolution: message.optional("sendsResolution", flag),
  });
  if (kind !== undefined && presence.kind !== kind) {
    throw invalid(`the member type must match the topic: found ${presence.kind} on a topic for another type`);
  }
  return presence;
}

export const encodePresence = ({ kind, session, connection, lease, since }) =>
  encoded(JSON.stringify({ type: kind, session, connection, lease, since }));

export function decodeLiveness(payload) {
  const message = state(payload, "a liveness");
  const status = message.required("status", textThat('"online" or "offline"', (word) => word === "online" || word === "offline"));
  return defined({
    status,
    lease: status === "online" ? Math.trunc(message.required("lease", number(RULES.lease))) : undefined,
    session: message.required("session", name),
    connection: message.required("connection", integer(0)),
    remain: status === "online" ? undefined : whole(message.optional("remain", number(RULES.lease))),
  });
}

const whole = (value) => (value === undefined ? undefined : Math.trunc(value));

export const encodeLiveness = ({ status, session, connection, lease, remain }) => {
  const isOnline = status === "online";
  return encoded(JSON.stringify({ status, session, connection, lease: isOnline ? lease : undefined, remain: isOnline ? undefined : remain }));
};

function resolution(message) {
  const fields = message.fields("resolution");
  return {
    accuracy: fields.required("accuracy", choice(ACCURACIES)),
    desiredInterval: Math.trunc(fields.required("desiredInterval", number(RULES.interval))),
    minimumDisplacement: fields.required("minimumDisplacement", number(RULES.notNegative)),
  };
}

export function decodeRequest(payload) {
  const message = state(payload, "a request");
  return { session: message.required("session", name), resolution: resolution(message) };
}

export function encodeRequest({ session, resolution: { accuracy, desiredInterval, minimumDisplacement } }) {
  return encoded(JSON.stringify({ session, resolution: { accuracy, desiredInterval, minimumDisplacement } }));
}

/** Returns a resolution after a check of its values. */
export const checkedResolution = (value) => resolution(new Fields({ resolution: value }));

export function decodeResolution(payload) { return resolutionFrom(state(payload, "a resolution in force").value); }

/** Decodes a resolution in force from parsed JSON. */
export function resolutionFrom(json) {
  const message = new Fields(json);
  return defined({
    resolution: resolution(message),
    isNear: message.required("near", flag),
    subscribers: message.required("subscribers", integer(0)),
    isLowBattery: message.required("lowBattery", flag),
    state: message.required("state", choice(TRACKABLE_STATES)),
    filter: message.required("filter", choice(FILTERS)),
    maximumSilence: Math.trunc(message.required("maximumSilence", number(RULES.milliseconds))),
    approach: approach(message),
  });
}

function approach(message) {
  const destination = message.optional("destination", place);
  if (!destination) return undefined;
  return defined({
    destination,
    distance: message.optional("distance", number(RULES.notNegative)),
    timeToArrival: message.optional("timeToArrival", number(RULES.notNegative)),
  });
}

// Trips and events

export const decodeTrip = (payload) => tripFrom(limited(payload, MAXIMUM_DOCUMENT_BYTES, "a trip"));

/** Decodes a version of a trip from parsed JSON. */
export function tripFrom(json) {
  const message = new Fields(json);
  const words = textThat("a string of 1 to 64 bytes", (value) => hasBytes(value, 64));
  const [id, mode] = [message.required("tripId", words), message.required("mode", words)];
  for (const [member, value] of [["tripId", id], ["mode", mode]]) {
    if (!isPlain(value)) throw mismatch(member, TRIP_ID_RULE, "another string");
  }
  const tripState = message.required("state", choice(["ACTIVE", "ENDED"]));
  return defined({
    id,
    mode,
    state: tripState,
    start: message.required("start", number(RULES.time)),
    end: message.optional("end", number(RULES.time)),
    startLocation: message.optional("startLocation", located),
    lastLocation: message.optional(tripState === "ACTIVE" ? "currentLocation" : "endLocation", located),
    distance: message.optional("distance", number(RULES.notNegative)) ?? 0,
    duration: message.optional("duration", number(RULES.notNegative)) ?? 0,
    endedBy: message.optional("endedBy", choice(["user", "automatic"])),
    stream: message.required("stream", stream),
    seq: message.required("seq", integer(1)),
  });
}

/** Reads a Feature that is a member of a trip or an event. Its errors name the path from `location` on. */
const located = (value) => feature(value, "location");

export const decodeEvent = (payload) => eventFrom(limited(payload, MAXIMUM_DOCUMENT_BYTES, "an event"));

/** Decodes a tracking event from parsed JSON. */
export function eventFrom(json) {
  const message = new Fields(json);
  const event = defined({
    id: message.required("id", name),
    stream: message.required("stream", stream),
    seq: message.required("seq", integer(1)),
    time: message.required("time", number(RULES.time)),
    kind: message.required("kind", name),
    detail: withoutNulls(message.optional("detail", object) ?? {}),
    location: message.optional("location", located),
  });
  if (message.value.detail) checkSize(sizeOf(message.value.detail), MAXIMUM_DETAIL_BYTES, "the detail of an event");
  checkSize(bytesOf(JSON.stringify(event.detail)), MAXIMUM_DETAIL_BYTES, `the detail of an event (${event.kind})`);
  return event;
}

/** Encodes a tracking event. */
export function encodeEvent({ id, stream: streamId, seq, time, kind, detail = {} }) {
  const json = JSON.stringify({ id, stream: streamId, seq, time, kind, detail });
  eventFrom(JSON.parse(json));
  return encoded(json);
}

function withoutNulls(value) {
  if (Array.isArray(value)) return value.filter((one) => one !== null).map(withoutNulls);
  if (typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null).map(([key, one]) => [key, withoutNulls(one)]));
}

/**
 * Decodes the trips and events of a batch of records.
 *
 * @returns {trips, events, refusal}: those that could be decoded, and the error of the last one that could not
 */
export function decodeDocuments(payload) {
  const message = new Fields(parse(payload));
  const batch = { stream: message.required("stream", stream), trips: [], events: [] };
  const read = (member, list, decode, part) => {
    for (const value of message.optional(member, array) ?? []) {
      try {
        if (value !== null && typeof value === "object") checkSize(sizeOf(value), MAXIMUM_DOCUMENT_BYTES, part);
        list.push({ ...decode(value), stream: batch.stream });
      } catch (error) {
        batch.refusal = error;
      }
    }
  };
  read("trips", batch.trips, tripFrom, "a trip");
  read("events", batch.events, eventFrom, "an event");
  return batch;
}

// Journeys and estimates

export const decodeJourney = (payload) => journeyFrom(limited(payload, MAXIMUM_DOCUMENT_BYTES, "a journey"));

/** Decodes a journey from parsed JSON. */
export function journeyFrom(json) {
  const message = new Fields(json);
  return defined({
    stops: message.required("stops", (value) => stops(value, journeyStop)),
    profile: message.optional("profile", choice(PROFILES)),
  });
}

function stops(value, read) {
  const ids = new Set();
  const list = array(value, "stops");
  if (list.length > MAXIMUM_STOPS) throw invalid(`stops must have at most ${MAXIMUM_STOPS} elements; found more`);
  if (list.length === 0) throw invalid("stops must have at least one element; found none");
  return list.map((one, index) => {
    const fields = new Fields(one, `stops[${index}]`);
    const stop = defined({ id: fields.required("id", stopID), ...read(fields) });
    if (ids.has(stop.id)) throw invalid(`stops[${index}].id must differ from the ids of the stops before it`);
    ids.add(stop.id);
    return stop;
  });
}

const stopID = textThat(TRIP_ID_RULE, isTripID);
const stopName = textThat(
  TRIP_ID_RULE.replace("64", String(MAXIMUM_STOP_NAME_BYTES)), (value) => hasBytes(value, MAXIMUM_STOP_NAME_BYTES) && isPlain(value));

const journeyStop = (fields) => ({
  name: fields.optional("name", stopName),
  location: fields.required("location", place),
  radius: fields.optional("radius", number(RULES.radius)) ?? DEFAULT_RADIUS,
  planned: fields.optional("planned", number(RULES.time)),
});

export const decodeEstimate = (payload) => estimateFrom(limited(payload, MAXIMUM_ESTIMATE_BYTES, "an estimate"));

/** Decodes an estimate of the arrivals from parsed JSON. */
export function estimateFrom(json) {
  const message = new Fields(json);
  return {
    time: message.required("time", number(RULES.time)),
    basis: message.required("basis", choice(BASES)),
    stops: message.required("stops", (value) => stops(value, estimateStop)),
    route: message.optional("route", polyline) ?? [],
  };
}

const estimateStop = (fields) => ({
  eta: fields.optional("eta", number(RULES.time)),
  earliest: fields.optional("earliest", number(RULES.time)),
  latest: fields.optional("latest", number(RULES.time)),
  distance: fields.optional("distance", number(RULES.notNegative)),
  status: fields.required("status", choice(STOP_STATUSES)),
});

function polyline(value, path) {
  const points = pointsOf(text(value, path), MAXIMUM_ROUTE_POINTS);
  if (points) return points.map(([latitude, longitude]) => ({ latitude, longitude }));
  throw mismatch(path, `an encoded polyline with six decimals and at most ${MAXIMUM_ROUTE_POINTS} points`, "another string");
}
