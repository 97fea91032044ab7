// The street map: the decoder of vector tiles, the kinds of roads and land, the places of names, and the loading of tiles.
// Run with: node --test Tests/Page

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { OUTLINE, background, ground, streetNames, streetStyle, streets, vectorTile } from "./modules.mjs";

const fixture = (name, place = "14-8625-5753") =>
  new Uint8Array(readFileSync(new URL(`../Fixtures/Tiles/${name}-${place}.mvt`, import.meta.url)));
const decoded = (bytes) => vectorTile.decodeTile(bytes, streetStyle.LAYERS);

/** Returns how often each value occurs. */
const counted = (values) => values.reduce((counts, value) => ({ ...counts, [value]: (counts[value] ?? 0) + 1 }), {});

test("the engine's tile has roads of each kind", () => {
  const layers = decoded(fixture("streets"));
  assert.deepEqual([...layers.keys()], ["edges"]);
  const { extent, features } = layers.get("edges");
  assert.deepEqual([extent, features.length], [4096, 415]);
  const kinds = counted(features.map(({ properties }) => streetStyle.roadOf("edges", properties)));
  assert.deepEqual(kinds, { primary: 49, secondary: 26, street: 159, path: 139, service: 42 });
  assert.ok(features.every(({ type, parts }) => type === vectorTile.LINE && parts.every((part) => part.length >= 4)));
  // Lines reach beyond the tile.
  assert.ok(features.every(({ parts }) => parts.flat().every((value) => value > -4096 && value < 8192)));
});

test("tilemaker's tile has roads, land, water, buildings and names", () => {
  const layers = decoded(fixture("land"));
  assert.deepEqual([layers.has("poi"), layers.has("housenumber")], [false, false]);
  const kinds = (name, kindOf) => counted(layers.get(name).features.map(({ properties }) => kindOf(name, properties)));
  const roads = kinds("transportation", streetStyle.roadOf);
  assert.ok(roads.primary > 5 && roads.secondary > 5 && roads.street > 20 && roads.path > 20, JSON.stringify(roads));
  assert.equal(kinds("building", streetStyle.landOf).building, 393);
  assert.equal(kinds("water", streetStyle.landOf).sea, 7);
  assert.ok(kinds("landcover", streetStyle.landOf).green > 5);
  assert.deepEqual(layers.get("place").features.map(({ properties }) => streetStyle.nameOf(properties)), ["Vaduz"]);
  // Each ring is closed.
  for (const { parts } of layers.get("building").features) {
    for (const ring of parts) assert.deepEqual(ring.slice(0, 2), ring.slice(-2));
  }
});

test("the tile of the demo's town has streets and their names", () => {
  const layers = decoded(fixture("town", "14-8214-8168"));
  assert.deepEqual([...layers.keys()], ["transportation", "transportation_name"]);
  const { extent, features } = layers.get("transportation");
  assert.equal(extent, 4096);
  const kinds = counted(features.map(({ properties }) => streetStyle.roadOf("transportation", properties)));
  assert.deepEqual(Object.keys(kinds).toSorted(), ["secondary", "street", "trunk"]);
  assert.ok(kinds.street >= 9 && kinds.trunk === 1, JSON.stringify(kinds));
  const names = layers.get("transportation_name").features.map(({ properties }) => streetStyle.nameOf(properties));
  assert.ok(names.includes("Avenue 3") && names.includes("Trunk Road"));
  // Avenue 3 leads north by 200 m from point to point, 335 units of this tile.
  const [x, y, nextX, nextY] = layers.get("transportation_name").features[names.indexOf("Avenue 3")].parts[0];
  assert.ok(Math.abs(nextX - x) <= 1 && Math.abs(y - nextY - 335) <= 2, `${x} ${y} ${nextX} ${nextY}`);
});

test("damaged tiles neither throw nor take long", () => {
  let seed = 1;
  const random = (below) => { seed = (seed * 48271) % 2147483647; return seed % below; };
  const start = performance.now();
  let damaged = 0;
  for (const bytes of [fixture("streets"), fixture("land")]) {
    for (let round = 0; round < 150; round += 1) {
      const other = bytes.slice(0, round % 3 === 0 ? random(bytes.length) : bytes.length);
      for (let i = 0; i < 1 + random(30); i += 1) other[random(other.length)] = random(256);
      if (decoded(other) === undefined) damaged += 1;
    }
  }
  assert.ok(damaged > 50);
  assert.ok(performance.now() - start < 60_000);
  const part = (field, ...content) => [field * 8 + 2, content.length, ...content];
  const layer = (...content) => new Uint8Array(part(3, ...part(1, ...new TextEncoder().encode("edges")), ...content));
  for (const [name, bytes] of Object.entries({
    "a number without an end": new Uint8Array(20).fill(0xff),
    "a length beyond the end": new Uint8Array([0x1a, 0xff, 0xff, 0xff, 0x7f]),
    "an unknown kind of value": new Uint8Array([0x1b]),
    "an extent of zero": layer(5 * 8, 0),
    "a command with many repetitions": layer(...part(2, ...part(4, 0xf9, 0xff, 0xff, 0xff, 0x0f))),
    "an unknown command": layer(...part(2, ...part(4, 0x0b, 0, 0))),
    "a page": new TextEncoder().encode("<html>"),
    "too many bytes": new Uint8Array(5 << 20),
  })) assert.equal(decoded(bytes), undefined, name);
  // Tags without a key or a value are no properties, and names of built-in properties are no kinds.
  const [feature] = decoded(layer(...part(3, ...new TextEncoder().encode("__proto__")), ...part(2, ...part(2, 0, 9, 7, 0)))).get("edges").features;
  assert.deepEqual([...feature.properties], [["__proto__", undefined]]);
  assert.equal(streetStyle.roadOf("transportation", new Map([["class", "constructor"]])), undefined);
  assert.deepEqual([...decoded(new Uint8Array())], []);
});

