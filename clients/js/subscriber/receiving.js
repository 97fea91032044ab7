// The messages that a subscriber receives: positions, presences of publishers, resolutions, trips and events.

import { TrackingError } from "../core/errors.js";
import { decodeUpdate } from "../core/location.js";
import { decodeDocuments, decodeEstimate, decodeEvent, decodeJourney, decodeResolution, decodeTrip } from "../core/messages.js";
import { pathOf, topicOf } from "../core/topics.js";
import { deliver, send } from "./actions.js";
import { isEqual } from "./asset.js";
import { isSame } from "./attendance.js";

/** The largest age in seconds of a trip or event of a batch that is delivered. */
const RECORDED_FOR = 7 * 86_400;

export function received(machine, message, moment) {
  const { member, retained } = machine;
  if (message.isRetained) retained.retainedArrived(moment.now);
  try {
    const reception = member.received(message, moment.now);
    switch (reception.type) {
      case "role":
        machine.silence.messageArrived(reception.topic);
        return receivedOn(machine, reception.topic, message, moment);
      case "presence": return receivedPresence(machine, reception, moment);
      case "liveness":
        if (reception.isLive) noteSign(machine, reception.client, moment);
        return handleMembers(machine, reception.events, moment);
      case "ownLiveness":
        if (member.session.isLivenessConfirmed) retained.confirmed(moment.now);
        return send(reception.commands);
      default: return [];
    }
  } catch (error) {
    if (!(error instanceof TrackingError)) throw error;
    const topic = topicOf(member.root, message.topic);
    if (topic) machine.silence.messageArrived(topic);
    return handleMembers(machine, [member.skipped(message.topic, error)], moment);
  }
}

function receivedOn(machine, topic, message, moment) {
  const { trackable: id } = topic;
  const { configuration, retained, assets } = machine;
  const payload = message.payload.length === 0 ? undefined : message.payload;
  const { now } = moment;
  switch (topic.kind) {
    case "location": {
      retained.positionArrived(id, !payload, now);
      if (!payload) return positionCleared(machine, id);
      const update = decodeUpdate(payload);
      const actions = [...appeared(machine, id, moment), ...moved(machine, id, update, message.isRetained, moment)];
      retained.messageArrived(id, { isPosition: true, isLive: !message.isRetained }, assets, now);
      return actions;
    }
    case "raw": {
      const update = payload && configuration.wantsRaw ? assets.get(id)?.movedRaw(decodeUpdate(payload), message.isRetained) : undefined;
      return update ? [deliver({ type: "raw", trackable: id, update })] : [];
    }
    case "resolution": {
      const actions = resolved(machine, id, payload && decodeResolution(payload));
      retained.messageArrived(id, { isPosition: false, isLive: false }, assets, now);
      return actions;
    }
    case "trip": return travelled(machine, id, payload && decodeTrip(payload), moment);
    case "event": return payload ? happenedTo(machine, id, decodeEvent(payload), moment) : [];
    case "history":
      return payload && configuration.wantsRecorded ? recorded(machine, id, decodeDocuments(payload), message.topic, moment) : [];
    case "enhanced": {
      const asset = assets.get(id);
      if (!payload || asset?.prefers !== "enhanced") return [];
      return machine.deliverPreferred(asset.enhanced(decodeUpdate(payload), message.isRetained, now), asset);
    }
    case "journey": {
      const journey = payload && decodeJourney(payload);
      return [...journey ? appeared(machine, id, moment) : [], ...planned(machine, topic, journey)];
    }
    case "estimate": return planned(machine, topic, payload && decodeEstimate(payload));
    default: return [];
  }
}

/** Handles the presence of a publisher. The presence of a subscriber, and one under the own client id, are ignored. */
function receivedPresence(machine, reception, moment) {
  const { trackable: id, client, kind, presence, isRetained } = reception;
  machine.silence.messageArrived({ trackable: id });
  if (kind !== "PUBLISHER" || client === machine.member.client) return [];
  const actions = presence ? appeared(machine, id, moment) : [];
  const asset = machine.assets.get(id);
  if (!asset) return actions;
  if (presence && !isRetained) asset.signs.lastSeen = moment.wall;
  return [...actions, ...handleMembers(machine, machine.member.note(reception, moment.now), moment)];
}

/** Stores the present time as that of the last message of each trackable whose owner is this client. */
function noteSign(machine, client, { wall }) {
  for (const id of machine.member.presence.trackables(client)) {
    const asset = machine.assets.get(id);
    if (asset?.owner?.client === client) asset.signs.lastSeen = wall;
  }
}

// All trackables

/** Begins to watch a trackable with its first message, if the subscriber watches all trackables. */
function appeared(machine, id, moment) {
  const { assets, configuration: { watchesAll, maximumTrackables, requestForAll } } = machine;
  if (!watchesAll || assets.has(id)) return [];
  const actions = assets.size < maximumTrackables ? [] : makeRoom(machine, id, moment);
  if (assets.size >= maximumTrackables) return actions;
  actions.push(...machine.watch(id, requestForAll, undefined, moment));
  assets.get(id).signs.appeared = moment.wall;
  return actions;
}

