// The part of a subscriber's decisions that handles its connection: subscriptions and the broker's answers.

import { deliver, notPublished, send } from "./actions.js";
import { received } from "./receiving.js";

/** Handles an event of the connection: "connected", "disconnected", "received", "published" or "subscribed". */
export function happenedOnConnection(machine, event, moment) {
  switch (event.type) {
    case "connected": return connected(machine, event, moment);
    case "disconnected": return lost(machine, event);
    case "received": return received(machine, event.message, moment);
    case "published": return published(machine, event);
    case "subscribed": return subscribed(machine, event, moment);
    default: return [];
  }
}

function connected(machine, { connection, broker }, { now }) {
  const { member, retained } = machine;
  member.connected(connection, broker, now);
  machine.refusals.connected();
  machine.refusedTopics.clear();
  machine.arrivedJourneys.clear();
  const named = machine.configuration.watchesAll
    ? machine.filtersForAll : [...machine.assets.keys()].flatMap((id) => machine.filtersOf(id));
  retained.connected([...named, ...member.watchedLiveness, member.ownLiveness]);
  return [
    deliver({ type: "connection" }), ...send([member.subscribe([member.ownLiveness], { type: "ignored" })]),
    ...machine.subscribePackets(retained.nextPackets(now)),
  ];
}

/** Handles a lost connection, or an attempt to connect that failed. */
export function lost(machine, disconnection) {
  const unanswered = machine.member.disconnected(disconnection);
  machine.refusals.disconnected();
  machine.retained.disconnected();
  machine.silence.disconnected();
  for (const [id, asset] of machine.assets) {
    machine.staleDeadlines.remove(id);
    asset.disconnected();
  }
  return [
    ...unanswered.flatMap((purpose) => (purpose.type === "event" ? notPublished(purpose.number) : [])),
    deliver({ type: "connection", disconnection }),
    ...[...machine.assets.keys()].flatMap((id) => machine.stateMayHaveChanged(id, disconnection.reason)),
  ];
}

function subscribed(machine, { token, refusals }, moment) {
  const { member, retained, assets } = machine;
  const purpose = member.subscribed(token);
  switch (purpose?.type) {
    case "settle":
      retained.answered(moment.now);
      return settled(machine, purpose.filters, refusals, moment);
    case "part":
      retained.answered(moment.now);
      return answered(machine, purpose.filters, refusals, moment);
    case "watching": return watching(machine, purpose.trackable, refusals, moment);
    case "retry": {
      const actions = answered(machine, purpose.filters, refusals, moment);
      for (const id of machine.silence.ids) machine.expectMessage(id, moment);
      return [...actions, ...[...assets.keys()].flatMap((id) => machine.stateMayHaveChanged(id))];
    }
    case "preferring": return answered(machine, purpose.filters, refusals, moment);
    case "asking":
      retained.questionAnswered(moment.now);
      return [];
    default: return [];
  }
}

function watching(machine, id, refusals, moment) {
  const asset = machine.assets.get(id);
  if (!machine.member.session.isAnnounced || !asset) return [];
  asset.signs.last ??= moment.now;
  const actions = answered(machine, machine.filtersOf(id), refusals, moment);
  machine.expectMessage(id, moment);
  return [...actions, ...machine.announce(id, moment), ...machine.stateMayHaveChanged(id)];
}

/** Handles the answer to the last subscription of a connection: the subscriber announces itself. */
function settled(machine, filters, refusals, moment) {
  const settlement = machine.member.settled(moment.now);
  if (settlement.type === "notConnected") return [];
  if (settlement.type === "takenOver") return takenOver(machine, settlement.error);
  const actions = [...send(settlement.commands), ...answered(machine, filters, refusals, moment)];
  machine.retained.settled(moment.now);
  for (const [id, asset] of machine.assets) {
    asset.signs.restart(moment.now);
    actions.push(...machine.announce(id, moment), ...machine.stateMayHaveChanged(id));
    machine.expectSign(id);
    machine.expectMessage(id, moment);
  }
  return [...actions, ...send(machine.member.clearAgain())];
}

function takenOver(machine, error) {
  machine.failure = error;
  const states = [...machine.assets.keys()].flatMap((id) => machine.stateMayHaveChanged(id, error));
  return [...states, ...send([{ type: "close", within: 0 }])];
}

/** Handles the broker's answer to subscriptions: reports refusals once, and schedules another attempt. */
function answered(machine, filters, refusals, { now }) {
  const actions = [];
  const pairs = filters.map((filter, index) => [filter, refusals[index]]);
  for (const [filter, refusal] of pairs.filter(([one]) => one.isNeeded)) {
    const { trackable } = filter;
    if (trackable !== undefined && !machine.assets.has(trackable)) continue;
    if (refusal && !machine.refusalOf(trackable)) actions.push(deliver({ type: "refused", trackable, error: refusal }));
    machine.refusals.answered(filter, refusal);
  }
  machine.refusals.scheduleRetry(now);
  for (const [{ path, trackable, isEnhanced }, refusal] of pairs) {
    if (!isEnhanced || !refusal || machine.enhancedRefusals.has(path)) continue;
    machine.enhancedRefusals.add(path);
    actions.push(deliver({ type: "enhancedRefused", trackable, error: refusal }));
  }
  return actions;
}

function published(machine, { token, refusal }) {
  const { purpose, own } = machine.member.published(token) ?? {};
  if (purpose?.type === "event") return [{ type: "published", number: purpose.number, error: refusal }];
  const topic = own ?? purpose?.topic;
  if (!topic || !refusal) return [];
  const path = machine.member.textOf(topic);
  if (machine.refusedTopics.has(path)) return [];
  machine.refusedTopics.add(path);
  return [deliver({ type: "publishRefused", topic: path, error: refusal })];
}
