// Plays Tests/Scenarios/session.

import { SessionStateMachine } from "../core/session.js";
import { milliseconds, passTime, playScenarios } from "./player.mjs";

playScenarios("session", () => {
  const machine = new SessionStateMachine("c1", "mine", 90);
  const clock = { now: 0 };
  const birth = () => `online ${machine.birth.session}/${machine.birth.connection}`;
  const phase = () => ({
    offline: "is offline",
    reading: `reads: ${machine.standing === undefined ? "nobody" : machine.standing} is retained`,
    online: "is online",
    takenOver: `was taken over by ${machine.standing}`,
  }[machine.phase]);
  const happen = (words) => {
    switch (words[0]) {
      case "connect":
        machine.connected(Number(words[1]), Number(words[3] ?? 0));
        return [];
      case "disconnect":
        machine.disconnected();
        return [];
      case "suback": return [machine.settled(clock.now) ? `publish ${birth()}` : "close without a word"];
      case "hear": {
        const [session, connection] = words[1].split("/");
        const liveness = words[1] === "nothing" ? undefined : { status: words[2], session, connection: Number(connection), lease: 90 };
        return machine.receivedOwn(liveness) ? [`publish ${birth()}`] : [];
      }
      case "wait":
        return passTime(clock, clock.now + milliseconds(words[1]), () => machine.nextDeadline, () =>
          (machine.timerFired(clock.now) ? [`publish ${birth()} at ${clock.now / 1000} s`] : []));
      default: throw new Error(`'${words[0]}' is no input of a session machine`);
    }
  };
  return (words) => {
    const [before, wasConfirmed] = [phase(), machine.isLivenessConfirmed];
    const answers = happen(words);
    if (phase() !== before) answers.push(phase());
    if (machine.isLivenessConfirmed !== wasConfirmed) answers.push(machine.isLivenessConfirmed ? "confirmed" : "not confirmed");
    return answers;
  };
});
