// The map page: shows the updates of the live stream on the map, in the list and in the panel, and requests resolutions for
// the trackables in view.

import { Admin } from "./admin.js";
import { Camera } from "./camera.js";
import { Clusters } from "./clusters.js";
import { askToSignIn, isOpen as isDoorOpen, keepDoor } from "./door.js";
import { Fleet } from "./fleet.js";
import { History } from "./history.js";
import { LANGUAGES, chooseLanguage, language, onChange, t, translate } from "./i18n.js";
import { Canvas, Grid, addTiles, drawAccuracy, drawLine, drawMarker, palette } from "./layers.js";
import { List, set } from "./list.js";
import { Live, SHARED, worth } from "./live.js";
import { Names } from "./names.js";
import { showPanel } from "./panel.js";
import { json, shareToken, signOut, whoami } from "./session.js";
import * as text from "./text.js";

const L = window.L;
const element = (id) => document.getElementById(id);
/** The largest number of trackables in view for which the page requests resolutions: those nearest to the middle. */
const MAXIMUM_ASKED = 100;

const fleet = new Fleet();
const names = new Names(fleet);
let admin; let map; let camera; let clusters; let live; let list; let history;
let chosen; let isFollowing = false; let hasFitted = false;
let colours;

/** The gateway's time in seconds, and the browser time at which it arrived. The browser's clock may be wrong. */
let told = { time: Date.now() / 1000, at: performance.now() };
const now = () => told.time + (performance.now() - told.at) / 1000;

// MARK: The map

async function makeMap() {
  const { tiles } = await json("/map/config") ?? {};
  map = L.map("map", { zoomControl: false, worldCopyJump: true, minZoom: 2, maxZoom: 20, zoomAnimation: Boolean(tiles) })
    .setView([30, 0], 2);
  makeControls();
  map.attributionControl.setPrefix(false);
  camera = new Camera(map, element("panel"));
  admin = new Admin(map, fleet, element("panel"));
  clusters = new Clusters(map, camera, choose);
  const grid = addTiles(tiles, map) ? undefined : new Grid().addTo(map);
  new Canvas(paint).addTo(map);
  map.on("click", (event) => choose(nearest(event.containerPoint)?.id));
  map.on("dragstart", () => follow(false));
  map.on("moveend zoomend resize", askSoon);
  map.on("zoomend", () => clusters.zoomed(fleet, colours));
  colours = palette();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { colours = palette(); grid?.draw(); });
}

let controls = [];

/** Adds the map's buttons and its scale, in the chosen language and units. */
function makeControls() {
  for (const control of controls) control.remove();
  const isMetric = text.units() === "metric";
  controls = [L.control.zoom({ position: "bottomright", zoomInTitle: t("zoom-in"), zoomOutTitle: t("zoom-out") }),
    L.control.scale({ metric: isMetric, imperial: !isMetric })];
  for (const control of controls) control.addTo(map);
}

function paint(context, view) {
  const moment = performance.now();
  const isClustered = clusters.isShown;
  let count = 0;
  if (history?.points.length > 0) history.draw(context, view, colours);
  const places = [];
  for (const trackable of fleet.byId.values()) {
    const frame = trackable.animator.frame(moment);
    if (!frame) continue;
    count += 1;
    const isChosen = trackable.id === chosen;
    if (isChosen && isFollowing) camera.keep(frame);
    if (isClustered && !isChosen) continue;
    const [x, y] = [view.near(frame.lng), view.y(frame.lat)];
    if (x < -60 || y < -60 || x > view.width + 60 || y > view.height + 60) continue;
    places.push({ trackable, frame, x, y, isChosen });
  }
  const hasLabels = view.zoom >= 13 || count <= 30;
  const isFew = places.length <= 60;
  const areNear = isFew && view.zoom >= 11;
  for (const { trackable, frame, x, y, isChosen } of places) {
    const colour = colours.state[fleet.stateOf(trackable)];
    if (isChosen || areNear) {
      const trail = trackable.trailTo(moment);
      drawLine(context, view, [...trail, frame], colour, isChosen ? 3.5 : 2.5, isChosen ? 0.75 : 0.4);
      if (isChosen) dots(context, view, trail, colour);
    }
    const accuracy = trackable.properties?.accuracyHorizontal;
    if (accuracy !== undefined && (isChosen || (isFew && view.zoom >= 14))) drawAccuracy(context, x, y, accuracy, view, colour);
  }
  for (const { trackable, frame, x, y, isChosen } of places) {
    const state = fleet.stateOf(trackable);
    drawMarker(context, x, y, {
      colour: colours.state[state], bearing: frame.bearing, isChosen, icon: trackable.icon,
      isMoving: state === "ONLINE" && (trackable.speed ?? 0) > 0.5,
      label: isChosen || (hasLabels && isFew) ? trackable.label : undefined,
    }, colours);
  }
  frames += 1;
}

