// The map page: shows the updates of the live stream on the map, in the list and in the panel, and requests resolutions for
// the trackables in view.

import * as address from "./address.js";
import { Admin } from "./admin.js";
import { Background } from "./background.js";
import { Banner } from "./banner.js";
import { Camera, FirstFit } from "./camera.js";
import { Clusters, isStack } from "./clusters.js";
import { makeControls } from "./controls.js";
import { Crowd } from "./crowd.js";
import { askToSignIn, isOpen as isDoorOpen, keepDoor } from "./door.js";
import { Filter } from "./filter.js";
import { Fleet } from "./fleet.js";
import { Guide, PhoneDialog, useBroker } from "./guide.js";
import { History } from "./history.js";
import { onChange, t, translate } from "./i18n.js";
import { Canvas, palette, view } from "./layers.js";
import { List, set } from "./list.js";
import { keepKeys } from "./keys.js";
import { Live } from "./live.js";
import { Names } from "./names.js";
import { Painter } from "./painter.js";
import { makePanel, showPanel } from "./panel.js";
import { wantedRequests } from "./requests.js";
import { placeOf, seek } from "./seek.js";
import { json, signOut, whoami } from "./session.js";
import { keepSettings, showSettings } from "./settings.js";
import { Sheet, keepDoubleTaps } from "./sheet.js";
import { listStack } from "./stack.js";
import * as text from "./text.js";

const L = window.L;
const element = (id) => document.getElementById(id);

/** The gateway's time in seconds, and the browser time at which it arrived. The browser's clock may be wrong. */
let told = { time: Date.now() / 1000, at: performance.now() };
const now = () => told.time + (performance.now() - told.at) / 1000;

const fleet = new Fleet(now);
const names = new Names(fleet);
const clusters = new Clusters();
const firstFit = new FirstFit();
const filter = new Filter(element("chips"), filtered);
const banner = new Banner(element("banner"));
let admin; let map; let background; let camera; let sheet; let live; let list; let history; let guide; let painter; let crowd;
let chosen; let colours; let isFollowing = false;

// MARK: The map

