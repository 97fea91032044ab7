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
