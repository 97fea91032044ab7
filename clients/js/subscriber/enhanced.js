// The choice between published and enhanced updates of one trackable, for a program that prefers positions on the road.

/** The shortest time in ms without an enhanced update after which published ones are delivered again. */
const SHORTEST_SILENCE = 2000;
/** The shortest and the longest time in ms for which a published update is withheld. */
const SHORTEST_WAIT = 1000;
const LONGEST_WAIT = 10_000;
/** The largest number of withheld updates, and of their points. */
const MAXIMUM_WITHHELD = 32;
const MAXIMUM_SKIPPED = 60;

/**
 * Decides which updates are delivered. While enhanced updates arrive, a published update is withheld until the enhanced update of
 * its fix arrives. So no position is older than the one before it, and none is later than 10 s.
 */
export class EnhancedPreference {
  constructor() {
    /** The time of the last enhanced update; undefined while published updates are delivered. */
    this.lastEnhanced = undefined;
    this.newest = undefined;
    this.delivered = undefined;
    this.deliveredIsEnhanced = false;
    /** The withheld updates {received, arrival}. */
    this.withheld = [];
    this.points = [];
  }

  /** The time at which `timerFired` delivers the newest withheld update; undefined while none is withheld. */
  deadline(interval = 0) {
    const [oldest] = this.withheld;
    if (this.lastEnhanced === undefined || !oldest) return undefined;
    const silence = Math.max(interval * 2, SHORTEST_SILENCE);
    const due = Math.max(this.lastEnhanced + silence, oldest.arrival + SHORTEST_WAIT);
    return Math.min(due, oldest.arrival + LONGEST_WAIT);
  }

  /** Handles an update of the publisher; returns the update to deliver now, or undefined. */
  published(received, now) {
    if (received.isLate) return received;
    const fix = received.update.location;
    if (received.update.kind === "PREDICTED") {
      // No enhanced update follows, and the position never becomes a skipped point.
      this.setDelivered(fix, false);
      return received;
    }
    this.newest = fix;
    if (this.lastEnhanced === undefined) {
      this.setDelivered(fix, false);
      return received;
    }
    if (this.delivered && this.deliveredIsEnhanced && isSameOrEarlier(fix, this.delivered)) {
      this.points = [...this.points, ...received.skipped].slice(-MAXIMUM_SKIPPED);
      return undefined;
    }
    this.withheld.push({ received, arrival: now });
    return this.withheld.length > MAXIMUM_WITHHELD ? this.deliverWithheld() : undefined;
  }

  /** Handles an enhanced update; returns the update to deliver now, or undefined if it would go back or its fix is unknown. */
  enhanced(original, isRetained, now) {
    const fix = original.location;
    if (!this.newest || orderOf(fix, this.newest) === "unrelated" || !this.delivered) return undefined;
    const order = orderOf(fix, this.delivered);
    if (order === "earlier" || (order === "same" && this.deliveredIsEnhanced)) return undefined;
    // A marker has already moved along the way to a delivered fix.
    const update = order === "same" ? { ...original, intermediate: [] } : { ...original };
    const extra = fix.extra ?? this.extraOf(fix);
    if (extra !== undefined) update.location = { ...fix, extra };
    this.lastEnhanced = now;
    this.setDelivered(fix, true);
    return { update, skipped: this.takePoints(fix), isLate: false, isRetained };
  }

  timerFired(interval, now) { return this.deadline(interval) <= now ? this.deliverWithheld() : undefined; }

  /** Returns the newest withheld update; published updates are delivered from now on. */
  deliverWithheld() {
    this.lastEnhanced = undefined;
    const last = this.withheld.at(-1)?.received;
    if (!last) return undefined;
    this.setDelivered(last.update.location, false);
    return { ...last, skipped: this.takePoints(last.update.location) };
  }

  setDelivered(fix, isEnhanced) {
    this.delivered = fix;
    this.deliveredIsEnhanced = isEnhanced;
  }

  /** Returns the extra members of a fix in the publisher's update. */
  extraOf(fix) {
    const known = [this.newest, ...this.withheld.map(({ received }) => received.update.location)];
    return known.find((one) => one && orderOf(fix, one) === "same")?.extra;
  }

  /** Takes the withheld updates up to a fix, and returns their points except this fix. */
  takePoints(fix) {
    const isTaken = ({ received }) => isSameOrEarlier(received.update.location, fix);
    const count = this.withheld.findLastIndex(isTaken) + 1;
    const { points } = this;
    for (const { received } of this.withheld.splice(0, count)) {
      points.push(...received.skipped);
      if (orderOf(received.update.location, fix) !== "same") points.push(received.update.location);
    }
    this.points = [];
    return points;
  }
}

/** Returns the order of a fix relative to another one of the trackable. Fixes of two streams are unrelated. */
function orderOf(a, b) {
  const isNumbered = [a, b].every(({ seq, stream }) => seq !== undefined && stream !== undefined);
  if (isNumbered && a.stream !== b.stream) return "unrelated";
  const [left, right] = isNumbered ? [a.seq, b.seq] : [a.time, b.time];
  return left < right ? "earlier" : left === right ? "same" : "later";
}

const isSameOrEarlier = (a, b) => ["same", "earlier"].includes(orderOf(a, b));
