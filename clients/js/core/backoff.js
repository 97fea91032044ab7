// The growing waits between repeated attempts.

/** Each wait is twice the one before, up to a longest wait. Times are in ms. */
export class Backoff {
  /** @param jitter the share of each wait that is random, 0…1 */
  constructor(first, maximum, jitter = 0) {
    this.first = first;
    this.maximum = maximum;
    this.jitter = jitter;
    this.failures = 0;
  }

  /** Counts a failure, and returns the wait until the next attempt. */
  next(random = () => 1, longest = this.maximum) {
    this.failures += 1;
    const wait = Math.min(this.first * 2 ** Math.min(this.failures - 1, 40), longest);
    return wait * (1 - this.jitter + this.jitter * random());
  }

  reset() { this.failures = 0; }
}
