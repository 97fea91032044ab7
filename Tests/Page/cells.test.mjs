// The counts of cells on a map with many trackables.
// Run with: node --test Tests/Page

import assert from "node:assert/strict";
import { test } from "node:test";
import { cells, crowd, directory, filter, fleet, names, seek } from "./modules.mjs";

const { Cells, areaAround, covers, levelAt, partsOf, queryOf, shortCount } = cells;

/** A view of the whole world in 1024 × 1024 pixels. */
const world = {
  width: 1024, height: 1024, near: (lng) => (lng + 180) / 360 * 1024,
  y: (lat) => (0.5 - Math.asinh(Math.tan(lat * Math.PI / 180)) / (2 * Math.PI)) * 1024,
};

test("a cell has 64 pixels, within the levels of the grid", () => {
  assert.deepEqual([0, 2, 5.4, 12, 20].map(levelAt), [3, 4, 7, 14, 17]);
});

test("the area of the stream is larger than the view, and remains while it has the cells of the view", () => {
  const view = { west: 8, south: 50, east: 12, north: 52 };
  const area = areaAround(view, 6);
  assert.deepEqual(area, { west: 7, south: 49.5, east: 13, north: 52.5, level: 8 });
  assert.equal(covers(area, { ...view, west: 7.5, east: 12.9 }, 6), true);
  assert.equal(covers(area, { ...view, west: 6.9 }, 6), false);
  assert.equal(covers(area, view, 7), false);
  assert.equal(covers(undefined, view, 6), false);
  assert.equal(queryOf(area), "bbox=7.00000,49.50000,13.00000,52.50000&cells=8");
  assert.equal(queryOf({ ...area, west: 170, east: 190 }), "bbox=170.00000,49.50000,-170.00000,52.50000&cells=8");
  assert.equal(queryOf({ ...area, west: -200, east: 200 }), "bbox=-180.00000,49.50000,180.00000,52.50000&cells=8");
});

test("changed cells replace the former ones, and empty cells are removed", () => {
  const shown = new Cells();
  assert.deepEqual([shown.isOn, shown.isLarge, shown.moved({}, 3)], [false, false, undefined]);
  shown.take({ cells: null });
  assert.equal(shown.isLarge, false);
  shown.take({ z: 3, complete: true, cells: [[4, 2, 2000, 10, 1], [7, 0, 1, 0, 0, "van-7"]] });
  assert.deepEqual([shown.isOn, shown.isLarge, shown.total, shown.extent.length], [true, true, 2001, 4]);
  shown.take({ z: 3, complete: false, cells: [[4, 2, 1990, 10, 1], [7, 0, 0, 0, 0], [0, 7, 5, 0, 0]] });
  assert.equal(shown.total, 1995);
  shown.take({ z: 4, complete: true, cells: [[8, 4, 1600, 0, 0]] });
  assert.equal(shown.total, 1600);
  shown.take({ cells: null });
  assert.deepEqual([shown.isOn, shown.isLarge], [false, true]);
});

test("the circle of a cell is in its middle, and a click on it finds the corners", () => {
  const shown = new Cells();
  shown.take({ z: 3, complete: true, cells: [[4, 3, 2000, 0, 0]] });
  const [circle] = shown.circles(world);
  assert.ok(Math.abs(circle.x - 576) < 1e-6 && Math.abs(circle.y - 448) < 5, JSON.stringify(circle));
  const [northWest, southEast] = shown.at({ x: circle.x + 5, y: circle.y }, world);
  assert.deepEqual([northWest.lng, southEast.lng, Math.round(southEast.lat)], [0, 45, 0]);
  assert.ok(Math.abs(northWest.lat - 40.98) < 0.01);
  assert.equal(shown.at({ x: 10, y: 10 }, world), undefined);
  assert.deepEqual(shown.circles({ ...world, near: () => -100 }), []);
});

test("the ring of a cell shows the shares of stale and moving trackables", () => {
  const parts = partsOf({ count: 4, moving: 2, stale: 1 });
  assert.deepEqual(parts.map(({ state }) => state), ["STALE", "ONLINE", "OFFLINE"]);
  assert.deepEqual(parts.map(({ from, to }) => Math.round((to - from) / Math.PI * 100)), [50, 100, 50]);
  assert.deepEqual(partsOf({ count: 3, moving: 0, stale: 0 }).map(({ state }) => state), ["OFFLINE"]);
  assert.deepEqual([7, 9999, 10000, 99600].map(shortCount), ["7", "9999", "10k", "100k"]);
});

