// The page: what is heard goes to the map, the list and the panel; what is looked at is asked for.

import { Fleet } from "./fleet.js";
import { History } from "./history.js";
import { Canvas, Grid, beside, drawAccuracy, drawLine, drawMarker, nearTo, palette } from "./layers.js";
import { List } from "./list.js";
import { Live, worth } from "./live.js";
import { showPanel } from "./panel.js";
import { json, reason, shareToken, signIn, signOut, whoami } from "./session.js";

const L = window.L;
const element = (id) => document.getElementById(id);
/** Resolutions are asked of so many of those in view, those nearest to its middle. */
const MAXIMUM_ASKED = 100;
/** From so many on, those close together are drawn as one, unless zoomed in. */
const MANY = 1500;
const CLOSE_ZOOM = 15;

const fleet = new Fleet();
let map; let live; let list; let history; let clusters;
let chosen; let isFollowing = false; let hasFitted = false;
/** The gateway's clock less this one's, in seconds. */
let skew = 0;
let colours;

const now = () => Date.now() / 1000 + skew;

// MARK: The map

async function makeMap() {
  const { tiles } = await json("/map/config") ?? {};
  map = L.map("map", { zoomControl: false, worldCopyJump: true, minZoom: 2, maxZoom: 20, zoomAnimation: Boolean(tiles) })
    .setView([30, 0], 2);
  L.control.zoom({ position: "bottomright" }).addTo(map);
  L.control.scale({ imperial: false }).addTo(map);
  map.attributionControl.setPrefix(false);
  if (tiles) {
    L.tileLayer(tiles.url, { attribution: tiles.attribution ?? "", maxNativeZoom: tiles.maxZoom ?? 19,
      minNativeZoom: tiles.minZoom ?? 0, maxZoom: 20, className: "tiles" }).addTo(map);
  }
  const grid = tiles ? undefined : new Grid().addTo(map);
  new Canvas(paint).addTo(map);
  if (L.markerClusterGroup) {
    clusters = L.markerClusterGroup({ chunkedLoading: true, animate: false, showCoverageOnHover: false, disableClusteringAtZoom: CLOSE_ZOOM,
      iconCreateFunction: (cluster) => {
        const count = cluster.getChildCount();
        const size = 30 + Math.min(26, Math.log2(count) * 3);
        return L.divIcon({ className: "cluster", html: String(count), iconSize: [size, size] });
      } });
  }
  map.on("click", (event) => choose(nearest(event.containerPoint)?.id));
  map.on("dragstart", () => follow(false));
  map.on("moveend zoomend resize", askSoon);
  colours = palette();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { colours = palette(); grid?.draw(); });
}

const areClustered = () => clusters !== undefined && fleet.byId.size > MANY && map.getZoom() < CLOSE_ZOOM;

function paint(context, view) {
  const moment = performance.now();
  const isClustered = areClustered();
  const hasLabels = view.zoom >= 13 || fleet.byId.size <= 30;
  if (history?.points.length > 0) history.draw(context, view, colours);
  const places = [];
  for (const trackable of fleet.byId.values()) {
    const frame = trackable.animator.frame(moment);
    if (!frame) continue;
    const isChosen = trackable.id === chosen;
    if (isChosen && isFollowing) keepInMiddle(frame);
    if (isClustered && !isChosen) continue;
    const [x, y] = [view.near(frame.lng), view.y(frame.lat)];
    if (x < -60 || y < -60 || x > view.width + 60 || y > view.height + 60) continue;
    places.push({ trackable, frame, x, y, isChosen });
  }
  const isFew = places.length <= 60;
  const areNear = isFew && view.zoom >= 11;
  for (const { trackable, frame, x, y, isChosen } of places) {
    const colour = colours.state[trackable.state];
    if (isChosen || areNear) {
      drawLine(context, view, [...trackable.trail, frame], colour, isChosen ? 3.5 : 2.5, isChosen ? 0.75 : 0.4);
      if (isChosen) dots(context, view, trackable.trail, colour);
    }
    const accuracy = trackable.properties?.accuracyHorizontal;
    if (accuracy !== undefined && (isChosen || (isFew && view.zoom >= 14))) drawAccuracy(context, x, y, accuracy, view, colour);
  }
  for (const { trackable, frame, x, y, isChosen } of places) {
    drawMarker(context, x, y, {
      colour: colours.state[trackable.state], bearing: frame.bearing, isChosen, icon: trackable.icon,
      isMoving: trackable.state === "ONLINE" && (trackable.speed ?? 0) > 0.5,
      label: isChosen || (hasLabels && isFew) ? trackable.label : undefined,
    }, colours);
  }
  frames += 1;
}

