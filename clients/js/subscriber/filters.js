// The topic filters of a subscriber, in the order in which it subscribes to them.

import { levelOf } from "../core/topics.js";
import { SLICE_SIZE } from "./slices.js";

/**
 * Makes a filter {path, trackable, isNeeded, isEnhanced, retained}.
 *
 * `isNeeded` is true for positions, the resolution in force and the presence of publishers. `retained` returns the number of
 * retained messages that the filter may cause, given the number of trackables.
 */
const filter = (path, { trackable, isNeeded = false, isEnhanced = false, retained = () => 1 } = {}) =>
  ({ path, trackable, isNeeded, isEnhanced, retained });

const ofTrackable = (trackable, rest, isNeeded = false) =>
  filter(levelOf(trackable) + rest, { trackable, isNeeded, isEnhanced: rest === "/enhanced" });

export const enhancedOf = (trackable) => ofTrackable(trackable, "/enhanced");

/** Returns the filters of a trackable that is watched by its id. */
export function filtersOf(trackable, kind, { wantsRaw, wantsRecorded, wantsJourneys }) {
  const rests = [
    ...kind === "enhanced" ? ["/enhanced"] : [], ...wantsRaw ? ["/raw"] : [], "/trip", "/event", ...wantsRecorded ? ["/history"] : [],
    ...wantsJourneys ? ["/journey", "/estimate"] : [],
  ];
  const needed = ["/publisher/+", "/resolution", ""].map((rest) => ofTrackable(trackable, rest, true));
  return [...needed, ...rests.map((rest) => ofTrackable(trackable, rest))];
}

const none = () => 0;
const one = (trackables) => Math.max(1, trackables);

/** Returns the filters of a subscriber of all trackables. */
export function filtersForAll({ prefers, wantsRaw, wantsRecorded, wantsJourneys }) {
  const every = (path, retained, more) => filter(path, { retained, ...more });
  return [
    every("+", () => SLICE_SIZE, { isNeeded: true }),
    ...wantsRaw ? [every("+/raw", none)] : [],
    every("+/event", none),
    ...wantsRecorded ? [every("+/history", none)] : [],
    every("+/publisher/+", one, { isNeeded: true }), every("+/resolution", one, { isNeeded: true }), every("+/trip", one),
    ...prefers === "enhanced" ? [every("+/enhanced", one, { isEnhanced: true })] : [],
    ...wantsJourneys ? [every("+/journey", one), every("+/estimate", one)] : [],
  ];
}

/** Returns the filters of the retained messages of one trackable, which a subscriber of all trackables may ask for again. */
export const retainedFiltersOf = (trackable) =>
  ["", "/publisher/+", "/resolution", "/trip"].map((rest) => ofTrackable(trackable, rest));