test("uses that are no streets have their own kinds", () => {
  const road = (properties) => streetStyle.roadOf("edges", new Map(Object.entries(properties)));
  assert.deepEqual([{ road_class: 0, use: 0 }, { road_class: 0, use: 1 }, { road_class: 7, use: 25 }, { road_class: 4, use: 41 }, { road_class: 9 }]
    .map(road), ["motorway", "trunk", "path", "ferry", undefined]);
  assert.ok(streetStyle.widthAt("motorway", 8) < 2 && streetStyle.widthAt("motorway", 20) > 20);
});

test("a name is beside a road only where it fits, and is read from left to right", () => {
  const widths = Array(10).fill(6);
  assert.equal(streetNames.lettersAlong([0, 0, 65, 0], widths), undefined);
  const straight = streetNames.lettersAlong([0, 10, 100, 10], widths);
  assert.deepEqual([straight.length, straight[0], straight[9].x], [10, { x: 23, y: 10, angle: 0 }, 77]);
  assert.deepEqual(streetNames.lettersAlong([100, 10, 0, 10], widths), straight);
  assert.equal(streetNames.lettersAlong([0, 0, 50, 0, 50, 50], widths), undefined);
  assert.equal(streetNames.lettersAlong([5, 5, 5, 5], widths), undefined);
  assert.equal(streetNames.lettersAlong([], widths), undefined);
  const room = new streetNames.Room(100);
  assert.deepEqual([[[0, 0, 50, 10]], [[40, 5, 60, 20]], [[60, 0, 101, 10]], [[50, 0, 100, 10]]].map((boxes) => room.take(boxes)),
    [true, false, false, true]);
  // Of a road with several parts, the longest one inside of the tile has the name.
  const lines = new streetNames.LineFinder(100, 10);
  lines.add("A", [0, 0, 10, 0]);
  lines.add("A", [0, 5, 50, 5, 150, 5, 90, 7, 95, 7]);
  lines.add("B", Array(30).fill(1));
  assert.deepEqual(lines.longest(9), [{ name: "A", line: [0, 5, 50, 5], length: 50 }]);
});

test("a tile of a high zoom is a part of a vector tile", () => {
  assert.deepEqual(streets.sourceOf({ x: 5, y: 9, z: 12 }, 14), { tile: { z: 12, x: 5, y: 9 }, scale: 512, left: 0, top: 0 });
  assert.deepEqual(streets.sourceOf({ x: 5, y: 9, z: 16 }, 14), { tile: { z: 14, x: 1, y: 2 }, scale: 2048, left: 512, top: 512 });
});

test("a tile is loaded once, and again after a failure", async () => {
  const asked = [];
  const store = new streets.TileStore((path) => {
    asked.push(path);
    return path === "bad" ? Promise.reject(new Error(path)) : Promise.resolve(path);
  });
  assert.deepEqual(await Promise.all([store.tile("a"), store.tile("a")]), ["a", "a"]);
  await assert.rejects(store.tile("bad"));
  await assert.rejects(store.tile("bad"));
  assert.deepEqual(asked, ["a", "bad", "bad"]);
  for (let i = 0; i < 100; i += 1) { await store.tile("a"); await store.tile(`b${i}`); }
  assert.equal(asked.filter((path) => path === "a").length, 1);
  assert.ok(store.tiles.size <= 64);
});

test("missing tiles are reported after failures in a row", () => {
  const health = new background.TileHealth(2);
  assert.deepEqual([health.failed(), health.loaded(), health.failed(), health.isFailing], [false, false, false, false]);
  assert.deepEqual([health.failed(), health.failed(), health.isFailing, health.loaded(), health.isFailing], [true, false, true, true, false]);
});

test("the outlines are rings on the earth", () => {
  const rings = OUTLINE.map(ground.ringOf);
  assert.ok(rings.length > 200);
  for (const ring of rings) {
    assert.ok(ring.length >= 6 && ring.length % 2 === 0);
    assert.ok(ring.every((value, i) => Math.abs(value) <= (i % 2 === 0 ? 180.01 : 90.01)));
  }
  // Google's example of the encoding, with two decimals in place of five.
  assert.deepEqual(ground.ringOf("_p~iF~ps|U").map((value) => Math.round(value)), [38500, -120200]);
});