/** Draws the points of a trail, including the skipped ones. */
function dots(context, view, trail, colour) {
  context.fillStyle = colour;
  for (const point of trail) {
    context.beginPath();
    context.arc(view.near(point.lng), view.y(point.lat), 2, 0, 2 * Math.PI);
    context.fill();
  }
}

/** The number of drawn frames, for measurements and tests. */
let frames = 0;
Object.defineProperty(window, "godwitFrames", { get: () => frames });

/** Returns the trackable that is drawn at or near a point of the screen; undefined for none. */
function nearest(point) {
  let best; let bestDistance = 20;
  const moment = performance.now();
  for (const trackable of fleet.byId.values()) {
    const frame = trackable.animator.frame(moment);
    if (!frame || (clusters.isShown && trackable.id !== chosen)) continue;
    const away = map.latLngToContainerPoint(camera.near(frame)).distanceTo(point);
    if (away < bestDistance) { best = trackable; bestDistance = away; }
  }
  return best;
}

/** Brings places into view, and stops following a trackable. */
function fit(places) {
  follow(false);
  camera.fit(places);
}

const fitAll = () => fit(fleet.placed.map((trackable) => trackable.place));

// MARK: The chosen trackable

function choose(id, isTwice = false) {
  if (id !== chosen) { follow(false); closeHistory(); }
  chosen = id;
  returning = undefined;
  list.mark(id);
  admin.choose(id);
  // The panel is hidden now, so the keyboard focus must not remain in it.
  if (id === undefined && element("panel").contains(document.activeElement)) element("list").focus();
  element("panel").hidden = id === undefined;
  const trackable = fleet.byId.get(id);
  if (!trackable) { askSoon(); return; }
  fillPanel(trackable);
  if (isTwice) zoomTo(trackable);
  else if (trackable.place && !camera.shows(trackable.place)) camera.show(trackable.place);
  askSoon();
}

const fillPanel = (trackable) => showPanel(trackable, fleet.stateOf(trackable), live.requests.of(trackable.id), now());

/** The trackable that was chosen before the live data were discarded; it is chosen again when it arrives again. */
let returning;

/** Discards the shown data, because the live stream begins with the complete state again. */
function beginAnew() {
  const before = chosen === undefined ? returning : { id: chosen, isFollowed: isFollowing };
  empty();
  returning = before;
}

function empty() {
  choose(undefined);
  fleet.clear();
  names.tellRecorded();
  list.show(fleet, now());
  clusters.show(fleet, colours);
}

function zoomTo(trackable) { if (trackable?.place) camera.showClosely(trackable.place); }

function follow(isOn) {
  isFollowing = isOn && fleet.byId.get(chosen)?.place !== undefined;
  element("follow").setAttribute("aria-pressed", String(isFollowing));
  askSoon();
}

function toggleHistory() {
  if (!element("history").hidden) { closeHistory(); return; }
  element("past").setAttribute("aria-expanded", "true");
  follow(false);
  const { place, recorded } = fleet.byId.get(chosen) ?? {};
  history.open(chosen, place ? undefined : recorded);
}

function closeHistory() {
  if (element("history").contains(document.activeElement)) element("past").focus();
  history.close();
  element("past").setAttribute("aria-expanded", "false");
}

// MARK: Resolution requests