/** The points of a trail, skipped ones as well. */
function dots(context, view, trail, colour) {
  context.fillStyle = colour;
  for (const point of trail) {
    context.beginPath();
    context.arc(view.near(point.lng), view.y(point.lat), 2, 0, 2 * Math.PI);
    context.fill();
  }
}

/** How many frames were drawn; for whoever measures. */
let frames = 0;
Object.defineProperty(window, "godwitFrames", { get: () => frames });

/** The same place in the copy of the world that is nearest to the middle of the map. */
const near = (place) => ({ lat: place.lat, lng: nearTo(place.lng, map.getCenter().lng) });

function keepInMiddle(place) {
  const middle = map.getSize().divideBy(2);
  const there = map.latLngToContainerPoint(near(place));
  if (middle.distanceTo(there) > 2) map.panTo(near(place), { animate: false });
}

function nearest(point) {
  let best; let bestDistance = 20;
  const moment = performance.now();
  for (const trackable of fleet.byId.values()) {
    const frame = trackable.animator.frame(moment);
    if (!frame) continue;
    const away = map.latLngToContainerPoint(near(frame)).distanceTo(point);
    if (away < bestDistance) { best = trackable; bestDistance = away; }
  }
  return best;
}

function fit(places) {
  if (places.length === 0) return;
  const panel = element("panel").hidden || innerWidth <= 700 ? 0 : 360;
  map.fitBounds(L.latLngBounds(beside(places)),
    { maxZoom: 16, paddingTopLeft: [50, 50], paddingBottomRight: [50 + panel, 50], animate: false });
}

const fitAll = () => fit(fleet.placed.map((trackable) => trackable.place));

/** Those of thousands that are close together, anew every few seconds. */
function cluster() {
  if (!clusters) return;
  if (!areClustered()) { if (map.hasLayer(clusters)) clusters.remove(); return; }
  clusters.clearLayers();
  clusters.addLayers(fleet.placed.map((trackable) => L.circleMarker(near(trackable.place),
    { radius: 6, weight: 2, color: colours.halo, fillColor: colours.state[trackable.state], fillOpacity: 1 })
    .on("click", () => choose(trackable.id))));
  if (!map.hasLayer(clusters)) clusters.addTo(map);
}

// MARK: What is chosen

function choose(id, isTwice = false) {
  if (id !== chosen) { follow(false); history.close(); element("past").setAttribute("aria-expanded", "false"); }
  chosen = id;
  returning = undefined;
  list.mark(id);
  element("panel").hidden = id === undefined;
  const trackable = fleet.byId.get(id);
  if (!trackable) { askSoon(); return; }
  showPanel(trackable, live.requests.of(id), now());
  if (trackable.place && !map.getBounds().contains(near(trackable.place))) map.panTo(near(trackable.place));
  if (isTwice) zoomTo(trackable);
  askSoon();
}

/** What was chosen before everything is told anew; it is chosen again when it is told. */
let returning;

/** What was shown goes: what comes now tells all that there is. */
function beginAnew() {
  const before = chosen === undefined ? returning : { id: chosen, isFollowed: isFollowing };
  empty();
  returning = before;
}

function empty() {
  choose(undefined);
  fleet.clear();
  list.show(fleet, now());
  cluster();
}

function zoomTo(trackable) { if (trackable?.place) map.setView(near(trackable.place), Math.max(16, map.getZoom())); }

function follow(isOn) {
  isFollowing = isOn && chosen !== undefined;
  element("follow").setAttribute("aria-pressed", String(isFollowing));
  askSoon();
}

function toggleHistory() {
  const isOpen = element("history").hidden;
  element("past").setAttribute("aria-expanded", String(isOpen));
  if (isOpen) { follow(false); history.open(chosen); } else history.close();
}

// MARK: What is asked for

let askTimer;
function askSoon() {
  clearTimeout(askTimer);
  askTimer = setTimeout(askNow, 300);
}

function askNow() {
  if (!live || document.hidden) return;
  const bounds = map.getBounds();
  const middle = map.getCenter();
  const inView = fleet.placed.filter((trackable) => trackable.id === chosen || bounds.contains(near(trackable.place)));
  const away = (trackable) => trackable.id === chosen ? -1 : middle.distanceTo(trackable.place);
  inView.sort((a, b) => away(a) - away(b));
  live.requests.want(new Map(inView.slice(0, MAXIMUM_ASKED).map((trackable) =>
    [trackable.id, worth(map.getZoom(), trackable.id === chosen && isFollowing)])));
}

// MARK: The stream

