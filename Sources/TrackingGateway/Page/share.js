// The page of a share link: one trackable on a map, for a person without an account. The page follows the trackable, shows
// when it arrives and when the link ends, and asks for positions only while it is visible.

import { distance } from "./animator.js";
import { Background } from "./background.js";
import { Camera } from "./camera.js";
import { Fleet } from "./fleet.js";
import { t, translate } from "./i18n.js";
import { bandText, isOld } from "./journey.js";
import { drawRoute } from "./journey-layer.js";
import { Canvas, drawLine, drawMarker, palette } from "./layers.js";
import { set } from "./list.js";
import { Live, SHARED } from "./live.js";
import { answer, json } from "./session.js";
import * as text from "./text.js";

const L = window.L;
const element = (id) => document.getElementById(id);
/** The zoom levels at which the page shows the trackable: alone, and with its destination at most and at least. */
const ALONE = 15; const CLOSE = 16; const FAR = 9;
/** The distance in metres from the destination at which the trackable counts as there. */
const THERE = 60;
/** The time in milliseconds after which the page reports a lost connection. Shorter interruptions are not shown. */
const PATIENCE = 3000;
/** The age in seconds up to which a position counts as live, in addition to the longest time between two positions. */
const LIVE_AGE = 60;

const fleet = new Fleet();
let map; let camera; let live; let colours;
/** The link as the gateway describes it: {state, trackable, name, icon, ends}. */
let link;
let isFollowing = true;
/** True once the user has chosen a zoom, which the page then keeps. */
let hasZoomed = false;
let isOwnZoom = false;
let lostAt; let openedAt;

/** The gateway's time in seconds, and the browser time at which it arrived. The browser's clock may be wrong. */
let told = { time: Date.now() / 1000, at: performance.now() };
const now = () => told.time + (performance.now() - told.at) / 1000;

const trackable = () => fleet.byId.get(link?.trackable);
const isAway = () => lostAt !== undefined && performance.now() - lostAt > PATIENCE;

// MARK: The map

async function makeMap(tiles) {
  map = L.map("map", { zoomControl: false, attributionControl: false, worldCopyJump: true, minZoom: 2, maxZoom: 20,
    zoomAnimation: Boolean(tiles) })
    .setView([30, 0], 2);
  const zoom = L.control.zoom({ position: "topleft", zoomInTitle: t("zoom-in"), zoomOutTitle: t("zoom-out") }).addTo(map);
  zoom.getContainer().setAttribute("role", "group");
  const isWide = matchMedia("(min-width: 700px)");
  const attribution = L.control.attribution({ prefix: false }).addTo(map);
  const place = () => attribution.setPosition(isWide.matches ? "bottomright" : "topright");
  place();
  isWide.addEventListener("change", place);
  camera = new Camera(map, element("card"));
  new Background(map, tiles);
  colours = palette();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { colours = palette(); });
  new Canvas(paint).addTo(map);
  map.on("dragstart", () => follow(false));
  map.on("zoomstart", () => { hasZoomed ||= !isOwnZoom; });
  map.getContainer().addEventListener("keydown", (event) => { if (event.key.startsWith("Arrow")) follow(false); });
}

function paint(context, view) {
  const shown = trackable();
  const frame = shown?.animator.frame(performance.now());
  const goal = shown && goalOf(shown);
  if (shown?.route.length > 0) drawRoute(context, view, shown.route, frame, isOld(shown.estimate, now()), colours);
  if (goal) drawPin(context, view.near(goal.lng), view.y(goal.lat), goal.name ?? t("share.destination"));
  if (!frame) {
    if (goal && isFollowing && !hasZoomed) keep(goal, goal);
    return;
  }
  if (isFollowing) keep(frame, goal);
  const colour = isLive(shown) ? colours.state.ONLINE : colours.state.OFFLINE;
  drawLine(context, view, [...shown.trailTo(performance.now()), frame], colour, 3.5, 0.6);
  drawMarker(context, view.near(frame.lng), view.y(frame.lat), {
    colour, bearing: frame.bearing, isChosen: true, icon: link.icon, isMoving: isLive(shown) && (shown.speed ?? 0) > 0.5,
  }, colours);
}

/**
 * Returns the place {lat, lng, name?} to which the trackable is coming: the link's stop, or without an estimate the destination;
 * undefined if it is not known.
 */
function goalOf({ estimate, destination }) {
  if (!estimate) return destination;
  const { location, name } = estimate.stop;
  return location && { lat: location[1], lng: location[0], name };
}

/** Draws a pin whose point is at x, y, and its name. */
function drawPin(context, x, y, name) {
  context.fillStyle = colours.text;
  context.strokeStyle = colours.halo;
  context.lineWidth = 2;
  context.beginPath();
  context.arc(x, y - 22, 10, 0.85 * Math.PI, 0.15 * Math.PI);
  context.lineTo(x, y);
  context.closePath();
  context.stroke();
  context.fill();
  context.fillStyle = colours.halo;
  context.beginPath();
  context.arc(x, y - 22, 4, 0, 2 * Math.PI);
  context.fill();
  context.font = "600 13px system-ui, sans-serif";
  context.lineWidth = 4;
  context.lineJoin = "round";
  context.strokeText(name, x + 15, y - 18);
  context.fillStyle = colours.text;
  context.fillText(name, x + 15, y - 18);
}

