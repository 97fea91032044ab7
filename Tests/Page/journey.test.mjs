// The journey of a trackable: its stops, the estimates of their arrival times, and the way ahead.
// Run with: node --test Tests/Page

import assert from "node:assert/strict";
import { test } from "node:test";
import { animator, fleet, i18n, journey, polyline, text } from "./modules.mjs";

const JOURNEY = { stops: [
  { id: "4711", name: "Depot", location: [9.52, 47.14], radius: 150, planned: 1795411697 }, { id: "4712", location: [9.51, 47.166] },
] };
const ESTIMATE = { time: 1795411097, basis: "route", route: "_ie|xA_uybQo}@_pRn}@_pR_xq@~oR", stops: [
  { id: "4711", eta: 1795411697, earliest: 1795411607, latest: 1795411787, distance: 7400, status: "EN_ROUTE" },
  { id: "4712", eta: 1795412097, earliest: 1795411947, latest: 1795412247, distance: 10900, status: "DELAYED" },
] };
const NOW = ESTIMATE.time + 10;

/** Returns a trackable that received these messages of the live stream. */
function vanWith(...messages) {
  const all = new fleet.Fleet(() => NOW);
  for (const [kind, value] of messages) all.happened(kind, { trackable: "van", [kind]: value }, 0);
  return all.get("van");
}

/** Returns the value of a function in a language, with these units. */
function spoken(code, units, body) {
  globalThis.document = { documentElement: {}, querySelectorAll: () => [] };
  i18n.chooseLanguage(code);
  text.chooseUnits(units);
  try { return body(); } finally { i18n.chooseLanguage("en"); text.chooseUnits("metric"); }
}

const clock = (seconds) => text.clock(seconds, NOW);

test("a route is the polyline of the reference, with six decimals", () => {
  assert.deepEqual(polyline.routeOf(ESTIMATE.route).map(({ lat, lng }) => [lat.toFixed(6), lng.toFixed(6)].map(Number)),
    [[47.14, 9.5], [47.141, 9.51], [47.14, 9.52], [47.166, 9.51]]);
  for (const damaged of ["", "_", "_ie|xA", "~~~~~~~~~~~~~~~~~~~~", "??\u0000\u0000"]) {
    assert.ok(polyline.routeOf(damaged).every(({ lat, lng }) => Math.abs(lat) <= 90 && Math.abs(lng) <= 360), damaged);
  }
});

test("stops have their estimates, whichever message is first, until one is cleared", () => {
  for (const van of [vanWith(["journey", JOURNEY], ["estimate", ESTIMATE]), vanWith(["estimate", ESTIMATE], ["journey", JOURNEY])]) {
    assert.deepEqual(van.stops.map(({ label, estimate }) => `${label} ${estimate.status}`), ["Depot EN_ROUTE", "Stop 2 DELAYED"]);
    assert.equal(van.route.length, 4);
    assert.equal(journey.nextStop(van.stops).id, "4711");
    van.estimated(null);
    assert.deepEqual([van.stops[0].estimate, van.route, journey.nextStop(van.stops)], [undefined, [], undefined]);
    van.planned(null);
    assert.deepEqual(van.stops, []);
  }
  const arrived = { ...ESTIMATE, stops: [{ id: "4711", eta: NOW, status: "ARRIVED" }, { id: "4712", status: "UNKNOWN" }, { id: "other" }] };
  assert.equal(journey.nextStop(vanWith(["journey", JOURNEY], ["estimate", arrived]).stops).id, "4712");
});

test("the text of a stop has its times and its distance, in the language and the units", () => {
  const [depot, second] = vanWith(["journey", JOURNEY], ["estimate", ESTIMATE]).stops;
  const [eta, earliest, latest] = [1795411697, 1795411607, 1795411787].map(clock);
  const shown = () => journey.stopText(depot, NOW);
  assert.equal(spoken("en", "metric", shown), `${eta} (${earliest} to ${latest}) · 7.4 km · planned\u00a0${eta}`);
  assert.equal(spoken("de", "imperial", shown), `${eta} (${earliest} bis ${latest}) · 4,6 mi · geplant\u00a0${eta}`);
  assert.ok(!journey.stopText(second, NOW).includes("planned"));
  assert.equal(journey.stopText({ planned: 1795411697, estimate: { status: "UNKNOWN" } }, NOW), `planned\u00a0${eta}`);
  assert.equal(journey.stopText({}, NOW), "");
  assert.equal(journey.arrivalText({ status: "ARRIVED", eta: 1795411697 }, NOW), `arrived at ${eta}`);
  assert.equal(journey.arrivalText({ status: "EN_ROUTE", eta: 1795411697 }, NOW), eta);
});

test("an estimate of more than two minutes is old", () => {
  assert.deepEqual([120, 121].map((age) => journey.isOld(ESTIMATE, ESTIMATE.time + age)), [false, true]);
  assert.equal(journey.noteText(ESTIMATE, NOW), "");
  assert.equal(journey.noteText(ESTIMATE, ESTIMATE.time + 300), `These times were estimated at ${clock(ESTIMATE.time)}, 5 min ago.`);
  assert.match(journey.noteText({ ...ESTIMATE, basis: "straight-line" }, NOW), /straight line/);
  assert.match(journey.noteText(undefined, NOW), /no estimate/);
});

test("the next stop is the first one without an arrival, and says that its estimate is old", () => {
  const van = vanWith(["journey", JOURNEY], ["estimate", { ...ESTIMATE, stops: [{ id: "4711", eta: NOW, status: "ARRIVED" }, ESTIMATE.stops[1]] }]);
  assert.equal(journey.nextStopText(van, NOW), `Stop 2, ${clock(1795412097)} (${clock(1795411947)} to ${clock(1795412247)})`);
  assert.match(journey.nextStopText(van, NOW + 600), /, estimated 10 min ago$/);
  assert.equal(journey.nextStopText(vanWith(["journey", JOURNEY]), NOW), undefined);
});

const at = (lat, lng) => ({ lat, lng });

test("the way ahead begins at the marker, and keeps its corners", () => {
  const route = [at(0, 0), at(0, 0.01), at(0.01, 0.01), at(0.01, 0), at(0, 0)];
  assert.deepEqual(journey.wayAhead(route, at(0, 0.004)).slice(2), route.slice(1));
  const beside = journey.wayAhead(route, at(0.005, 0.0101));
  assert.deepEqual(beside.slice(2), route.slice(2));
  assert.ok(animator.distance(beside[1], at(0.005, 0.01)) < 0.1);
  // At the beginning of a round trip, which is its end too.
  assert.deepEqual(journey.wayAhead(route, at(0, 0)).slice(2), route.slice(1));
  // A marker that is behind the beginning of the route drives to it.
  const behind = journey.wayAhead(route, at(0, -0.0005));
  assert.deepEqual([behind[0].lng, behind[1].lng], [-0.0005, 0]);
  assert.equal(journey.wayAhead(route, at(0.005, 0.005)), route);
  assert.equal(journey.wayAhead(route, undefined), route);
  assert.deepEqual(journey.wayAhead([], at(0, 0)), []);
  assert.equal(journey.wayAhead([at(1, 1), at(1, 1)], at(1, 1)).length, 3);
});
