// Deadlines. All machines measure time in milliseconds of a clock that never goes back.

/** Returns the earliest of some times; undefined if all are undefined. */
export function earliest(...times) {
  const known = times.filter((time) => time !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}

/** Deadlines by key. A key has at most one deadline. */
export class DeadlineQueue {
  constructor() {
    this.living = new Map();
    /** A heap of entries, the earliest first. It may contain entries that were replaced or removed. */
    this.heap = [];
    this.settings = 0;
  }

  /** The earliest deadline; undefined if no key has one. */
  get next() {
    while (this.heap.length > 0 && this.living.get(this.heap[0].key) !== this.heap[0]) this.pop();
    return this.heap[0]?.deadline;
  }

  deadlineOf(key) { return this.living.get(key)?.deadline; }

  /** Sets the deadline of a key, and replaces an earlier one. */
  set(key, deadline) {
    this.settings += 1;
    const entry = { key, deadline, order: this.settings };
    this.living.set(key, entry);
    if (this.heap.length > 2 * this.living.size + 16) this.heap = [...this.living.values()].sort(byTime);
    else this.push(entry);
  }

  /** Sets the deadline of a key, or removes it if `deadline` is undefined. */
  keep(key, deadline) {
    if (this.deadlineOf(key) === deadline) return;
    if (deadline === undefined) this.remove(key);
    else this.set(key, deadline);
  }

  remove(key) { this.living.delete(key); }

  clear() {
    this.living.clear();
    this.heap = [];
  }

  /** Removes and returns the keys whose deadlines have come, the earliest first. */
  popExpired(now) {
    const expired = [];
    while (this.next <= now) {
      const { key } = this.pop();
      this.living.delete(key);
      expired.push(key);
    }
    return expired;
  }

  push(entry) {
    const { heap } = this;
    let at = heap.push(entry) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (byTime(heap[parent], entry) <= 0) break;
      heap[at] = heap[parent];
      at = parent;
    }
    heap[at] = entry;
  }

  pop() {
    const { heap } = this;
    const first = heap[0];
    const last = heap.pop();
    if (heap.length === 0) return first;
    let at = 0;
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      if (child + 1 < heap.length && byTime(heap[child + 1], heap[child]) < 0) child += 1;
      if (byTime(last, heap[child]) <= 0) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

const byTime = (a, b) => a.deadline - b.deadline || a.order - b.order;
