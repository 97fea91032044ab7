// Plays Tests/Scenarios/presence.

import { PresenceStateMachine } from "../core/presence.js";
import { milliseconds, passTime, playScenarios, valueAfter } from "./player.mjs";

playScenarios("presence", () => {
  const machine = new PresenceStateMachine();
  const clock = { now: 0 };
  const textOf = ({ kind, client, trackable, presence }) =>
    `${kind.toLowerCase()} ${client} ${presence.session}/${presence.connection} on ${trackable}`;
  const texts = (changes) => changes.map(({ type, client, member }) => `${type} ${client ?? textOf(member)}`).sort();
  const runOf = (text) => ({ session: text.split("/")[0], connection: Number(text.split("/")[1]) });
  const fire = () => texts(machine.timerFired(clock.now));

  return (words) => {
    const [word, client] = words;
    const isRetained = words.includes("retained");
    const trackable = valueAfter("on", words) ?? "van";
    const lease = Number(valueAfter("lease", words) ?? 90);
    const remain = words.includes("remain") ? Number(valueAfter("remain", words)) : undefined;
    switch (word) {
      case "connect":
        machine.connected(clock.now);
        return [];
      case "disconnect":
        machine.disconnected();
        return [];
      case "wait": {
        const end = clock.now + milliseconds(words[1]);
        return [...passTime(clock, end, () => machine.nextDeadline, fire), ...fire()];
      }
      case "who": {
        const members = ["PUBLISHER", "SUBSCRIBER"].flatMap((kind) =>
          machine.members(kind, words[1]).map((member) => textOf(member).replace(/ on .*/, "")).sort());
        return members.length > 0 ? members : ["nobody"];
      }
      case "online":
      case "offline": {
        const liveness = words.includes("cleared") ? undefined : { status: word, lease, remain, ...runOf(words[2]) };
        return texts(machine.receivedLiveness(liveness, client, isRetained, clock.now));
      }
      case "publisher":
      case "subscriber": {
        const kind = word.toUpperCase();
        const since = Number(valueAfter("since", words) ?? 1);
        const presence = words.includes("cleared") ? undefined : { kind, lease, since, ...runOf(words[2]) };
        return texts(machine.receivedPresence(presence, kind, trackable, client, isRetained, clock.now));
      }
      default: throw new Error(`'${word}' is no input of a presence machine`);
    }
  };
});
