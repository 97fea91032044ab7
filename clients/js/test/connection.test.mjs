// Plays Tests/Scenarios/connection.

import { ConnectionStateMachine } from "../core/connection.js";
import { TrackingError } from "../core/errors.js";
import { milliseconds, playScenarios } from "./player.mjs";
import { splitMix64 } from "./random.mjs";

const REASON = "this client has no provider of credentials";
const SKIPPED = Object.fromEntries(
  ["cancelled", "other-refusal", "renewal-ends", "renewal", "rotated", "unavailable"]
    .map((name) => [`credentials-${name}.txt`, REASON]));

playScenarios("connection", () => {
  const configuration = {};
  const begun = () => new ConnectionStateMachine(configuration, splitMix64(1));
  let machine = begun();
  let now = 0;

  const disconnectedText = ({ reason, retry }) =>
    `disconnected ${reason?.code ?? "in order"}, ${retry === undefined ? "for good" : `again in ${Math.trunc(retry)} ms`}`;
  const text = ({ type, attempt, event }) => {
    switch (type) {
      case "connect":
        return `connect ${attempt.connection} to endpoint ${attempt.endpoint} with ${attempt.version}`
          + `${attempt.retainsWill ? "" : " without a retained will"}`;
      case "abandon": return "abandon";
      case "sendGoodbye": return "send DISCONNECT";
      case "finish": return "finish";
      default:
        if (event.type === "disconnected") return disconnectedText(event);
        return `connected ${event.connection}${event.sessionPresent ? " with its session" : ""}`;
    }
  };
  const refused = (word) => {
    const code = Number(word);
    return machine.attemptFailed("refused", new TrackingError([0x86, 0x87].includes(code) ? "badCredentials" : "refused", "no", code), now);
  };
  const lost = (code) => machine.connectionLost(new TrackingError(code, code), now);
  const none = () => [];
  const inputs = {
    endpoints: ([count]) => none(configuration.endpoints = Number(count)),
    pinned: ([version]) => none(configuration.pinnedVersion = version === "v5" ? "v5" : "v311"),
    start: () => {
      machine = begun();
      return machine.started(now);
    },
    accept: (words) => machine.accepted(words.includes("present"), now),
    unreachable: () => machine.attemptFailed("unreachable", new TrackingError("brokerUnreachable", "no route"), now),
    unanswered: () => machine.attemptFailed("closedUnanswered", new TrackingError("connectionLost", "closed"), now),
    refuse: ([code]) => refused(code),
    lose: () => lost("connectionLost"),
    taken: () => lost("takenOver"),
    awaits: () => none(machine.answersAwaited(now)),
    answers: () => none(machine.answersAwaited(undefined)),
    try: () => machine.tryRequested(now),
    close: ([seconds]) => machine.closeRequested(milliseconds(seconds), now),
    drained: () => machine.drained(now),
    sent: () => machine.goodbyeSent(now),
    cancel: () => machine.cancelled(now),
    wait: ([seconds]) => {
      now += milliseconds(seconds);
      return machine.timerFired(now);
    },
    timer: () => {
      now = Math.max(now, machine.nextDeadline);
      return machine.timerFired(now);
    },
  };
  return ([word, ...words]) => inputs[word](words).map(text);
}, SKIPPED);