/** The interval in milliseconds at which the requests are adapted to the trackables in view, which move by themselves. */
const ASK_EVERY = 1500;

/** Adapts the requests after 300 ms, once for several calls: a map that follows a trackable moves all the time. */
let askTimer;
function askSoon() {
  askTimer ??= setTimeout(() => { askTimer = undefined; askNow(); }, 300);
}

function askNow() {
  if (!live || document.hidden) return;
  const bounds = map.getBounds();
  const middle = map.getCenter();
  const inView = fleet.placed.filter((trackable) => trackable.id === chosen || bounds.contains(camera.near(trackable.place)));
  // A trackable with a request keeps it until others are clearly nearer to the middle.
  const distance = (trackable) => middle.distanceTo(trackable.place) * (live.requests.wanted.has(trackable.id) ? 0.8 : 1);
  const away = new Map(inView.map((trackable) => [trackable, trackable.id === chosen ? -1 : distance(trackable)]));
  inView.sort((a, b) => away.get(a) - away.get(b));
  const wanted = inView.slice(0, MAXIMUM_ASKED).map((trackable) =>
    [trackable.id, shareToken ? SHARED : worth(map.getZoom(), trackable.id === chosen && isFollowing)]);
  live.requests.want(new Map([...wanted, ...unplaced()]));
}

/** A share link shows no position from before its creation, so the page requests its trackable until a position arrives. */
function unplaced() {
  if (!shareToken) return [];
  return [...fleet.byId.values()].filter((trackable) => !trackable.place).map(({ id }) => [id, SHARED]);
}

// MARK: The live stream

function followStream() {
  live = new Live({
    event(kind, data) {
      const isNew = !fleet.byId.has(data.trackable);
      const trackable = fleet.happened(kind, data, performance.now());
      if (isNew) names.call(trackable);
      if (kind === "position" && data.location && !hasFitted) fitSoon();
      if (isNew) askSoon();
      if (kind === "position" && !data.location) cleared(trackable.id);
      if (trackable.id === returning?.id && trackable.place) {
        const { isFollowed } = returning;
        choose(trackable.id);
        follow(isFollowed);
      }
    },
    opened(hello) {
      openedAt = performance.now();
      fleet.isLost = false;
      tellLink("");
      if (!hello.resumed) beginAnew();
    },
    time(seconds) { told = { time: seconds, at: performance.now() }; },
    reset: beginAnew,
    lost() { fleet.isLost = true; tellLink(t("connecting")); },
    /** Another user signed in, in another window of this browser, and may be allowed to read less. */
    replaced() { forgetAll(); loadNames(); },
    ended() {
      tellLink(t("ended"));
      letGo(t(shareToken ? "link.ended" : "token.ended"));
    },
    refused() { letGo(shareToken ? t("link.wrong") : ""); },
  });
  document.addEventListener("visibilitychange", seen);
  seen();
}

/** Closes the history of a trackable whose position was cleared, because the shown track may be erased. */
function cleared(id) {
  if (id === chosen) { follow(false); closeHistory(); }
  loadNames();
  askSoon();
}

function seen() {
  if (document.hidden) { live.stop(); return; }
  for (const trackable of fleet.byId.values()) trackable.animator.snap();
  live.start();
  askSoon();
}

/** Discards all data, because another user may look at the page now. */
function forgetAll() {
  admin.forget();
  names.clear();
  empty();
  hasFitted = false;
}

/** Discards all data and asks the user to sign in, because the token or share link is no longer valid. */
function letGo(words) {
  forgetAll();
  hasEnded = true;
  if (shareToken) notice(words); else askToSignIn(words);
}

function tellLink(words) {
  element("link").textContent = words;
  element("link").classList.toggle("lost", words !== "");
}

/** The time at which the live stream was last opened, and true once a share link has ended. */
let openedAt; let hasEnded = false;

/** Shows the notice of a share link, whose page has no list. */
function tellShare() {
  if (!shareToken || hasEnded) return;
  const isEmpty = fleet.placed.length === 0 && performance.now() - openedAt > 2000;
  const ahead = [...fleet.byId.values()].map((trackable) => trackable.clockAhead).find((lead) => lead !== undefined);
  const reason = ahead === undefined ? "" : ` ${t("clock-ahead.sentence", { age: text.age(ahead) })}`;
  notice(element("link").textContent || (isEmpty ? `${t("link.empty")}${reason}` : ""));
}