async function makeMap() {
  const { tiles } = await json("/map/config") ?? {};
  map = L.map("map", { zoomControl: false, worldCopyJump: true, minZoom: 2, maxZoom: 20, zoomAnimation: Boolean(tiles) })
    .setView([30, 0], 2);
  makeControls(map, sheet.isOn);
  map.attributionControl.setPrefix(false);
  background = new Background(map, tiles);
  camera = new Camera(map, element("panel"), sheet);
  admin = new Admin(map, fleet, element("panel"), camera);
  colours = palette();
  crowd = new Crowd(map, names, {
    live: () => live, beginAnew, load: loadNames, fit: (places) => firstFit.now(() => fit(places)), filter, searched: tick,
  });
  painter = new Painter(fleet, clusters, () => ({
    chosen, history, colours, cells: crowd.shown, isShown: (trackable) => list.shows(trackable), keep: (place) => isFollowing && camera.keep(place),
  }));
  new Canvas((context, view) => painter.paint(context, view)).addTo(map);
  map.on("click", (event) => admin.clicked(event.latlng) || clicked(event.containerPoint));
  map.on("dragstart", () => follow(false));
  map.on("moveend zoomend resize", askSoon);
  map.on("moveend", showAddress);
  new ResizeObserver(() => map.invalidateSize({ animate: false, pan: false })).observe(element("map"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { colours = palette(); });
}

/** The number of drawn frames, for measurements and tests. */
Object.defineProperty(window, "godwitFrames", { get: () => painter?.frames ?? 0 });

/** Chooses the clicked marker, lists a stack of markers, or zooms to a group or a cell. */
function clicked(point) {
  const corners = crowd.shown.at(point, view(map));
  // A cell is always shown more closely, also where the map is nearer than places are usually shown.
  if (corners) { follow(false); camera.fit(corners, map.getZoom() + 1); return; }
  const places = painter.placesAt(point, view(map));
  if (places.length < 2) choose(places[0]?.trackable.id);
  else if (isStack(places, map.getZoom())) listStack(map, point, places, camera.covered, choose);
  else if (painter.single.includes(places[0])) choose(places[0].trackable.id);
  else fit(places.map(({ trackable }) => trackable.place));
}

/** Brings places into view, and stops following a trackable. */
function fit(places) {
  follow(false);
  camera.fit(places);
}

/** Brings the whole fleet into view, or during a search the matches whose places are known. */
function fitAll() {
  const found = () => fleet.placed.filter((trackable) => list.shows(trackable)).map(({ place }) => place);
  fit((crowd.matches ? undefined : crowd.cells.extent) ?? found());
}

/** Shows the trackables that the filter lets through, on the map and in the list. */
function filtered() {
  if (element("search").value.trim().toLowerCase() !== filter.needle) element("search").value = filter.needle;
  clusters.renew();
  crowd.searchSoon();
  tick();
  askSoon();
  showAddress();
}

// MARK: The chosen trackable

function choose(id, isTwice = false) {
  if (id !== chosen) { follow(false); closeHistory(); clusters.renew(); }
  chosen = id;
  returning = undefined;
  if (id !== undefined) notice("");
  list.mark(id);
  admin.choose(id);
  // The panel is hidden now, so the keyboard focus must not remain in it.
  if (id === undefined && element("panel").contains(document.activeElement)) element("list").focus();
  element("panel").hidden = id === undefined;
  showAddress();
  const trackable = fleet.byId.get(id);
  if (!trackable) { askSoon(); return; }
  if (sheet.isOn) sheet.moveTo("half");
  fillPanel(trackable);
  // The place of a match can be anywhere.
  if (isTwice || crowd.matches) zoomTo(trackable);
  else if (trackable.place && !camera.shows(trackable.place)) camera.show(trackable.place);
  askSoon();
}

const fillPanel = (trackable) => showPanel(trackable, fleet.stateOf(trackable), live.requests.of(trackable.id), now());

/**
 * The trackable to choose once it arrives, {id, isFollowed, span, view, keepsView, isFromAddress}: the one of the address, or the one
 * that was chosen before the live data were discarded.
 */
let returning;

/**
 * Discards the shown data, because the live stream begins with the complete state again. In a large fleet, the chosen trackable
 * remains with its panel, because the map may have moved away from it. The matches of a search remain in the list.
 */
function beginAnew() {
  const kept = crowd.cells.isLarge ? fleet.byId.get(chosen) : undefined;
  if (kept) {
    fleet.clear();
    fleet.byId.set(kept.id, kept);
  } else {
    discard();
  }
  crowd.addMatches(fleet);
  list.show(fleet, now());
}

/** Discards the shown data, and chooses the chosen trackable again once it arrives. */
function discard() {
  const before = chosen === undefined ? returning : { id: chosen, isFollowed: isFollowing, span: history.shown, keepsView: true };
  empty();
  returning = before;
}

/** Chooses the returning trackable if it has a position or a history. */
function comeBack() {
  const trackable = fleet.byId.get(returning?.id);
  if (!trackable?.place && trackable?.recorded === undefined) return;
  const { isFollowed, span, view, keepsView } = returning;
  choose(trackable.id);
  if (view) map.setView(view, view.zoom, { animate: false });
  else if (!keepsView && crowd.cells.isLarge) zoomTo(trackable);
  if (span) toggleHistory({ span, keepsView });
  follow(isFollowed);
}

/** The time in milliseconds after which the page asks again for the trackable of the address, if the gateway did not answer. */
const RETRY = 5000;

/**
 * Reads the trackable of the address from the gateway: at once in a large fleet, whose live stream has only the area around the view,
 * and otherwise if it has not arrived after two seconds.
 */
async function seekReturning() {
  const sought = returning;
  if (!sought?.isFromAddress || sought.isSought || !(isLongOpen() || crowd.cells.isLarge)) return;
  sought.isSought = true;
  const result = await seek(sought.id, fleet);
  if (returning !== sought) return;
  if (result === "found") comeBack();
  else if (result === "unknown") notice(t("address.unknown", { id: sought.id }));
  else setTimeout(() => { sought.isSought = false; }, RETRY);
}

function empty() {
  choose(undefined);
  fleet.clear();
  names.tellRecorded();
  list.show(fleet, now());
}

// MARK: The address

/** Shows the trackable, the span, the filter and the view of an address. */
function openAddress() {
  const { trackable, isFollowed, span, view, search, states, groups } = address.read(location.hash);
  filter.clear();
  filter.search(search);
  for (const state of states) filter.states.add(state);
  for (const group of groups) filter.groups.add(group);
  element("search").value = search;
  notice("");
  crowd.searchSoon();
  if (view) { firstFit.isDone = true; map.setView(view, view.zoom, { animate: false }); }
  if (trackable === undefined) return;
  returning = { id: trackable, isFollowed, span, view, keepsView: view !== undefined, isFromAddress: true };
  comeBack();
  seekReturning();
}

function showAddress() { if (isStarted) address.showSoon(shownNow); }

/** Returns what the page shows; undefined while the trackable of the address has not arrived. */
function shownNow() {
  if (returning) return undefined;
  const { lat, lng } = map.getCenter().wrap();
  return {
    trackable: chosen, isFollowed: isFollowing, span: history.shown, search: filter.needle, states: [...filter.states],
    groups: [...filter.groups], view: firstFit.isDone ? { lat, lng, zoom: map.getZoom() } : undefined,
  };
}

/** Zooms to a trackable, also to one whose place only the gateway knows, for example from the history. */
async function zoomTo(trackable) {
  const isElsewhere = trackable && (trackable.recorded !== undefined || crowd.matches);
  const place = trackable?.place ?? (isElsewhere ? await placeOf(trackable.id) : undefined);
  if (place && trackable.id === chosen) camera.showClosely(place);
}

function follow(isOn) {
  isFollowing = isOn && fleet.byId.get(chosen)?.place !== undefined;
  element("follow").setAttribute("aria-pressed", String(isFollowing));
  showAddress();
  askSoon();
}

function toggleHistory(options = {}) {
  if (!element("history").hidden) { closeHistory(); return; }
  element("past").setAttribute("aria-expanded", "true");
  follow(false);
  const { place, recorded } = fleet.byId.get(chosen) ?? {};
  history.open(chosen, recorded, { isPast: place === undefined, ...options });
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
  const shown = { fleet, map, camera, chosen, isFollowing, shows: (trackable) => list.shows(trackable) };
  live.requests.want(wantedRequests(shown, live.requests.wanted));
}

// MARK: The live stream

function followStream() {
  live = new Live({
    event(kind, data) {
      const isNew = !fleet.byId.has(data.trackable);
      const trackable = fleet.happened(kind, data, performance.now());
      if (isNew) names.call(trackable);
      if (kind === "position" && data.location) firstFit.soon(fitAll);
      if (isNew) askSoon();
      if (kind === "position" && !data.location) cleared(trackable.id);
      if (trackable.id === returning?.id && trackable.place) comeBack();
      const isAwaited = trackable.id === chosen || trackable.id === returning?.id;
      if (kind === "position" && !isAwaited && crowd.cells.isOutside(trackable.place)) fleet.remove(trackable.id);
    },
    opened(hello) {
      openedAt = performance.now();
      fleet.isLost = false;
      banner.clear();
      banner.drop(false);
      if (!hello.resumed) beginAnew();
    },
    time(seconds) { told = { time: seconds, at: performance.now() }; },
    cells: (data) => crowd.take(data),
    reset: discard,
    lost() { fleet.isLost = true; banner.lose(now()); },
    broker({ dropped }) { banner.drop(dropped); },
    /** Another user signed in, in another window of this browser, and may be allowed to read less. */
    replaced() { forgetAll(); loadNames(); },
    ended() {
      banner.clear();
      letGo(t("token.ended"));
    },
    refused() { banner.clear(); letGo(""); },
  }, crowd.query);
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
  notice("");
  names.clear();
  crowd.forget();
  empty();
  firstFit.isDone = false;
}

/** Discards all data and asks the user to sign in, because the token is no longer valid. */
function letGo(words) {
  forgetAll();
  askToSignIn(words);
}

/** The time at which the live stream was last opened. */
let openedAt;

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
element("past").addEventListener("click", () => toggleHistory());
element("search").addEventListener("input", (event) => { filter.search(event.target.value); filtered(); });

keepKeys({
  a: fitAll, Escape: () => admin.cancel() || choose(undefined),
  f: () => chosen !== undefined && follow(!isFollowing),
  h: () => chosen !== undefined && toggleHistory(),
});

/** Shows all texts again, in another language or other units. */
function retold() {
  showSettings();
  makeControls(map, sheet.isOn);
  fleet.hasNewOrder = true;
  guide.renew();
  banner.show();
  history.show();
  sheet.show();
  tick();
}

// MARK: The start

function tick() {
  list.total = crowd.total;
  list.groups = crowd.cells.isLarge ? crowd.directory.groups : undefined;
  list.show(fleet, now());
  const trackable = fleet.byId.get(chosen);
  if (trackable) { fillPanel(trackable); admin.update(trackable); }
  if (returning) comeBack();
  seekReturning();
  tellGuide();
}

/** Returns true if the live stream has been open for two seconds, so that all data have arrived. */
const isLongOpen = () => performance.now() - openedAt > 2000 && !fleet.isLost && !isDoorOpen();

/** Shows the next steps if the list stays empty for two seconds, and the extent of a search in a large fleet. */
function tellGuide() {
  guide.show(...crowd.advice(list) ?? [
    list.found.length > 0 ? "" : list.order.length > 0 ? "filter" : !isLongOpen() ? "" : mayRead ? "fleet" : "no-reads",
  ]);
}

let isStarted = false;
/** False for a user whose token may read no trackable. */
let mayRead = true;
async function start() {
  let caller;
  try { caller = await whoami(); } catch {
    // The gateway cannot be reached or is overloaded. The user may be signed in, so the page tries again.
    banner.wait();
    setTimeout(start, 2000);
    return;
  }
  banner.clear();
  if (!caller) { askToSignIn(); return; }
  element("leave").hidden = false;
  admin.begin(caller);
  mayRead = caller.reads === undefined || caller.reads.length > 0;
  useBroker(caller.broker);
  guide.renew();
  background.renew();
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
  setInterval(askSoon, ASK_EVERY);
}

translate();
if (!L) notice(t("leaflet-missing"));
else {
  sheet = new Sheet(element("sheet"), element("grip"), document.querySelectorAll("#sheet header"));
  list = new List(element("list"), element("count"), filter, choose);
  history = new History(fit, now, showAddress);
  const phone = new PhoneDialog();
  guide = new Guide(element("guide"), () => phone.open(), () => { filter.clear(); filtered(); });
  element("add-phone").addEventListener("click", () => phone.open());
  await makeMap();
  list.show(fleet, now());
  keepSettings((order) => list.sort(order));
  makePanel((place) => fit([place]));
  keepDoubleTaps(element("list"), (id) => { if (id === chosen) zoomTo(fleet.byId.get(id)); });
  sheet.media.addEventListener("change", () => makeControls(map, sheet.isOn));
  onChange(retold);
  openAddress();
  window.addEventListener("hashchange", openAddress);
  keepDoor(start);
  start();
}
