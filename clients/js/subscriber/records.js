// The events and ended trips of one trackable that were delivered. Each is delivered once.

import { SeqRanges } from "../core/order.js";

/** The largest number of ranges of record numbers that are remembered for one trackable. */
const MAXIMUM_RANGES = 512;

export class DeliveredRecords {
  constructor() {
    /** The delivered numbers by stream. The stream of the last new record is at the end. */
    this.streams = new Map();
  }

  /** Remembers a record as delivered; returns false if it was delivered before. */
  isNews({ stream, seq }) {
    const seqs = this.streams.get(stream) ?? new SeqRanges();
    if (!seqs.insert(seq)) return false;
    this.streams.delete(stream);
    this.streams.set(stream, seqs);
    const count = [...this.streams.values()].reduce((sum, { ranges }) => sum + ranges.length, 0);
    if (count > MAXIMUM_RANGES) this.forget();
    return true;
  }

  /** Forgets the lowest numbers of the stream that was unused longest. */
  forget() {
    const [[stream, { ranges }]] = this.streams;
    ranges.shift();
    if (ranges.length === 0) this.streams.delete(stream);
  }
}
