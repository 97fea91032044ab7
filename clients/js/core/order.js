// The order of the updates of one trackable.

/** The largest number of streams that are remembered for a trackable. */
const MAXIMUM_STREAMS = 8;
/** The largest number of ranges in which the received numbers of a stream are remembered. */
const MAXIMUM_RANGES = 64;

/** A set of record numbers as ranges [first, last], which are ascending and do not touch. */
export class SeqRanges {
  constructor() { this.ranges = []; }

  contains(seq) {
    const place = this.place(seq);
    return place > 0 && seq <= this.ranges[place - 1][1];
  }

  /** Adds a number; returns false if the set contained it. */
  insert(seq) {
    const place = this.place(seq);
    if (place > 0 && seq <= this.ranges[place - 1][1]) return false;
    const [before, after] = [this.ranges[place - 1], this.ranges[place]];
    const joinsBefore = before !== undefined && before[1] + 1 === seq;
    const joinsAfter = after !== undefined && after[0] === seq + 1;
    const joined = [joinsBefore ? before[0] : seq, joinsAfter ? after[1] : seq];
    this.ranges.splice(joinsBefore ? place - 1 : place, Number(joinsBefore) + Number(joinsAfter), joined);
    return true;
  }

  /** Joins the two lowest ranges if there are more than `most`. The numbers between them then count as received. */
  joinLowest(most) {
    if (this.ranges.length > most) this.ranges.splice(0, 2, [this.ranges[0][0], this.ranges[1][1]]);
  }

  /** Returns the number of ranges that begin at or below a number. */
  place(seq) {
    let [low, high] = [0, this.ranges.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.ranges[middle][0] <= seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/**
 * Decides for each update if its position is newer than the current one.
 *
 * Within a stream, the higher number is newer. The first update of a new stream becomes current. A point of an earlier stream is
 * current if its time is later, or if the stream belongs to the owner. A point without a number is compared by its time.
 */
export class UpdateOrder {
  constructor() {
    /** The remembered streams {id, seen, newest}, the one of the last update at the end. */
    this.streams = [];
    this.currentStream = undefined;
    this.currentTime = undefined;
    this.seenUntil = undefined;
  }

  /** Returns "current", "late" or "duplicate". Call `newSkipped` with the same update afterwards. */
  consider({ location }, isOwners = false) {
    const { time, seq, stream } = location;
    const isNumbered = seq !== undefined && stream !== undefined;
    const verdict = isNumbered ? this.considerNumber(seq, stream, time, isOwners) : this.considerTime(time);
    if (verdict !== "current") return verdict;
    if (isNumbered) this.currentStream = stream;
    if (this.currentTime !== undefined) this.seenUntil = Math.max(this.seenUntil ?? -Infinity, this.currentTime);
    this.currentTime = time;
    return verdict;
  }

  /** Returns the skipped points of an update that were not received before. */
  newSkipped({ location, skipped }) {
    const { stream } = location;
    const points = skipped.map((point) => (point.stream === undefined && stream !== undefined ? { ...point, stream } : point));
    return points.filter((point) => this.isNew(point));
  }

  considerNumber(seq, id, time, isOwners) {
    const stream = this.stream(id);
    if (!insert(stream, seq)) return "duplicate";
    const { newest } = stream;
    if (seq < newest) return "late";
    stream.newest = seq;
    if (newest === undefined || isOwners || id === this.currentStream || this.currentTime === undefined) return "current";
    return time > this.currentTime ? "current" : "late";
  }

  considerTime(time) {
    if (this.currentTime === undefined || time > this.currentTime) return "current";
    return time < this.currentTime ? "late" : "duplicate";
  }

  isNew({ seq, stream, time }) {
    if (seq !== undefined && stream !== undefined) return insert(this.stream(stream), seq);
    if (time <= this.seenUntil) return false;
    this.seenUntil = time;
    return true;
  }

  /** Returns a stream, which becomes the last of the remembered ones. */
  stream(id) {
    const index = this.streams.findIndex((stream) => stream.id === id);
    const stream = index < 0 ? { id, seen: new SeqRanges(), newest: undefined } : this.streams.splice(index, 1)[0];
    if (this.streams.length === MAXIMUM_STREAMS) this.streams.shift();
    this.streams.push(stream);
    return stream;
  }
}

function insert({ seen }, seq) {
  const isNew = seen.insert(seq);
  seen.joinLowest(MAXIMUM_RANGES);
  return isNew;
}
