// The part of the page's address after #: the shown trackable, time span, filter and view of the map. Browsers do not send it.

/** The largest number of states or groups in an address. */
const MAXIMUM = 50;

const iso = (seconds) => new Date(seconds * 1000).toISOString().replace(".000Z", "Z");

function seconds(text) {
  const time = text ? Date.parse(text) / 1000 : NaN;
  return Number.isFinite(time) ? time : undefined;
}

/** Returns the address of {trackable, isFollowed, span: {from, to}, view: {lat, lng, zoom}, search, states, groups}. */
export function addressOf({ trackable, isFollowed, span, view, search, states = [], groups = [] }) {
  const parts = new URLSearchParams();
  if (trackable !== undefined) parts.set("trackable", trackable);
  if (isFollowed) parts.set("follow", "1");
  if (span) { parts.set("from", iso(span.from)); parts.set("to", iso(span.to)); }
  if (search) parts.set("search", search);
  for (const state of states) parts.append("state", state);
  for (const group of groups) parts.append("group", group);
  if (view) parts.set("view", `${view.lat.toFixed(5)},${view.lng.toFixed(5)},${view.zoom}`);
  return parts.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
}

/** Returns the parts of an address, as for `addressOf`. Invalid parts are missing. */
export function read(hash) {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  const [from, to] = [seconds(parts.get("from")), seconds(parts.get("to"))];
  return {
    trackable: parts.get("trackable") ?? undefined,
    isFollowed: parts.get("follow") === "1",
    span: from < to ? { from, to } : undefined,
    view: viewOf(parts.get("view") ?? ""),
    search: parts.get("search") ?? "",
    states: parts.getAll("state").slice(0, MAXIMUM),
    groups: parts.getAll("group").slice(0, MAXIMUM),
  };
}

function viewOf(text) {
  const numbers = text.split(",").map((part) => part.trim() === "" ? NaN : Number(part));
  if (numbers.length !== 3 || !numbers.every(Number.isFinite)) return undefined;
  const [lat, lng, zoom] = numbers;
  return Math.abs(lat) <= 90 && Math.abs(lng) <= 540 && zoom >= 0 && zoom <= 24 ? { lat, lng, zoom } : undefined;
}

let timer;

/**
 * Replaces the part of the address after #, without an entry in the browser's history, and once for several changes.
 *
 * @param shown returns the parts of the address later; undefined to leave it
 */
export function showSoon(shown) {
  timer ??= setTimeout(() => {
    timer = undefined;
    const parts = shown();
    if (!parts) return;
    const text = addressOf(parts);
    const page = `${location.pathname}${location.search}`;
    const address = `${page}${text && `#${text}`}`;
    if (address !== `${page}${location.hash}`) window.history.replaceState(null, "", address);
  }, 300);
}
