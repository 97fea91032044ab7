// Subscriptions that the broker rejects, trackables without any message, and room for new trackables.

import { Backoff } from "../core/backoff.js";
import { DeadlineQueue } from "../core/time.js";

/** The first and the longest wait in ms before the next attempt to subscribe. */
const FIRST_WAIT = 1000;
const LONGEST_WAIT = 900_000;

/** The filters to which the broker rejects the subscription, and the time of the next attempt. */
export class FilterRefusals {
  constructor() {
    this.reasons = new Map();
    this.filters = new Map();
    this.backoff = new Backoff(FIRST_WAIT, LONGEST_WAIT);
    this.retryAt = undefined;
  }

  get isEmpty() { return this.reasons.size === 0; }

  reasonFor({ path }) { return this.reasons.get(path); }

  answered(filter, refusal) {
    if (!refusal) {
      this.remove(filter);
      return;
    }
    this.reasons.set(filter.path, refusal);
    this.filters.set(filter.path, filter);
  }

  scheduleRetry(now) {
    if (this.isEmpty) {
      this.backoff.reset();
      this.retryAt = undefined;
    } else {
      this.retryAt ??= now + this.backoff.next();
    }
  }

  /** Returns the rejected filters if the time of the next attempt has come. */
  retryDue(now) {
    if (!(this.retryAt <= now)) return [];
    this.retryAt = undefined;
    return [...this.filters.values()];
  }

  remove({ path }) {
    this.reasons.delete(path);
    this.filters.delete(path);
  }

  disconnected() { this.retryAt = undefined; }

  /** Forgets all refusals on a new connection. The wait goes on growing. */
  connected() {
    this.reasons.clear();
    this.filters.clear();
    this.retryAt = undefined;
  }
}

/** The time in ms after which a trackable without any message is reported. */
const SILENT_AFTER = 10_000;

/** The trackables that are watched by id and of which no message has arrived. Each is reported once. */
export class SilentTrackables {
  constructor() {
    this.ids = new Set();
    this.deadlines = new DeadlineQueue();
  }

  get nextDeadline() { return this.deadlines.next; }

  watch(id) { this.ids.add(id); }

  /** Handles that the broker granted the subscriptions of a trackable. */
  granted(id, now) {
    if (this.ids.has(id) && this.deadlines.deadlineOf(id) === undefined) this.deadlines.set(id, now + SILENT_AFTER);
  }

  messageArrived(topic) { this.ids.delete(topic.trackable); }

  forget(id) {
    this.ids.delete(id);
    this.deadlines.remove(id);
  }

  disconnected() { this.deadlines.clear(); }

  takeDue(now) { return this.deadlines.popExpired(now).filter((id) => this.ids.delete(id)); }
}

/** The time in seconds without a publisher after which a trackable makes room for another one. */
const LONG_ABSENCE = 86_400;
/** The shortest time in ms between two searches for such trackables. */
const SEARCH_INTERVAL = 60_000;

/** Room for new trackables when the limit of watched trackables is reached. */
export class WatchRoom {
  /** Returns the trackables that need no longer be watched; undefined if the last search was less than a minute ago. */
  search(assets, { now, wall }, isOptional) {
    if (now < this.nextSearch) return undefined;
    this.nextSearch = now + SEARCH_INTERVAL;
    const isAbsent = ({ id, owner, signs }) =>
      !owner && isOptional(id) && (signs.lastKnown === undefined || signs.lastKnown < wall - LONG_ABSENCE);
    return [...assets.values()].filter(isAbsent).map(({ id }) => id);
  }
}
