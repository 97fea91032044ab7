// The retained messages that did not arrive, and for which a subscriber of all trackables asks the broker again.

import { compareBytes } from "../core/text.js";
import { earliest } from "../core/time.js";

/** The largest number of trackables in one round. */
const ROUND_SIZE = 200;
/** The largest number of trackables with missing messages that are remembered. */
const LIMIT = 100_000;
/** The times in ms: from a missing message to the first round; of a round; of the wait for the broker's answers. */
const PATIENCE = 250;
export const ROUND_TIME = 500;
const ANSWER_TIME = 10_000;
/** The waits in ms after the first and after the second round in vain. */
const WAITS = [5000, 60_000];

/** Decides for which trackables the client asks again. The kinds of messages are "position" and "state". */
export class RetainedGaps {
  constructor() { this.disconnected(); }

  /** Forgets all missing messages, because the connection was lost. */
  disconnected() {
    /** The missing messages by trackable: {kinds: Set, tries}. */
    this.gaps = new Map();
    this.fresh = [];
    this.freshAt = undefined;
    /** The trackables of later rounds: {ids, due}. */
    this.later = [];
    /** The present round: {asked, left: Set, end, unanswered}. */
    this.running = undefined;
    /** True once a message arrived because the client asked for it: the broker dropped messages. */
    this.provesDrops = false;
  }

  /** True while the client asks for a position, or will ask for one in the next round. */
  get isAskingForPositions() {
    return [...this.running?.left ?? [], ...this.fresh].some((id) => this.gaps.get(id)?.kinds.has("position"));
  }

  get nextDeadline() {
    if (this.running) return this.running.end;
    return earliest(this.fresh.length > 0 ? this.freshAt : undefined, ...this.later.map(({ due }) => due));
  }

  missing(id, kind, now) {
    if (this.gaps.has(id)) {
      this.gaps.get(id).kinds.add(kind);
      return;
    }
    if (this.gaps.size >= LIMIT) return;
    this.gaps.set(id, { kinds: new Set([kind]), tries: 0 });
    if (this.fresh.length === 0) this.freshAt = now + PATIENCE;
    this.fresh.push(id);
  }

  arrived(id, kind, now) {
    if (this.isNoLongerMissing(id, kind, now)) this.provesDrops = true;
  }

  /** Handles that a retained position was cleared. It proves no drop. */
  cleared(id, now) { this.isNoLongerMissing(id, "position", now); }

  /** Returns true if the message was missing and the present round had asked for it. */
  isNoLongerMissing(id, kind, now) {
    const gap = this.gaps.get(id);
    if (!gap?.kinds.delete(kind)) return false;
    const isComplete = gap.kinds.size === 0;
    if (isComplete) this.gaps.delete(id);
    const isAsked = this.running?.left.has(id) ?? false;
    if (!isAsked) return false;
    if (isComplete) this.running.left.delete(id);
    if (this.running.left.size === 0) this.running.end = now;
    else if (this.running.unanswered === 0) this.running.end = now + ROUND_TIME;
    return true;
  }

  /** Handles that the present round was sent in this number of packets. */
  sent(packets, now) {
    if (packets === 0 || !this.running) return;
    this.running.unanswered = packets;
    this.running.end = now + ANSWER_TIME;
  }

  answered(now) {
    if (!this.running?.unanswered) return;
    this.running.unanswered -= 1;
    if (this.running.unanswered === 0) this.running.end = now + ROUND_TIME;
  }

  forget(id) { this.gaps.delete(id); }

  postpone(now) {
    if (this.fresh.length > 0) this.freshAt = now + PATIENCE;
  }

  /** Ends the present round and begins the next; returns {asked, ended}, or undefined if there is nothing to do. */
  timerFired(now) {
    if (!(this.nextDeadline <= now)) return undefined;
    const ended = this.endRound(now);
    for (const { ids, due } of this.later) if (due <= now) this.fresh.push(...ids);
    this.later = this.later.filter(({ due }) => due > now);
    const asked = this.takeFresh();
    if (asked.length > 0) this.running = { asked, left: new Set(asked), end: now + ROUND_TIME, unanswered: 0 };
    this.freshAt = now;
    return ended.length === 0 && asked.length === 0 ? undefined : { asked, ended };
  }

  endRound(now) {
    if (!this.running) return [];
    const { asked, left } = this.running;
    this.running = undefined;
    for (const [index, wait] of WAITS.entries()) {
      const ids = [...left].filter((id) => this.gaps.get(id)?.tries === index + 1).sort(compareBytes);
      if (ids.length > 0) this.later.push({ ids, due: now + wait });
    }
    return asked;
  }

  takeFresh() {
    const asked = [];
    let taken = 0;
    while (taken < this.fresh.length && asked.length < ROUND_SIZE) {
      const id = this.fresh[taken];
      taken += 1;
      const gap = this.gaps.get(id);
      if (!gap) continue;
      gap.tries += 1;
      asked.push(id);
    }
    this.fresh.splice(0, taken);
    return asked;
  }
}
