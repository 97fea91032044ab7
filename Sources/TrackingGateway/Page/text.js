// Texts of numbers and times for people, in the chosen language and units.

import { changed, locale, preferred, remember, remembered, t } from "./i18n.js";

/** The greatest number of seconds by which a device's clock may be ahead; the gateway inserts its own limit. */
const AHEAD = Number("{maximum-ahead}");

// MARK: Units

/** The regions whose roads are measured in miles. */
const MILES = ["US", "GB", "LR", "MM"];
const FOOT = 0.3048;
const MILE = 1609.344;

const SYSTEMS = ["metric", "imperial"];

function unitsOfRegion() {
  const region = preferred().map((tag) => tag.match(/-([A-Z]{2})\b/)?.[1]).find(Boolean);
  return MILES.includes(region) ? "imperial" : "metric";
}

let system = SYSTEMS.includes(remembered("units")) ? remembered("units") : unitsOfRegion();

/** Returns the units of lengths and speeds, "metric" or "imperial". */
export const units = () => system;

/** Switches to other units and remembers them. */
export function chooseUnits(chosen) {
  if (!SYSTEMS.includes(chosen)) return;
  system = chosen;
  remember("units", chosen);
  changed();
}

const formats = new Map();

/** Returns a number with a fixed number of decimals, in the format of the language. */
export function number(value, decimals = 0) {
  const key = `${locale()} ${decimals}`;
  let format = formats.get(key);
  if (!format) {
    format = new Intl.NumberFormat(locale(), { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
    formats.set(key, format);
  }
  return format.format(value);
}

export function speed(metresPerSecond) {
  if (metresPerSecond === undefined) return "";
  return system === "imperial"
    ? t("speed.mph", { n: number(metresPerSecond * 3600 / MILE) }) : t("speed.kmh", { n: number(metresPerSecond * 3.6) });
}

export const percent = (fraction) => fraction === undefined ? "" : t("percent", { n: number(fraction * 100) });

/** Returns the text of a length in metres, in the chosen units. */
export function metres(value) {
  if (value === undefined) return "";
  if (system === "imperial") {
    if (value < 1000 * FOOT) return t("length.ft", { n: number(value / FOOT) });
    return t("length.mi", { n: number(value / MILE, value < 100 * MILE ? 1 : 0) });
  }
  if (value < 1000) return t("length.m", { n: number(value) });
  return t("length.km", { n: number(value / 1000, value < 100000 ? 1 : 0) });
}

// MARK: Times

/** "now", "12 s", "4 min", "3 h", "2 d"; "3 h ahead" for a time in the future. */
export function age(seconds) {
  if (seconds < -AHEAD) return t("age.ahead", { age: age(-seconds) });
  if (seconds < 2) return t("age.now");
  if (seconds < 100) return t("age.s", { n: Math.round(seconds) });
  if (seconds < 5400) return t("age.min", { n: Math.round(seconds / 60) });
  if (seconds < 129600) return t("age.h", { n: Math.round(seconds / 3600) });
  return t("age.d", { n: Math.round(seconds / 86400) });
}

export function ago(seconds) {
  if (seconds < -AHEAD) return t("ago.dated", { age: age(seconds) });
  if (seconds >= 129600) return longAgo(seconds);
  return seconds < 2 ? t("ago.now") : t("ago", { age: age(seconds) });
}

/** The units of long times in seconds, the longest first, and the number of seconds from which each is used. */
const LONG = [["year", 31557600, 2 * 31557600], ["month", 2629800, 60 * 86400], ["day", 86400, 129600], ["hour", 3600, 5400],
  ["minute", 60, 60]];

/** Returns the text of a time in the past in whole units: "7 years ago". */
export function longAgo(seconds) {
  const [unit, size] = LONG.find(([, , least]) => seconds >= least) ?? ["second", 1];
  const format = new Intl.RelativeTimeFormat(locale());
  return seconds < 2 ? t("ago.now") : format.format(-Math.floor(seconds / size), unit);
}

/** Returns the text of the time at which a trackable was last at its place, by the age of its last position. */
export const lastSeen = (seconds) => seconds < 0 ? ago(seconds) : t("last-seen", { ago: longAgo(seconds) });

/** Returns the note about a device whose clock is ahead of the gateway's by a number of seconds. */
export const clockAhead = (seconds) => t("clock-ahead", { age: age(seconds) });

export function interval(milliseconds) {
  if (milliseconds < 1000) return t("interval.ms", { n: milliseconds });
  if (milliseconds < 120000) return t("age.s", { n: number(milliseconds / 1000, milliseconds % 1000 ? 1 : 0) });
  return t("age.min", { n: Math.round(milliseconds / 60000) });
}

export function duration(seconds) {
  const minutes = Math.round(seconds / 60);
  if (seconds < 90) return t("age.s", { n: Math.round(seconds) });
  if (minutes < 60) return t("age.min", { n: minutes });
  return t("duration.h-min", { h: Math.floor(minutes / 60), min: String(minutes % 60).padStart(2, "0") });
}

const TIME = { hourCycle: "h23", hour: "2-digit", minute: "2-digit", second: "2-digit" };
const HOUR = { hourCycle: "h23", hour: "2-digit", minute: "2-digit" };
const MINUTE = { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" };
const SECOND = { ...MINUTE, second: "2-digit" };

/** Returns true if clocks show this local time twice, because they are set back. */
function isTwice(date) {
  return [-1, 1].some((step) => new Date(date.getTime() + step * 3600000).getHours() === date.getHours());
}

const dates = new Map();

/** Returns the format of times with these parts in the chosen language. */
function dateFormat(parts) {
  const key = `${locale()} ${Object.keys(parts)}`;
  let format = dates.get(key);
  if (!format) dates.set(key, format = new Intl.DateTimeFormat(locale(), parts));
  return format;
}

/** Returns the text of a time, with the year if it is not this one, and with the zone if the time is ambiguous. */
function momentOf(seconds, parts) {
  const date = new Date(seconds * 1000);
  const year = date.getFullYear() === new Date().getFullYear() ? {} : { year: "numeric" };
  return dateFormat({ ...parts, ...year, ...zoneOf(seconds) }).format(date);
}

/** Returns the part of a format that names the zone, if the time is ambiguous. */
const zoneOf = (seconds) => isTwice(new Date(seconds * 1000)) ? { timeZoneName: "short" } : {};

/** Returns true if two times are on the same local day. */
export const isSameDay = (a, b) => new Date(a * 1000).toDateString() === new Date(b * 1000).toDateString();

/** Returns a time in hours and minutes, with the date if it is not on the same day as `now`. */
export const clock = (seconds, now) => isSameDay(seconds, now) ? dateFormat({ ...HOUR, ...zoneOf(seconds) }).format(new Date(seconds * 1000)) : moment(seconds);

export const preciseMoment = (seconds) => momentOf(seconds, SECOND);
export const moment = (seconds) => momentOf(seconds, MINUTE);
export const timeOfDay = (seconds) => dateFormat(TIME).format(new Date(seconds * 1000));

// MARK: Resolutions

/** Returns the text of a resolution {accuracy, desiredInterval, minimumDisplacement}. */
export function resolution(r) {
  const parts = { accuracy: t(`accuracy.${r.accuracy}`), interval: interval(r.desiredInterval), length: metres(r.minimumDisplacement) };
  return t(r.minimumDisplacement > 0 ? "resolution.moved" : "resolution", parts);
}

/** Returns the reasons for the resolution in force. */
export function reason(inForce, asked) {
  const reasons = [];
  if (asked) reasons.push(t("reason.page", { resolution: resolution(asked) }));
  const others = inForce.subscribers - (asked ? 1 : 0);
  if (inForce.subscribers === 0) reasons.push(t("reason.none"));
  else if (others > 0) reasons.push(t(asked ? "reason.others" : "reason.watchers", { count: others }));
  if (inForce.near) reasons.push(t("reason.near"));
  if (inForce.lowBattery) reasons.push(t("reason.battery"));
  return reasons.join("; ");
}
