// The events of a subscriber as asynchronous streams.

/** The largest number of events that wait for a slow reader. The oldest are then lost. */
const BUFFER = 65_536;

/** Delivers events to any number of readers. */
export class Broadcast {
  constructor() {
    this.readers = new Set();
    this.isEnded = false;
    /** The number of events that slow readers lost. */
    this.lost = 0;
  }

  yield(event) {
    for (const reader of this.readers) if (reader.take(event)) this.lost += 1;
  }

  /** Ends all streams, with an error if there is one. */
  end(error) {
    this.isEnded = true;
    for (const reader of [...this.readers]) reader.end(error);
  }

  /**
   * Returns a stream of the values that `select` returns for the events from now on; it leaves out undefined ones.
   *
   * @param onEnd is called when the stream ends, for example because the loop over it was left
   */
  listen(select = (event) => event, onEnd = () => {}) {
    const reader = new Reader(select, () => {
      this.readers.delete(reader);
      onEnd();
    });
    if (this.isEnded) reader.end();
    else this.readers.add(reader);
    return reader;
  }
}

class Reader {
  constructor(select, onEnd) {
    this.select = select;
    this.onEnd = onEnd;
    this.values = [];
    /** The calls of `next` that wait for a value. */
    this.waiting = [];
    this.isEnded = false;
  }

  [Symbol.asyncIterator]() { return this; }

  /** Adds an event; returns true if an older one was lost. */
  take(event) {
    const value = this.select(event);
    if (value === undefined) return false;
    const waiting = this.waiting.shift();
    if (waiting) {
      waiting.resolve({ value, done: false });
      return false;
    }
    this.values.push(value);
    if (this.values.length <= BUFFER) return false;
    this.values.shift();
    return true;
  }

  end(error) {
    if (this.isEnded) return;
    this.isEnded = true;
    this.error = error;
    for (const { resolve, reject } of this.waiting.splice(0)) {
      if (this.error) reject(this.takeError());
      else resolve({ value: undefined, done: true });
    }
    this.onEnd();
  }

  async next() {
    if (this.values.length > 0) return { value: this.values.shift(), done: false };
    if (this.error) throw this.takeError();
    if (this.isEnded) return { value: undefined, done: true };
    return new Promise((resolve, reject) => { this.waiting.push({ resolve, reject }); });
  }

  /** Returns the error once; afterwards, the stream has ended. */
  takeError() {
    const { error } = this;
    this.error = undefined;
    return error;
  }

  async return(value) {
    this.values = [];
    this.end();
    return { value, done: true };
  }
}

/** The streams that every subscriber offers. A subclass has `start`, `watch`, `unwatch` and `request`. */
export class SubscriberStreams {
  constructor() {
    this.deliveries = new Broadcast();
    /** The number of open streams of `locations`, by trackable. */
    this.watches = new Map();
  }

  /** The number of events that slow readers lost, over all streams. */
  get lostEvents() { return this.deliveries.lost; }

  /** Returns the events of all watched trackables, from now on. */
  events() {
    this.start();
    return this.deliveries.listen();
  }

  /**
   * Watches a trackable, and returns its positions from now on; late ones are marked. The end of the trackable's last stream
   * withdraws the request and stops watching.
   */
  locations(trackable, { requesting, preferring } = {}) {
    this.watch(trackable, { requesting, preferring });
    this.watches.set(trackable, (this.watches.get(trackable) ?? 0) + 1);
    return this.listen(trackable, "location", ({ update }) => update, () => {
      const left = this.watches.get(trackable) - 1;
      this.watches.set(trackable, left);
      if (left > 0) return;
      this.watches.delete(trackable);
      this.unwatch(trackable);
    });
  }

  /** Return the changes of one watched trackable, from now on. */
  rawLocations(trackable) { return this.listen(trackable, "raw", ({ update }) => update); }

  states(trackable) { return this.listen(trackable, "state", ({ state }) => state); }

  presence(trackable) { return this.listen(trackable, "presence", ({ presence }) => presence); }

  resolutions(trackable) { return this.listen(trackable, "resolution", ({ resolution }) => resolution); }

  trips(trackable) { return this.listen(trackable, "trip", ({ trip }) => trip); }

  trackingEvents(trackable) { return this.listen(trackable, "event", ({ event }) => event); }

  listen(trackable, type, value, onEnd) {
    return this.deliveries.listen((event) => (event.type === type && event.trackable === trackable ? value(event) : undefined), onEnd);
  }
}

/** A received update. `coordinate` is the update's own position. */
export const withCoordinate = (received) => ({ ...received, coordinate: received.update.location.coordinate });
