// A small generator of pseudorandom numbers, SplitMix64 (Steele, Lea and Flood, 2014).

const MASK = (1n << 64n) - 1n;

/** Returns a function that returns the same sequence of numbers, 0 ≤ r < 1, for the same seed. */
export function splitMix64(seed) {
  let state = BigInt(seed);
  return () => {
    state = (state + 0x9e3779b97f4a7c15n) & MASK;
    let z = state;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK;
    return Number((z ^ (z >> 31n)) >> 11n) / 2 ** 53;
  };
}
