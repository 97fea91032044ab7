// Texts of numbers and times for people.

/** The greatest number of seconds by which a device's clock may be ahead; the gateway inserts its own limit. */
const AHEAD = Number("{maximum-ahead}");

/** "now", "12 s", "4 min", "3 h", "2 d"; "3 h ahead" for a time in the future. */
export function age(seconds) {
  if (seconds < -AHEAD) return `${age(-seconds)} ahead`;
  if (seconds < 2) return "now";
  if (seconds < 100) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

export function ago(seconds) {
  if (seconds < -AHEAD) return `dated ${age(seconds)}`;
  return seconds < 2 ? "just now" : `${age(seconds)} ago`;
}

/** Returns the note about a device whose clock is ahead of the gateway's by a number of seconds. */
export const clockAhead = (seconds) => `clock of this device is ${age(seconds)} ahead`;

export const speed = (metresPerSecond) =>
  metresPerSecond === undefined ? "" : `${Math.round(metresPerSecond * 3.6)} km/h`;

export const percent = (fraction) => fraction === undefined ? "" : `${Math.round(fraction * 100)} %`;

export function metres(value) {
  if (value === undefined) return "";
  if (value < 1000) return `${Math.round(value)} m`;
  return `${(value / 1000).toFixed(value < 100000 ? 1 : 0)} km`;
}

export function interval(milliseconds) {
  if (milliseconds < 1000) return `${milliseconds} ms`;
  if (milliseconds < 120000) return `${milliseconds / 1000} s`;
  return `${Math.round(milliseconds / 60000)} min`;
}

export function duration(seconds) {
  const minutes = Math.round(seconds / 60);
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const MINUTE = { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" };
const SECOND = { ...MINUTE, second: "2-digit" };

/** Returns true if clocks show this local time twice, because they are set back. */
function isTwice(date) {
  return [-1, 1].some((step) => new Date(date.getTime() + step * 3600000).getHours() === date.getHours());
}

/** Returns a format of times that contains the year if it is not this one, and the zone if the time is ambiguous. */
function formatOf(parts) {
  const year = { ...parts, year: "numeric" };
  const zone = { timeZoneName: "short" };
  const [plain, withYear, withZone, withBoth] = [parts, year, { ...parts, ...zone }, { ...year, ...zone }]
    .map((options) => new Intl.DateTimeFormat(undefined, options));
  return (seconds) => {
    const date = new Date(seconds * 1000);
    const isNear = date.getFullYear() === new Date().getFullYear();
    return (isTwice(date) ? isNear ? withZone : withBoth : isNear ? plain : withYear).format(date);
  };
}

export const preciseMoment = formatOf(SECOND);
export const timeOfDay = (seconds) => clock.format(new Date(seconds * 1000));
export const moment = formatOf(MINUTE);

const WORDS = { MINIMUM: "minimum", LOW: "low", BALANCED: "balanced", HIGH: "high", MAXIMUM: "maximum" };

export const resolution = (r) =>
  `${WORDS[r.accuracy] ?? r.accuracy}, every ${interval(r.desiredInterval)}${r.minimumDisplacement > 0 ? ` and ${metres(r.minimumDisplacement)}` : ""}`;

/** Returns the reasons for the resolution in force. */
export function reason(inForce, asked) {
  const reasons = [];
  if (asked) reasons.push(`this page requests ${resolution(asked)}`);
  const others = inForce.subscribers - (asked ? 1 : 0);
  if (inForce.subscribers === 0) reasons.push("no watchers");
  else if (others > 0) reasons.push(`${others} ${asked ? "other " : ""}watcher${others === 1 ? "" : "s"}`);
  if (inForce.near) reasons.push("near its destination");
  if (inForce.lowBattery) reasons.push("battery low: less often");
  return reasons.join("; ");
}
