// Resolutions, by which a subscriber requests positions.

import { checkedResolution } from "./core/messages.js";

const made = (accuracy, { every, moving = 0 }) =>
  checkedResolution({ accuracy, desiredInterval: Math.round(every * 1000), minimumDisplacement: moving });

/** Requests high accuracy: a position every number of seconds, after a movement of at least a number of metres. */
export const high = (options) => made("HIGH", options);
export const balanced = (options) => made("BALANCED", options);
export const low = (options) => made("LOW", options);
export const minimum = (options) => made("MINIMUM", options);
export const maximum = (options) => made("MAXIMUM", options);