function followStream() {
  live = new Live({
    event(kind, data) {
      const isNew = !fleet.byId.has(data.trackable);
      const trackable = fleet.happened(kind, data, performance.now());
      if (isNew && names.has(trackable.id)) Object.assign(trackable, names.get(trackable.id));
      if (kind === "position" && data.location && !hasFitted) fitSoon();
      if (isNew) askSoon();
      if (kind === "position" && !data.location) cleared(trackable.id);
      if (trackable.id === returning?.id && trackable.place) {
        const { isFollowed } = returning;
        choose(trackable.id);
        follow(isFollowed);
      }
    },
    opened(hello, isFresh) {
      skew = hello.now - Date.now() / 1000;
      tellLink("");
      if (isFresh) beginAnew();
    },
    reset: beginAnew,
    lost() { tellLink("connecting …"); },
    ended() {
      tellLink("ended");
      letGo(shareToken ? "This link has ended." : "What you signed in with does not hold any more.");
    },
    refused() { letGo(shareToken ? "This link is not valid, or has ended." : ""); },
  });
  document.addEventListener("visibilitychange", seen);
  seen();
}

/** What was drawn of it is gone: its past, which was read before, goes with it. */
function cleared(id) {
  if (id === chosen) { follow(false); history.close(); element("past").setAttribute("aria-expanded", "false"); }
  askSoon();
}

function seen() {
  if (document.hidden) { live.stop(); return; }
  for (const trackable of fleet.byId.values()) trackable.animator.snap();
  live.start();
  askSoon();
}

/** Whoever looks may not any more. */
function letGo(words) {
  empty();
  names.clear();
  if (shareToken) notice(words); else askToSignIn(words);
}

function tellLink(words) {
  element("link").textContent = words;
  element("link").classList.toggle("lost", words !== "");
}

let fitTimer;
function fitSoon() {
  clearTimeout(fitTimer);
  fitTimer = setTimeout(() => { hasFitted = true; fitAll(); }, 250);
}

const names = new Map();
/** Names are asked for so often, in milliseconds: they are given while the page is open, and the first try may fail. */
const NAMES_EVERY = 15000;

async function loadNames() {
  if (shareToken || document.hidden || element("door").open) return;
  let after = "";
  do {
    const page = await json(`/api/v1/trackables?limit=1000${after && `&after=${encodeURIComponent(after)}`}`);
    if (element("door").open) return;
    for (const { id, name, icon, groups } of page?.trackables ?? []) {
      const given = { name, icon, group: groups?.join(", ") };
      if (JSON.stringify(names.get(id)) === JSON.stringify(given)) continue;
      names.set(id, given);
      fleet.hasNewNames = true;
      if (fleet.byId.has(id)) Object.assign(fleet.get(id), given);
    }
    after = page?.next ?? "";
  } while (after);
}

// MARK: The door

function askToSignIn(words = "") {
  element("door-note").textContent = words;
  if (!element("door").open) element("door").showModal();
}

element("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  const told = await signIn(element("token").value.trim());
  element("door-note").textContent = told.ok ? "" : told.status === 401 ? "This token is not valid." : reason(told);
  if (!told.ok) return;
  element("token").value = "";
  element("door").close();
  start();
});
element("door").addEventListener("cancel", (event) => event.preventDefault());
element("leave").addEventListener("click", async () => { await signOut(); location.reload(); });

function notice(words) {
  element("notice").textContent = words;
  element("notice").hidden = false;
}

// MARK: Keys and buttons

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

// MARK: The start

function tick() {
  list.show(fleet, now());
  const trackable = fleet.byId.get(chosen);
  if (trackable) showPanel(trackable, live.requests.of(chosen), now());
  if (shareToken && chosen === undefined && fleet.byId.size === 1 && fleet.placed.length === 1) choose(fleet.placed[0].id);
}

let isStarted = false;
async function start() {
  let caller;
  try { caller = await whoami(); } catch {
    // Nobody is asked to sign in who may be signed in: the gateway is away, or has too much to do.
    tellLink("connecting …");
    setTimeout(start, 2000);
    return;
  }
  tellLink("");
  if (!caller) { askToSignIn(); return; }
  element("leave").hidden = Boolean(caller.isShare);
  loadNames();
  if (isStarted) {
    // Somebody else may look now, who may read less.
    empty();
    live.anew();
    return;
  }
  isStarted = true;
  followStream();
  setInterval(loadNames, NAMES_EVERY);
  setInterval(tick, 500);
  setInterval(cluster, 3000);
}

if (!L) notice("Leaflet is missing on the gateway: install libjs-leaflet and libjs-leaflet.markercluster, or name its folder with --leaflet.");
else {
  document.documentElement.classList.toggle("share", Boolean(shareToken));
  list = new List(element("list"), element("count"), choose);
  history = new History(fit);
  await makeMap();
  start();
}