/** Keeps the trackable in the middle of the free part of the map, and its goal in view. */
function keep(frame, goal) {
  if (!hasZoomed) zoomTo(frame, goal);
  camera.keep(frame);
}

function zoomTo(place, destination) {
  const zoom = map.getZoom();
  const wanted = destination ? zoomWith(place, destination, zoom) : ALONE;
  if (wanted === zoom) return;
  isOwnZoom = true;
  map.setZoom(wanted, { animate: false });
  isOwnZoom = false;
}

/** Returns the zoom that shows a destination around a place in the middle. It changes back only with some room to spare. */
function zoomWith(place, destination, zoom) {
  const { right, bottom } = camera.covered;
  const { x, y } = map.getSize();
  const [width, height] = [Math.max(40, (x - right) / 2 - 50), Math.max(40, (y - bottom) / 2 - 60)];
  const closest = (share) => {
    for (let level = CLOSE; level >= FAR; level -= 1) {
      const away = map.project(camera.near(destination), level).subtract(map.project(camera.near(place), level));
      if (Math.abs(away.x) <= share * width && Math.abs(away.y) <= share * height) return level;
    }
    return ALONE;
  };
  const [most, safe] = [closest(1), closest(0.8)];
  if (zoom < FAR || zoom > most) return most;
  return Math.max(zoom, safe);
}

function follow(isOn) {
  isFollowing = isOn;
  if (isOn) hasZoomed = false;
  element("follow").hidden = isOn;
}

// MARK: The card

/** Returns true while the position is current, so that the page may call it live. */
function isLive({ state, time, inForce }) {
  if (time === undefined || state !== "ONLINE" || isAway()) return false;
  const { maximumSilence = 0, resolution } = inForce ?? {};
  return now() - time <= LIVE_AGE + (Math.max(maximumSilence, LIVE_AGE * 1000) + 2 * (resolution?.desiredInterval ?? 0)) / 1000;
}

function show(id, words) {
  set(element(id), words);
  element(id).hidden = words === "";
}

function fill() {
  const shown = trackable();
  const isNow = shown !== undefined && isLive(shown);
  element("card").classList.toggle("live", isNow);
  set(element("name"), link.name ?? link.trackable);
  set(element("seen"), seenText(shown, isNow));
  set(element("doing"), isNow && shown.estimate?.stop.status !== "ARRIVED" ? doingText(shown) : "");
  if (shown?.estimate) fillEstimate(shown.estimate);
  else fillArrival(isNow ? shown : undefined);
  show("note", noteText(shown));
  set(element("ends"), endText());
  show("banner", isAway() ? t("share.lost", { time: text.clock(now() - (performance.now() - lostAt) / 1000, now()) }) : "");
  const title = `${link.name ?? link.trackable}: ${seenText(shown, isNow)}`;
  if (document.title !== title) document.title = title;
}

function seenText(shown, isNow) {
  if (isNow) return t("share.live");
  if (shown?.time === undefined) return t("share.waiting");
  return t("share.seen", { ago: text.ago(now() - shown.time) });
}

/** Returns the straight-line distance in metres to the goal; undefined if it is not known. */
function remaining(shown) {
  const goal = goalOf(shown);
  return goal && shown.place ? distance(shown.place, goal) : undefined;
}

function doingText(shown) {
  const isMoving = (shown.speed ?? 0) > 0.5;
  if (!isMoving && remaining(shown) < THERE) return t("share.there");
  return t(isMoving ? "share.moving" : "share.standing");
}

/** Shows the estimate of the link's stop. */
function fillEstimate(estimate) {
  const { time, stop, stopsBefore } = estimate;
  const isOver = stop.status === "ARRIVED";
  const isAged = !isOver && isOld(estimate, now());
  element("card").classList.toggle("old-estimate", isAged);
  element("turn").className = stop.status;
  show("turn", turnText(stop, stopsBefore));
  showTime(isOver ? undefined : stop.eta, stop);
  show("way", isOver || stop.distance === undefined ? "" : t("share.way", { length: text.metres(stop.distance) }));
  show("estimate-age", isAged ? t("journey.old", { time: text.clock(time, now()), ago: text.ago(now() - time) }) : "");
}

/** Returns the text about the turn of the link's stop: "3 stops before you", "You are next" or "Arrived at 14:31". */
function turnText({ status, eta }, stopsBefore) {
  if (status === "ARRIVED") return eta === undefined ? t("share.arrived") : t("share.arrived-at", { time: text.clock(eta, now()) });
  const turn = stopsBefore > 0 ? t("share.before", { count: stopsBefore }) : t("share.next");
  return status === "DELAYED" ? t("share.delayed", { turn }) : turn;
}

