// Plays Tests/Scenarios/member.

import { TrackingError } from "../core/errors.js";
import { MemberStateMachine } from "../core/member.js";
import { decodeLiveness } from "../core/messages.js";
import { milliseconds, passTime, payloadOf, playScenarios, valueAfter } from "./player.mjs";
import { splitMix64 } from "./random.mjs";

playScenarios("member", () => {
  const machine = new MemberStateMachine({ client: "c1", session: "mine", topicRoot: "tracking", lease: 90 });
  const clock = { now: 0 };
  const random = splitMix64(1);
  const own = { kind: "publisher", trackable: "van", client: "c1" };
  let [subscriptions, publishes] = [[], []];

  const short = (path) => path.slice("tracking/".length);
  const commandText = (command) => {
    if (command.type === "subscribe") subscriptions.push(command.token);
    if (command.type !== "publish") return `${command.type} ${command.filters.map(short).join(" ")}`;
    publishes.push(command.token);
    if (command.payload.length === 0) return `${short(command.topic)}: cleared`;
    try {
      const { status, session, connection } = decodeLiveness(command.payload);
      return `${short(command.topic)}: ${status} ${session}/${connection}`;
    } catch {
      return short(command.topic);
    }
  };
  const memberText = ({ kind, client, presence }) => `${kind.toLowerCase()} ${client} ${presence.session}/${presence.connection}`;
  const texts = (events) => events.flatMap((event) => {
    switch (event.type) {
      case "send": return event.commands.map(commandText);
      case "announcementsDue": return [`announce ${event.trackables.join(" ")}`];
      case "badMessage": return [`bad message on ${event.topic}`];
      default: return [`${event.type} ${memberText(event.member)}`];
    }
  });
  const receive = (topic, payload, isRetained) => {
    try {
      const reception = machine.received({ topic: `tracking/${topic}`, payload, isRetained }, clock.now);
      switch (reception.type) {
        case "role": return [`role's topic ${machine.textOf(reception.topic)}`];
        case "presence": return texts(machine.note(reception, clock.now));
        case "ownLiveness":
          return [...reception.commands.map(commandText), ...machine.session.isLivenessConfirmed ? ["is confirmed"] : []];
        case "liveness": return texts(reception.events);
        default: return ["foreign"];
      }
    } catch (error) {
      if (!(error instanceof TrackingError)) throw error;
      return [...texts([machine.skipped(topic, error)]), `${machine.badMessages} bad`];
    }
  };
  const liveness = (status, run) => {
    if (status === "nothing") return payloadOf("");
    const [session, connection] = run.split("/");
    return payloadOf({ status, session, connection: Number(connection), lease: 90 });
  };
  const lose = (retry) => {
    [subscriptions, publishes] = [[], []];
    const unanswered = machine.disconnected({ retry });
    return [...unanswered.map((purpose) => `unanswered ${purpose}`), ...machine.isClosed ? ["is closed"] : []];
  };
  const granted = () => subscriptions.splice(0).flatMap((token) => {
    if (machine.subscribed(token) !== "settle") return [];
    const settlement = machine.settled(clock.now);
    switch (settlement.type) {
      case "announced": return [...settlement.commands.map(commandText), ...machine.clearAgain().map(commandText)];
      case "takenOver": return [`taken over: ${settlement.error.code}`];
      default: return ["not connected"];
    }
  });
  const acked = () => publishes.splice(0).map((token) => {
    const answer = machine.published(token);
    if (!answer) return "answer to nothing";
    return answer.own ? `answer on ${short(machine.textOf(answer.own))}` : `answer to ${answer.purpose}`;
  });
  const changes = {
    abandon: () => machine.abandonClearing(own),
    hide: () => { machine.publishesLiveness = false; },
    show: () => { machine.publishesLiveness = true; },
    announce: () => machine.announceSoon("van", clock.now, random),
    cancel: () => machine.cancelAnnouncement("van"),
    withdraw: () => machine.withdrawRequests((purpose) => purpose === "position"),
  };

  return (words) => {
    const [word, client, run] = words;
    const isRetained = words.includes("retained");
    if (changes[word]) {
      changes[word]();
      return [];
    }
    switch (word) {
      case "connect": {
        [subscriptions, publishes] = [[], []];
        machine.connected(Number(client), 0, clock.now);
        const filters = [{ path: "van/publisher/+" }, ...machine.watchedLiveness, machine.ownLiveness];
        return [commandText(machine.subscribe(filters, "settle"))];
      }
      case "lose": return lose(1000);
      case "close": return lose(undefined);
      case "granted": return granted();
      case "acked":
      case "refused": return acked();
      case "publish": return [commandText(machine.publish({ kind: "location", trackable: "van" }, payloadOf("{"), "position"))];
      case "clear": return machine.clear(own).map(commandText);
      case "goodbye": return [commandText(machine.publishGoodbye(words.includes("random")))];
      case "forget": return texts(machine.forget("van"));
      case "wait":
        return passTime(clock, clock.now + milliseconds(client), () => machine.nextDeadline, () => texts(machine.timerFired(clock.now)));
      case "owner": return [machine.presence.owner("van")?.client ?? "no owner"];
      case "garbage": return receive(client, payloadOf("no message"), false);
      case "own": return receive("_clients/c1", liveness(client, run), isRetained);
      case "online":
      case "offline": return receive(`_clients/${client}`, liveness(word, run), isRetained);
      case "publisher":
      case "subscriber": {
        const [session, connection] = run.split("/");
        const presence = {
          type: word.toUpperCase(), session, connection: Number(connection), lease: 90, since: Number(valueAfter("since", words) ?? 1),
        };
        return receive(`van/${word}/${client}`, words.includes("cleared") ? payloadOf("") : payloadOf(presence), isRetained);
      }
      default: throw new Error(`'${word}' is no input of a member`);
    }
  };
});