test("the stream follows the view once it has counts", () => {
  const [queries, done] = [[], []];
  const bounds = { west: -180, south: -80, east: 180, north: 80 };
  const map = {
    zoom: 2, on(_, moved) { this.moved = moved; }, getZoom() { return this.zoom; },
    getBounds: () => ({ toBBoxString: () => [bounds.west, bounds.south, bounds.east, bounds.north].join(",") }),
  };
  const live = { show: (query) => queries.push(query) };
  const named = {};
  const page = {
    live: () => live, beginAnew: () => done.push("anew"), fit: () => done.push("fit"), load: () => {}, searched: () => {},
    filter: { isOnLabels: false },
  };
  const one = new crowd.Crowd(map, named, page);
  assert.equal(one.query, "cells=4");
  map.moved();
  one.take({ cells: null });
  assert.deepEqual([queries, named.isPartial], [[], false]);
  one.take({ z: 4, complete: true, cells: [[8, 5, 2000, 0, 0]] });
  assert.deepEqual([done, named.isPartial, queries], [["anew", "fit"], true, ["bbox=-180.00000,-90.00000,180.00000,90.00000&cells=4"]]);
  map.moved();
  assert.equal(queries.length, 1);
  Object.assign(bounds, { west: 0, south: 50, east: 1, north: 51 });
  map.zoom = 10;
  map.moved();
  assert.equal(queries[1], "bbox=-0.25000,49.75000,1.25000,51.25000&cells=12");
  one.forget();
  assert.deepEqual([named.isPartial, live.query, one.cells.isLarge], [false, "cells=12", false]);
});

/** Returns a function that answers with pages of trackables, as the gateway does, and the number of its calls. */
function fleetOf(rows, size = 2) {
  const read = async (path) => {
    read.calls += 1;
    const after = new URLSearchParams(path.split("?")[1]).get("after") ?? "";
    const rest = rows.filter(({ id }) => id > after);
    return { trackables: rest.slice(0, size), next: rest.length > size ? rest[size - 1].id : undefined };
  };
  read.calls = 0;
  return read;
}

const makeFilter = (needle, groups = []) => {
  const one = new filter.Filter({ addEventListener() {} }, () => {});
  one.search(needle);
  for (const group of groups) one.groups.add(group);
  return one;
};

test("the search of a large fleet reads all pages, and finds names, ids and groups", async () => {
  const rows = [{ id: "a1", name: "Rosie", groups: ["night"] }, { id: "a11" }, { id: "a2", groups: ["day", "night"] }, { id: "b", name: "A1" }, { id: "ba1" }];
  const read = fleetOf(rows);
  const one = new directory.Directory(read);
  assert.equal(one.isRead, false);
  await Promise.all([one.load(), one.load()]);
  await one.load();
  assert.deepEqual([one.isRead, read.calls, one.labels.size], [true, 3, 5]);
  assert.deepEqual([...one.groups], [["night", 2], ["day", 1]]);
  // Equal names and ids come first, then those that begin with the text.
  assert.deepEqual(one.find(makeFilter("A1")), { ids: ["b", "a1", "a11", "ba1"], count: 4 });
  assert.deepEqual(one.find(makeFilter("rosie")), { ids: ["a1"], count: 1 });
  assert.deepEqual(one.find(makeFilter("", ["night"])), { ids: ["a2", "a1"], count: 2 });
  assert.deepEqual(one.find(makeFilter("zzz")), { ids: [], count: 0 });
});

test("a search shows a limited number of matches, as many as one request can name", async () => {
  const rows = Array.from({ length: 300 }, (_, i) => ({ id: `${"v".repeat(60)}${1000 + i}` }));
  const one = new directory.Directory(fleetOf(rows, 1000));
  await one.load();
  const { ids, count } = one.find(makeFilter("v"));
  assert.deepEqual([ids.length, count], [200, 300]);
  const named = directory.queryOfIds(ids);
  assert.ok(named.query.length < 8100 && named.ids.length > 50 && named.ids.length < 200);
  assert.deepEqual(directory.queryOfIds([]), { query: undefined, ids: [] });
});

test("a gateway that does not answer leaves the former names", async () => {
  const one = new directory.Directory(async () => undefined);
  await one.load();
  assert.deepEqual([one.isRead, one.labels.size], [false, 0]);
});