/** Fits all trackables into view once no new one arrived for 250 ms, or after two seconds at the latest. */
let fitTimer; let fitBy;
function fitSoon() {
  fitBy ??= performance.now() + 2000;
  clearTimeout(fitTimer);
  const fitNow = () => { hasFitted = true; fitBy = undefined; fitAll(); };
  if (performance.now() > fitBy) fitNow(); else fitTimer = setTimeout(fitNow, 250);
}

/** The interval in milliseconds at which the names are read again. */
const NAMES_EVERY = 15000;
function loadNames() { if (!document.hidden && !isDoorOpen()) names.load(); }

function notice(words) {
  set(element("notice"), words);
  element("notice").hidden = words === "";
}

// MARK: Keys and buttons

element("leave").addEventListener("click", async () => { await signOut(); location.reload(); });
element("fit").addEventListener("click", fitAll);
element("close").addEventListener("click", () => choose(undefined));
element("follow").addEventListener("click", () => follow(!isFollowing));
element("zoom").addEventListener("click", () => zoomTo(fleet.byId.get(chosen)));
element("past").addEventListener("click", toggleHistory);
element("search").addEventListener("input", (event) => list.search(event.target.value));

document.addEventListener("keydown", (event) => {
  if (event.target.matches("input, select") || event.ctrlKey || event.metaKey || event.altKey) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const actions = {
    "/": () => { element("search").focus(); event.preventDefault(); },
    a: fitAll, Escape: () => choose(undefined),
    f: () => chosen !== undefined && follow(!isFollowing),
    h: () => chosen !== undefined && !shareToken && toggleHistory(),
  };
  actions[event.key.length === 1 ? event.key.toLowerCase() : event.key]?.();
});

// MARK: Language and units

function makeSettings() {
  element("language").append(...Object.entries(LANGUAGES).map(([code, name]) => new Option(name, code)));
  showSettings();
  element("language").addEventListener("change", (event) => chooseLanguage(event.target.value));
  element("units").addEventListener("change", (event) => text.chooseUnits(event.target.value));
  onChange(() => {
    showSettings();
    makeControls();
    fleet.hasNewOrder = true;
    history.show();
    tick();
  });
}

function showSettings() {
  element("language").value = language();
  element("units").value = text.units();
}

// MARK: The start

function tick() {
  list.show(fleet, now());
  const trackable = fleet.byId.get(chosen);
  if (trackable) fillPanel(trackable);
  tellShare();
  if (!shareToken || hasShown || fleet.placed.length !== 1) return;
  hasShown = true;
  choose(fleet.placed[0].id);
}
/** True once the trackable of a share link was chosen automatically. The user may close its panel afterwards. */
let hasShown = false;

let isStarted = false;
async function start() {
  let caller;
  try { caller = await whoami(); } catch {
    // The gateway cannot be reached or is overloaded. The user may be signed in, so the page tries again.
    tellLink(t("connecting"));
    setTimeout(start, 2000);
    return;
  }
  tellLink("");
  if (!caller) { askToSignIn(); return; }
  element("leave").hidden = Boolean(caller.isShare);
  admin.begin(caller);
  loadNames();
  if (isStarted) {
    // Another user may have signed in, who may be allowed to read less.
    empty();
    live.anew();
    return;
  }
  isStarted = true;
  followStream();
  setInterval(loadNames, NAMES_EVERY);
  setInterval(tick, 500);
  setInterval(() => clusters.moved(fleet, colours), 3000);
  setInterval(askSoon, ASK_EVERY);
}

translate();
if (!L) notice(t("leaflet-missing"));
else {
  document.documentElement.classList.toggle("share", Boolean(shareToken));
  list = new List(element("list"), element("count"), choose);
  history = new History(fit, now);
  await makeMap();
  makeSettings();
  keepDoor(start);
  start();
}