/** Stops watching the trackables that have been without a publisher for a day. */
function makeRoom(machine, id, moment) {
  const { requestForAll } = machine.configuration;
  const absent = machine.room.search(machine.assets, moment, (one) => isSame(machine.attendance.requestFor(one), requestForAll));
  if (!absent) return [];
  if (absent.length > 0) return absent.flatMap((one) => machine.unwatch(one, moment));
  const error = new TrackingError(
    "overloaded",
    `cannot watch '${id}' and other trackables: ${machine.assets.size} trackables are watched, which is the limit. `
      + "The subscriber watches another one when one of these has had no publisher for a day");
  return [deliver({ type: "badMessage", topic: machine.member.textOf({ kind: "location", trackable: id }), error })];
}

// Positions

function moved(machine, id, update, isRetained, moment) {
  const asset = machine.assets.get(id);
  if (!asset?.isOfOwner(update.location.stream)) {
    asset?.setAside(update, isRetained);
    return [];
  }
  if (isRetained) asset.signs.appeared = update.location.time;
  else asset.signs.updateArrived(moment);
  const received = asset.moved(update, isRetained);
  const actions = machine.stateMayHaveChanged(id);
  machine.expectSign(id);
  return received ? [...actions, ...machine.deliverPublished(received, asset, moment)] : actions;
}

function positionCleared(machine, id) {
  const isDelivered = machine.assets.get(id)?.positionCleared() ?? machine.configuration.watchesAll;
  return isDelivered ? [deliver({ type: "locationCleared", trackable: id })] : [];
}

function resolved(machine, id, resolution) {
  const asset = machine.assets.get(id);
  if (!asset || isEqual(asset.resolution, resolution)) return [];
  asset.resolution = resolution;
  machine.expectSign(id);
  return asset.resolutionEvents().map(deliver);
}

// Journeys, trips and events

/** Handles a journey or an estimate; undefined if it was cleared. */
function planned(machine, topic, message) {
  if (!machine.configuration.wantsJourneys || !machine.assets.has(topic.trackable)) return [];
  const path = pathOf(topic);
  if (message) {
    machine.journeys.set(path, topic);
    machine.arrivedJourneys.add(path);
  } else {
    machine.journeys.delete(path);
  }
  return [deliver({ type: topic.kind, trackable: topic.trackable, ...message && { [topic.kind]: message } })];
}

function travelled(machine, id, trip, moment) {
  const actions = trip ? appeared(machine, id, moment) : [];
  return machine.assets.get(id)?.isNewTrip(trip) ? [...actions, deliver({ type: "trip", trackable: id, trip })] : actions;
}

function happenedTo(machine, id, event, moment) {
  const actions = appeared(machine, id, moment);
  return machine.assets.get(id)?.records.isNews(event) ? [...actions, deliver({ type: "event", trackable: id, event })] : actions;
}

/** Delivers the events and ended trips of a batch that are at most seven days old and were not delivered before. */
function recorded(machine, id, batch, topic, moment) {
  const oldest = moment.wall - RECORDED_FOR;
  const trips = batch.trips.filter(({ end }) => end >= oldest);
  const events = batch.events.filter(({ time }) => time >= oldest);
  const actions = trips.length + events.length > 0 ? appeared(machine, id, moment) : [];
  const records = machine.assets.get(id)?.records;
  for (const trip of trips) {
    if (trip.state === "ENDED" && records?.isNews(trip)) actions.push(deliver({ type: "tripRecorded", trackable: id, trip }));
  }
  for (const event of events) if (records?.isNews(event)) actions.push(deliver({ type: "event", trackable: id, event }));
  return batch.refusal ? [...actions, ...handleMembers(machine, [machine.member.skipped(topic, batch.refusal)], moment)] : actions;
}

// Members

/** Handles the events of the member's state machine. */
export function handleMembers(machine, events, moment) {
  return events.flatMap((event) => {
    switch (event.type) {
      case "send": return send(event.commands);
      case "badMessage": return [deliver(event)];
      case "arrived":
      case "changed":
        // A member that changed has connected again, perhaps to a broker without the retained messages.
        if (!machine.configuration.isSilent) machine.member.announceSoon(event.member.trackable, moment.now, machine.random);
        return publishersChanged(machine, event.member.trackable, moment);
      case "left": return publishersChanged(machine, event.member.trackable, moment);
      case "announcementsDue":
        return [...send(machine.member.publishLiveness()), ...event.trackables.flatMap((id) => machine.announce(id, moment))];
      default: return [];
    }
  });
}

function publishersChanged(machine, id, moment) {
  const asset = machine.assets.get(id);
  if (!asset) return [];
  const hadOwner = asset.owner !== undefined;
  asset.owner = machine.member.presence.owner(id);
  if (!hadOwner) asset.signs.restart(moment.now);
  machine.expectSign(id);
  machine.retained.messageArrived(id, { isPosition: false, isLive: false }, machine.assets, moment.now);
  const actions = [...machine.stateMayHaveChanged(id), ...asset.resolutionEvents().map(deliver)];
  const update = asset.updateOfNewOwner;
  return update ? [...actions, ...moved(machine, id, update, true, moment)] : actions;
}