/** Shows a time of arrival, with its band and the remaining minutes; undefined for none. */
function showTime(time, limits = {}) {
  element("arrival").hidden = time === undefined;
  if (time === undefined) return;
  const [left, band] = [time - now(), bandText(limits, now())];
  set(element("when"), text.clock(time, now()));
  set(element("band"), band ? t("share.band", { band }) : "");
  set(element("in"), left > 0 ? t("share.in", { time: text.duration(Math.max(60, Math.round(left / 60) * 60)) }) : "");
}

/** Shows the arrival and the remaining way; `shown` is undefined while the position is not current. */
function fillArrival(shown) {
  const way = shown && remaining(shown);
  const isFar = way !== undefined && way >= THERE;
  showTime(isFar && shown.arrival - now() > -30 ? shown.arrival : undefined);
  element("card").classList.remove("old-estimate");
  for (const id of ["turn", "estimate-age"]) show(id, "");
  show("way", isFar ? t("share.way", { length: text.metres(way) }) : "");
}

function noteText(shown) {
  if (!L) return t("share.no-map");
  if (shown?.time !== undefined || openedAt === undefined || performance.now() - openedAt < 2000) return "";
  const ahead = shown?.clockAhead;
  return `${t("link.empty")}${ahead === undefined ? "" : ` ${t("clock-ahead.sentence", { age: text.age(ahead) })}`}`;
}

function endText() {
  if (link.ends === undefined) return "";
  return t(text.isSameDay(link.ends, now()) ? "share.ends" : "share.ends-on", { time: text.clock(link.ends, now()) });
}

function showOperator({ name, logo } = {}) {
  set(element("operator-name"), name ?? "");
  if (logo) {
    element("logo").alt = name ? "" : t("share.logo");
    element("logo").src = logo;
  }
  element("logo").hidden = !logo;
  element("operator").hidden = !name && !logo;
}

// MARK: The end

/** Replaces the page by the reason why the link shows nothing: "expired", "revoked" or "wrong". */
function end(state, ends) {
  live?.stop();
  live = undefined;
  clearInterval(ticking);
  document.removeEventListener("visibilitychange", look);
  fleet.clear();
  element("over").prepend(element("operator"));
  for (const id of ["map", "dock", "banner"]) element(id).hidden = true;
  set(element("over-title"), t(`share.${state}`));
  set(element("over-why"), endedText(state, ends));
  set(element("over-remedy"), t(state === "wrong" ? "share.wrong.remedy" : "share.over.remedy"));
  element("over").hidden = false;
  document.title = t(`share.${state}`);
}

/** Returns the sentence about the time at which the link ended; or about an address that is wrong. */
function endedText(state, ends) {
  if (ends === undefined) return state === "wrong" ? t("share.wrong.why") : "";
  const day = text.isSameDay(ends, now()) ? "why" : "why-on";
  return t(`share.${state}.${day}`, { time: text.clock(ends, now()) });
}

/** Reads the state of the link, and ends the page if the link is over. Returns true if the link is valid. */
async function readLink() {
  const { ok, status, body } = await answer("/map/link");
  if (status === 401) { end("wrong"); return false; }
  if (!ok) return link !== undefined;
  if (body.state !== "valid") { end(body.state, body.ends); return false; }
  link = body;
  return true;
}

// MARK: The live stream

function followStream() {
  live = new Live({
    event(kind, data) {
      if (data.trackable === link.trackable) fleet.happened(kind, data, performance.now());
    },
    opened(hello) {
      openedAt ??= performance.now();
      lostAt = undefined;
      if (!hello.resumed) fleet.clear();
      readLink();
    },
    time(seconds) { told = { time: seconds, at: performance.now() }; },
    reset() { fleet.clear(); },
    lost() { lostAt ??= performance.now(); },
    replaced() { fleet.clear(); },
    ended() { end("expired", link.ends); readLink(); },
    /** The gateway rejected the stream, but the link may be valid: the gateway may have been too busy to check it. */
    async refused() { if (await readLink()) setTimeout(() => { if (live && !document.hidden) live.start(); }, PATIENCE); },
  });
  live.requests.want(new Map([[link.trackable, SHARED]]));
  document.addEventListener("visibilitychange", look);
  look();
}

/** Closes the stream while the page is hidden, so that it requests nothing then. */
function look() {
  if (document.hidden) { live.stop(); return; }
  trackable()?.animator.snap();
  live.start();
}

/** The timer that updates the texts of the card. */
let ticking;

async function start() {
  const { tiles, operator } = await json("/map/config") ?? {};
  showOperator(operator);
  if (!await readLink()) {
    // Without an answer of the gateway the page tries again.
    if (element("over").hidden) { show("banner", t("share.away")); setTimeout(start, 3000); }
    return;
  }
  show("banner", "");
  if (L) await makeMap(tiles);
  followStream();
  fill();
  ticking = setInterval(fill, 500);
}

translate();
element("follow").addEventListener("click", () => follow(true));
start();
