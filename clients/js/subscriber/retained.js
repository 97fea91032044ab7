// The collection of the messages that the broker retains, after each new connection of a subscriber.

import { compareBytes } from "../core/text.js";
import { earliest } from "../core/time.js";
import { retainedFiltersOf } from "./filters.js";
import { RetainedGaps, ROUND_TIME } from "./gaps.js";
import { SLICE_SIZE, SubscriptionSlices } from "./slices.js";

/** The times in ms after which all retained positions have arrived: after the own liveness came back, and if it does not. */
const CONFIRMED = 2000;
const UNCONFIRMED = 30_000;

/** The positions that the broker retains: after each new connection, it is known which trackables have one. */
class RetainedSweep {
  constructor() {
    /** The trackables of which a position arrived; undefined while no positions are collected. */
    this.located = undefined;
    this.deadline = undefined;
    /** The trackables that had a position by the program's history. */
    this.expected = new Set();
    this.isCompared = false;
  }

  get count() { return this.located?.size ?? 0; }

  connected() {
    [this.located, this.deadline, this.isCompared] = [new Set(), undefined, false];
  }

  disconnected() { [this.located, this.deadline] = [undefined, undefined]; }

  expect(ids, limit) {
    for (const id of ids) if (this.expected.size < limit) this.expected.add(id);
  }

  /** Returns the trackables that should have a position but have none. */
  takeMissing(watched, hasPosition) {
    const { expected, located } = this;
    this.expected = new Set();
    if (!located) return [...expected].filter((id) => !hasPosition(id));
    const all = this.isCompared ? expected : new Set([...expected, ...watched]);
    this.isCompared = true;
    return [...all].filter((id) => !located.has(id));
  }

  note(id, isLocated, limit) {
    if (!this.located) return;
    if (!isLocated) this.located.delete(id);
    else if (this.located.size < limit) this.located.add(id);
  }

  /** Ends the collection no later than `time` from now. */
  endWithin(time, now) {
    if (this.located) this.deadline = Math.min(now + time, this.deadline ?? Infinity);
  }

  postpone(time, now) { this.deadline = now + time; }

  ended() {
    const { located } = this;
    this.disconnected();
    return located;
  }
}

/** Collects retained messages, and asks the broker again for those of single trackables that are missing. */
export class RetainedCollection {
  constructor({ watchesAll, maximumTrackables }) {
    this.watchesAll = watchesAll;
    this.limit = maximumTrackables * 2;
    this.slices = new SubscriptionSlices();
    this.sweep = new RetainedSweep();
    this.gaps = new RetainedGaps();
    this.arrivedInSlice = 0;
    /** True once a slice brought more retained messages than fit into a broker's queue. */
    this.isOverfull = false;
    this.areStatesMissed = false;
    this.isSettled = false;
  }

  get nextDeadline() {
    return earliest(this.sweep.deadline, this.slices.deadline, this.isSettled ? this.gaps.nextDeadline : undefined);
  }

  connected(filters) {
    [this.isSettled, this.isOverfull, this.areStatesMissed] = [false, false, false];
    this.sweep.connected();
    this.slices.begin(filters);
  }

  disconnected() {
    this.isSettled = false;
    this.sweep.disconnected();
    this.slices.disconnected();
    this.gaps.disconnected();
  }

  /** Begins the next slice, and returns its packets {filters, isLast}. */
  nextPackets(now) {
    this.arrivedInSlice = 0;
    const packets = this.slices.next(this.sweep.count, now);
    return packets.map((filters, index) => ({ filters, isLast: this.slices.isAllSent && index === packets.length - 1 }));
  }

  duePackets(now) { return this.slices.isQuiet(now) ? this.nextPackets(now) : []; }

  answered(now) { this.slices.answered(now); }

  /** Handles that the broker has answered the last subscription of the connection. */
  settled(now) {
    this.isSettled = true;
    this.sweep.endWithin(UNCONFIRMED, now);
    this.gaps.postpone(now);
  }

  /** Handles that the broker delivered the subscriber's own liveness. */
  confirmed(now) { this.sweep.endWithin(CONFIRMED, now); }

  retainedArrived(now) {
    this.slices.received(now);
    this.arrivedInSlice += 1;
    if (this.arrivedInSlice > SLICE_SIZE) this.isOverfull = true;
  }

  positionArrived(id, isCleared, now) {
    this.sweep.note(id, !isCleared, this.limit);
    if (isCleared) this.gaps.cleared(id, now);
  }

  /** Finds out which retained messages of a trackable are missing, after a message about it. */
  messageArrived(id, { isPosition, isLive }, assets, now) {
    const asset = assets.get(id);
    if (!this.watchesAll || !asset) return;
    if (isPosition) this.gaps.arrived(id, "position", now);
    else if (!asset.hasPosition && asset.owner) this.gaps.missing(id, "position", now);
    if (asset.hasState) this.gaps.arrived(id, "state", now);
    else if (asset.owner || (isPosition && isLive)) this.gaps.missing(id, "state", now);
    if (this.gaps.provesDrops) this.missStates(assets, now);
  }

  /** Marks every presence and resolution that did not arrive as missing, once on a connection. */
  missStates(assets, now) {
    if (this.areStatesMissed) return;
    this.areStatesMissed = true;
    const ids = [...assets].filter(([, asset]) => !asset.hasState).map(([id]) => id);
    for (const id of ids.sort(compareBytes)) this.gaps.missing(id, "state", now);
  }

  forget(id, filters) {
    this.slices.remove(filters);
    this.gaps.forget(id);
  }

  /** Stores trackables that had a position by the program's history. */
  expect(ids, assets, now) {
    if (!this.watchesAll) return;
    this.sweep.expect(ids, this.limit);
    if (this.isSettled && !this.sweep.located) this.compare(assets, now);
  }

  compare(assets, now) {
    if (!this.watchesAll) return;
    const missing = this.sweep.takeMissing(assets.keys(), (id) => assets.get(id)?.hasPosition === true);
    for (const id of missing.sort(compareBytes)) this.gaps.missing(id, "position", now);
    if (this.isOverfull) this.missStates(assets, now);
  }

  /** Begins the next round; returns the filters {asked, ended}, or undefined if no round is due. */
  askAgain(now) {
    const round = this.isSettled ? this.gaps.timerFired(now) : undefined;
    return round && { asked: round.asked.flatMap(retainedFiltersOf), ended: round.ended.flatMap(retainedFiltersOf) };
  }

  asked(packets, now) { this.gaps.sent(packets, now); }

  questionAnswered(now) { this.gaps.answered(now); }

  /** Ends the collection if its time is over; returns the trackables with a retained position, or undefined. */
  end(assets, isRefused, now) {
    if (!(this.sweep.deadline <= now)) return undefined;
    if (isRefused) {
      this.sweep.postpone(UNCONFIRMED, now);
      return undefined;
    }
    this.compare(assets, now);
    if (this.gaps.isAskingForPositions) {
      this.sweep.postpone(ROUND_TIME, now);
      return undefined;
    }
    return this.sweep.ended();
  }
}