test("during a search, the live stream has the matches, and afterwards the view again", async () => {
  const queries = [];
  const map = {
    on() {}, getZoom: () => 4, getBounds: () => ({ toBBoxString: () => "0,50,1,51" }),
  };
  const live = { show(query) { this.query = query; queries.push(query); } };
  const page = {
    live: () => live, beginAnew() {}, fit() {}, load() {}, filter: makeFilter(""), searched: () => { page.results += 1; }, results: 0,
  };
  const one = new crowd.Crowd(map, {}, page);
  const rows = Array.from({ length: 300 }, (_, i) => ({ id: `t${i}`, last: 5 }));
  one.directory = new directory.Directory(fleetOf(rows, 1000));
  one.take({ z: 6, complete: true, cells: [[4, 2, 2000, 10, 1]] });
  assert.deepEqual([one.shown.isOn, one.total, one.advice({ found: [] })], [true, 2000, ["cells"]]);
  page.filter.search("t29");
  assert.deepEqual(one.advice({ found: [] }), ["searching"]);
  await one.search();
  assert.equal(queries.at(-1), `${["t29", "t290"].map((id) => `trackable=${id}`).join("&")}${[1, 2, 3, 4, 5, 6, 7, 8, 9].map((i) => `&trackable=t29${i}`).join("")}`);
  assert.deepEqual([one.shown.isOn, one.cells.isLarge, one.total, one.matches.count], [false, true, 300, 11]);
  const matches = new fleet.Fleet();
  one.addMatches(matches);
  assert.deepEqual([matches.byId.size, matches.get("t29").recorded], [11, 5]);
  // A moved map does not end the search.
  const shown = queries.length;
  one.follow();
  page.filter.search("nothing");
  await one.search();
  assert.deepEqual([queries.length, one.matches.ids, one.advice({ found: [] })], [shown, [], ["no-match", { count: 300 }]]);
  page.filter.search("t");
  await one.search();
  assert.deepEqual(one.advice({ found: [1] }), ["matches", { count: 300, shown: 200 }]);
  page.filter.search("");
  await one.search();
  assert.equal(queries.at(-1), "bbox=-0.25000,49.75000,1.25000,51.25000&cells=6");
  assert.deepEqual([one.matches, page.results >= 4], [undefined, true]);
});

test("the trackable of an address is read from the gateway", async () => {
  const one = new fleet.Fleet();
  const answers = {
    "/api/v1/trackables/van%209": {
      ok: true, status: 200, body: {
        id: "van 9", name: "Rosie", state: { state: "ONLINE" },
        position: { geometry: { coordinates: [9.5, 47.1] }, properties: { time: 5 } },
      },
    },
    "/api/v1/trackables/van%209/position": { ok: true, status: 200, body: { geometry: { coordinates: [9.5, 47.1] } } },
    "/api/v1/trackables/busy": { ok: false, status: 503 },
  };
  const read = async (path) => answers[path] ?? { ok: false, status: 404 };
  assert.equal(await seek.seek("van 9", one, read), "found");
  const { label, place, state } = one.byId.get("van 9");
  assert.deepEqual([label, place.lat, place.lng, state], ["Rosie", 47.1, 9.5, "ONLINE"]);
  assert.deepEqual([await seek.seek("no", one, read), await seek.seek("busy", one, read), one.byId.size], ["unknown", "failed", 1]);
  assert.deepEqual([await seek.placeOf("van 9", read), await seek.placeOf("no", read)], [{ lat: 47.1, lng: 9.5 }, undefined]);
});

test("the names of a part of the fleet are read in requests of limited length", () => {
  const ids = Array.from({ length: 1000 }, (_, i) => `van ${i}`);
  const queries = names.queriesOf(ids);
  assert.ok(queries.length > 1 && queries.every((query) => query.length < 8100));
  assert.deepEqual(queries.flatMap((query) => new URLSearchParams(query).getAll("trackable")), ids);
  assert.deepEqual(names.queriesOf([]), []);
});

test("a place is outside of the area of the live stream, also across the antimeridian", () => {
  const shown = new Cells();
  assert.equal(shown.isOutside({ lat: 0, lng: 0 }), false);
  shown.area = { west: 170, south: -10, east: 190, north: 10, level: 6 };
  for (const [lat, lng, isOutside] of [[0, 175, false], [0, -175, false], [0, 0, true], [11, 175, true], [-11, -175, true]]) {
    assert.equal(shown.isOutside({ lat, lng }), isOutside, `${lat}, ${lng}`);
  }
  assert.equal(shown.isOutside(undefined), false);
  shown.area = { west: -200, south: -90, east: 200, north: 90, level: 4 };
  assert.equal(shown.isOutside({ lat: 0, lng: 170 }), false);
});
