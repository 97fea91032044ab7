// The marker between updates on a road, by the page's animator.
// Run with: node --test Tests/Page

import assert from "node:assert/strict";
import { test } from "node:test";
import { animator, fleet } from "./modules.mjs";

const { Animator, distance } = animator;
const at = (lat, lng) => ({ lat, lng });

test("the marker drives round a corner at an even speed, through the corner itself", () => {
  const one = new Animator(10_000);
  one.updated([at(0, 0)], 0);
  one.updated([at(0, 0.002), at(0.002, 0.002)], 1000);
  let [before, nearest] = [one.frame(1000), Infinity];
  for (let now = 1100; now <= 11_000; now += 100) {
    const frame = one.frame(now);
    const step = distance(before, frame);
    assert.ok(step > 3 && step < 4.5, `${now}: ${step}`);
    nearest = Math.min(nearest, distance(frame, at(0, 0.002)));
    before = frame;
  }
  assert.ok(nearest < 0.01, `${nearest}`);
});

test("the marker leaves the road and returns to it without a jump", () => {
  const one = new Animator(1000);
  one.updated([at(0, 0)], 0);
  const updates = [[at(0, 0.0001)], [at(0.00002, 0.0002)], [at(0.00003, 0.0003)], [at(0, 0.0003)], [at(0, 0.00035), at(0, 0.0004)]];
  let before = one.frame(0);
  for (let now = 0; now < 6000; now += 10) {
    if (now % 1000 === 0 && updates[now / 1000]) one.updated(updates[now / 1000], now);
    const frame = one.frame(now);
    assert.ok(distance(before, frame) < 0.2, `${now}`);
    before = frame;
  }
  assert.ok(distance(before, at(0, 0.0004)) < 0.01);
});

const moved = (seq, lng, more = {}) => ({
  location: { geometry: { coordinates: [lng, 0] }, properties: { time: seq, seq, stream: "s" } }, ...more,
});

test("a trackable has its road while it is on one, and its marker takes the way", () => {
  const all = new fleet.Fleet(() => 0);
  const van = all.get("van");
  van.moved(moved(1, 0), 0);
  assert.equal(van.enhanced, undefined);
  const way = [{ geometry: { coordinates: [0, 0.001] }, properties: { time: 1.5 } }];
  van.moved(moved(2, 0.001, { enhanced: { road: "Main Street", confidence: "matched" }, intermediateLocations: way }), 0);
  assert.equal(van.enhanced.road, "Main Street");
  assert.equal(van.animator.way.length, 3);
  // The position on the road replaces the one of the same fix: the trail has the fix once.
  van.moved(moved(3, 0.002), 1000);
  assert.equal(van.enhanced, undefined);
  van.moved(moved(3, 0.0021, { enhanced: { road: "Side Street", confidence: "matched" } }), 1100);
  assert.equal(van.enhanced.road, "Side Street");
  assert.equal(van.trail.length, 3);
  van.moved({}, 1200);
  assert.equal(van.enhanced, undefined);
});

const feature = ([lng, lat], properties = {}) => ({ geometry: { coordinates: [lng, lat] }, properties });
/** Returns an update with a position on the road, and the way to it. */
const onRoad = (seq, place, way, more = {}) => ({
  location: feature(place, { time: seq, seq, stream: "s" }), intermediateLocations: way.map((one) => feature(one)),
  enhanced: { confidence: "matched" }, ...more,
});
const CORNER = at(0, 0.002);

test("the trail follows the road round a corner, up to the marker", () => {
  const van = new fleet.Fleet(() => 0).get("van");
  van.moved(onRoad(1, [0, 0], []), 0);
  const skipped = feature([0.0015, 0.0004], { time: 2, seq: 2 });
  van.moved(onRoad(3, [0.002, 0.002], [[0.002, 0]], { skippedLocations: [skipped] }), 1000);
  const places = () => van.trailTo(2000).map(({ lat, lng }) => [lat, lng]);
  assert.deepEqual(places(), [[0, 0], [0, 0.002], [0.002, 0.002]]);
  assert.deepEqual(van.trailTo(1400).length, 1);
  assert.deepEqual(van.trailTo(1600).length, 2);
  for (let now = 1000; now <= 2000; now += 50) {
    const [last, frame] = [van.trailTo(now).at(-1), van.animator.frame(now)];
    // The line from the trail to the marker is a part of the road.
    assert.ok(distance(last, frame) < 1 || last.lat === frame.lat || Math.abs(last.lng - frame.lng) < 1e-9, `${now}`);
  }
  assert.ok(distance(van.trail[1], CORNER) > 10 && van.trail.length === 3);
});

test("the position on the road replaces the published one in the trail, and the marker goes there directly", () => {
  const van = new fleet.Fleet(() => 0).get("van");
  van.moved(moved(1, 0), 0);
  van.moved(moved(2, 0.002), 1000);
  van.moved(onRoad(2, [0.0018, 0], [[0.0005, 0], [0.001, 0.0001]]), 1500);
  assert.deepEqual(van.trailTo(2500).map(({ lng }) => lng), [0, 0.0005, 0.001, 0.0018]);
  let before = van.animator.frame(1500).lng;
  for (let now = 1500; now <= 2500; now += 50) {
    const { lng } = van.animator.frame(now);
    assert.ok(lng >= before && lng <= 0.0018, `${now}: ${lng}`);
    before = lng;
  }
  // A late point and a published one of an old fix change nothing.
  van.moved(moved(1, 0.5, { late: true }), 2500);
  assert.deepEqual(van.trail.map(({ lng }) => lng), [0, 0.0018]);
});

test("a trail has at most 4,000 places of ways", () => {
  const van = new fleet.Fleet(() => 0).get("van");
  const way = Array.from({ length: 60 }, (_, i) => [0, i * 1e-6]);
  for (let seq = 1; seq <= 100; seq += 1) van.moved(onRoad(seq, [0, 0.0001], way), seq * 1000);
  assert.deepEqual([van.trail.length, van.wayPlaces, van.trailTo(1e6).length], [66, 3960, 66 * 61]);
  van.moved({}, 0);
  assert.deepEqual([van.trail.length, van.wayPlaces, van.trailTo(1e6).length], [0, 0, 0]);
});
