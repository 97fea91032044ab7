// The subscriptions of a new connection, in slices whose retained messages fit into the broker's queue for this client.

/** The largest number of retained messages that one slice may cause. */
export const SLICE_SIZE = 800;
/** The largest number of filters in one SUBSCRIBE packet. */
const FILTERS_IN_PACKET = 200;
/** The shortest and the longest pause in ms without a retained message after which a slice ends. */
export const SHORTEST_PAUSE = 100;
const LONGEST_PAUSE = 500;
/** The longest wait in ms for the retained messages of a slice. */
const PATIENCE = 5000;

/** Divides filters among SUBSCRIBE packets. */
export function packetsOf(filters) {
  const packets = [];
  for (let at = 0; at < filters.length; at += FILTERS_IN_PACKET) packets.push(filters.slice(at, at + FILTERS_IN_PACKET));
  return packets;
}

export class SubscriptionSlices {
  constructor() { this.disconnected(); }

  /** True if all filters of this connection were sent. */
  get isAllSent() { return this.waiting.length === 0; }

  /** The time at which `isQuiet` must be called; undefined while no retained messages are awaited. */
  get deadline() { return this.receiving && Math.min(this.receiving.quietAt, this.receiving.end); }

  begin(filters) {
    this.disconnected();
    this.waiting = [...filters];
  }

  disconnected() {
    /** {at, unanswered} of the slice that the broker has not answered. */
    this.sent = undefined;
    /** {pause, quietAt, end} of the slice whose retained messages arrive. */
    this.receiving = undefined;
    this.waiting = [];
  }

  /** Removes filters that are no longer wanted. */
  remove(filters) {
    const paths = new Set(filters.map(({ path }) => path));
    this.waiting = this.waiting.filter(({ path }) => !paths.has(path));
  }

  /** Begins the next slice, and returns its packets. */
  next(trackables, now) {
    let count = 0;
    const end = this.waiting.findIndex((filter) => {
      const before = count;
      count += filter.retained(trackables);
      return before > 0 && count > SLICE_SIZE;
    });
    const packets = packetsOf(this.waiting.splice(0, end < 0 ? this.waiting.length : end));
    this.receiving = undefined;
    this.sent = packets.length > 0 ? { at: now, unanswered: packets.length } : undefined;
    return packets;
  }

  /** Handles that the broker answered a packet of the present slice. */
  answered(now) {
    if (!this.sent) return;
    this.sent.unanswered -= 1;
    if (this.sent.unanswered > 0) return;
    const pause = Math.min(Math.max((now - this.sent.at) * 4, SHORTEST_PAUSE), LONGEST_PAUSE);
    this.sent = undefined;
    this.receiving = { pause, quietAt: now + pause, end: now + PATIENCE };
  }

  /** Handles a retained message: the pause begins again. */
  received(now) {
    if (this.receiving) this.receiving.quietAt = now + this.receiving.pause;
  }

  /** Ends the slice if its pause is over; returns true if this call ended it. */
  isQuiet(now) {
    if (!(this.deadline <= now)) return false;
    this.receiving = undefined;
    return true;
  }
}
