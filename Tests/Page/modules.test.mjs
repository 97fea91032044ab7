// The decisions of the map page's modules.
// Run with: node --test Tests/Page

import assert from "node:assert/strict";
import { test } from "node:test";
import { address, clusters, filter, fleet, ground, guide, i18n, labels, list, place, qr, sheet, text } from "./modules.mjs";

const spoken = (code, units, body) => {
  globalThis.document = { documentElement: {}, querySelectorAll: () => [] };
  i18n.chooseLanguage(code);
  text.chooseUnits(units);
  try { return body(); } finally { i18n.chooseLanguage("en"); text.chooseUnits("metric"); }
};

test("numbers and times follow the language and the units", () => {
  const shown = () => [text.speed(10), text.metres(150), text.metres(2500), text.longAgo(245e6), text.lastSeen(7200), text.ago(90)];
  assert.deepEqual(spoken("en", "metric", shown), ["36 km/h", "150 m", "2.5 km", "7 years ago", "last seen 2 hours ago", "90 s ago"]);
  assert.deepEqual(spoken("en", "imperial", shown).slice(0, 3), ["22 mph", "492 ft", "1.6 mi"]);
  assert.deepEqual(spoken("de", "metric", shown), ["36 km/h", "150 m", "2,5 km", "vor 7 Jahren", "zuletzt vor 2 Stunden", "vor 90 s"]);
  assert.equal(spoken("de", "metric", () => i18n.t("reason.others", { count: 1 })), "1 anderer Beobachter");
});

test("the grid has the numbers and the directions of the language", () => {
  const shown = () => [ground.gridLabel(52.668, 0.001, "N", "S"), ground.gridLabel(-8.5, 0.5, "E", "W"), ground.gridLabel(0, 10, "E", "W")];
  assert.deepEqual(spoken("en", "metric", shown), ["52.668° N", "8.5° W", "0° "]);
  assert.deepEqual(spoken("de", "metric", shown).slice(0, 2), ["52,668° N", "8,5° W"]);
});

test("printed commands name the port of the gateway's broker, or no broker", () => {
  const { van, record } = guide.commands;
  assert.deepEqual([van(), record()], [
    "godwit-agent run --trackable van-7 --source simulate:", "godwit record --store sqlite:history.sqlite",
  ]);
  guide.useBroker({ scheme: "mqtts", port: 8884 });
  assert.deepEqual([van(), record()], [
    "godwit-agent run --trackable van-7 --source simulate: --broker mqtts://127.0.0.1:8884",
    "godwit record --broker mqtts://127.0.0.1:8884 --store sqlite:history.sqlite",
  ]);
  guide.useBroker(undefined);
});

test("a filter has the groups of the whole fleet, if it is given them", () => {
  const made = { addEventListener() {} };
  const one = new filter.Filter(made, () => {});
  let shown;
  one.fill = (chips) => { shown = chips.map(([kind, value, , count]) => `${kind} ${value} ${count}`); };
  const all = new fleet.Fleet();
  const van = Object.assign(all.get("a"), { state: "ONLINE", groups: ["north"] });
  one.show(all, [], new Map([["north", 1500]]));
  assert.deepEqual(shown, ["group north 1500"]);
  one.show(all, [van], new Map([["north", 1500]]));
  assert.deepEqual(shown, ["state ONLINE 1", "group north 1500"]);
  one.show(all, [van]);
  assert.deepEqual(shown, ["state ONLINE 1", "group north 1"]);
  one.show(all, []);
  assert.deepEqual(shown, []);
});

test("a position is old after ten expected intervals and ten minutes", () => {
  const all = new fleet.Fleet(() => 10_000);
  const stateOf = (time, state, desiredInterval) => {
    const one = all.get("a");
    Object.assign(one, { time, state, inForce: desiredInterval && { resolution: { desiredInterval } } });
    return all.stateOf(one);
  };
  assert.equal(stateOf(9_401, "ONLINE"), "ONLINE");
  assert.equal(stateOf(9_399, "ONLINE"), "OLD");
  assert.equal(stateOf(9_399, "ONLINE", 120_000), "ONLINE");
  assert.equal(stateOf(8_799, "ONLINE", 120_000), "OLD");
  assert.equal(stateOf(0, "STALE"), "STALE");
  assert.equal(stateOf(undefined, "ONLINE"), "ONLINE");
});

const placed = (...places) => places.map(([id, x, y, state = "ONLINE"]) => ({ trackable: { id }, x, y, state }));

test("markers form groups by their distance in pixels from 30 markers on, in the colour of the worst state", () => {
  const crowd = placed(...Array.from({ length: 28 }, (_, i) => [`far${i}`, i * 100, 900]));
  const near = placed(["a", 100, 100], ["b", 120, 100, "STALE"]);
  const made = (places, zoom) => {
    const one = new clusters.Clusters();
    one.update(places, zoom, 0);
    return one.separated(places).groups;
  };
  assert.equal(made([...near, ...crowd.slice(1)], 10).length, 0);
  const [group] = made([...near, ...crowd], 10);
  assert.deepEqual([group.x, group.y, group.state, group.members.length], [110, 100, "STALE", 2]);
  assert.equal(made([...near, ...crowd], 16).length, 0);
  assert.equal(clusters.worse("STALE", "FAILED"), "FAILED");
  assert.equal(clusters.worse("ONLINE", "OLD"), "OLD");
});

test("the chosen marker is not in a group, and a group follows its markers", () => {
  const places = placed(...Array.from({ length: 30 }, (_, i) => [`t${i}`, 10, 10]));
  places[0].isChosen = true;
  const one = new clusters.Clusters();
  one.update(places, 10, 0);
  for (const moved of places) moved.x += 7;
  one.update(places, 10, 500);
  const { single, groups } = one.separated(places);
  assert.deepEqual([single.map(({ trackable }) => trackable.id), groups[0].members.length, groups[0].x], [["t0"], 29, 17]);
});

test("a stack is what no zoom separates", () => {
  const [a, b, c] = placed(["a", 100, 100], ["b", 101, 100], ["c", 130, 100]);
  assert.equal(clusters.isStack([a, b], 13), true);
  assert.equal(clusters.isStack([a, c], 13), false);
  assert.equal(clusters.isStack([a, c], 16), true);
  assert.deepEqual(clusters.stackAt(a, [a, b, c]), [a, b]);
});

test("no name is drawn over another one", () => {
  const items = Array.from({ length: 40 }, (_, i) => ({ x: 100 + (i % 8) * 30, y: 100 + Math.floor(i / 8) * 11, width: 40 }));
  const names = labels.arranged(items, items.map(({ x, y }) => ({ x, y, radius: 7 })));
  assert.ok(names.length > 3 && names.length < 40);
  for (const [i, { box: a }] of names.entries()) {
    for (const { box: b } of names.slice(i + 1)) assert.ok(a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1]);
  }
  const [alone] = labels.arranged([{ x: 0, y: 0, width: 40, side: 2 }], []);
  assert.equal(alone.side, 2);
});

test("the list is sorted by name, age, speed and battery; unknown values are last", () => {
  const one = (label, time, speed, batteryLevel) => ({ label, time, speed, properties: { batteryLevel } });
  const all = () => [one("v10", 5, 1, 0.9), one("v9", 9, undefined, 0.1), one("v1", undefined, 7, undefined)];
  const order = (key) => list.sorted(all(), key).map(({ label }) => label).join(" ");
  assert.equal(order("name"), "v1 v9 v10");
  assert.equal(order("age"), "v9 v10 v1");
  assert.equal(order("speed"), "v1 v10 v9");
  assert.equal(order("battery"), "v9 v10 v1");
});

test("a filter joins states, groups and the searched text", () => {
  const one = new filter.Filter({ addEventListener() {} }, () => {});
  const van = { id: "van-7", name: "Sprinter", groups: ["North", "Day"], group: "North, Day" };
  const matches = (state = "ONLINE") => one.matches(van, state);
  assert.equal(matches(), true);
  one.search("  SPRINT ");
  assert.equal(matches(), true);
  one.states.add("STALE");
  assert.deepEqual([matches(), matches("STALE")], [false, true]);
  one.groups.add("South");
  assert.equal(matches("STALE"), false);
  one.groups.add("Day");
  assert.equal(matches("STALE"), true);
  one.clear();
  assert.equal(one.isOn, false);
});

test("an address holds what is shown, and a damaged one is harmless", () => {
  const shown = {
    trackable: "van 7/ö&=", isFollowed: true, span: { from: 1793000000, to: 1793003600 },
    view: { lat: 52.66, lng: -8.63, zoom: 14 }, search: "a b", states: ["STALE"], groups: ["Nord, Süd", "x"],
  };
  assert.deepEqual(address.read(`#${address.addressOf(shown)}`), shown);
  assert.equal(address.addressOf({}), "");
  assert.equal(address.addressOf({ trackable: "a", view: shown.view }), "trackable=a&view=52.66000,-8.63000,14");
  for (const hash of ["#view=1,2", "#view=a,b,c", "#view=91,0,3", "#view=1,,3", "#from=x&to=y", "#from=2026-01-02&to=2026-01-01", "#%E0%A4"]) {
    const { view, span } = address.read(hash);
    assert.deepEqual([view, span], [undefined, undefined], hash);
  }
});

test("a place has addresses for other maps", () => {
  const here = { lat: 52.66, lng: -8.63 };
  assert.equal(place.coordinates(here), "52.66000, -8.63000");
  assert.equal(place.geoAddress(here), "geo:52.66000,-8.63000");
  assert.match(place.openStreetMap(here), /^https:\/\/www\.openstreetmap\.org\/\?mlat=52\.66000&mlon=-8\.63000#map=16\//);
});

test("a typed place is a latitude and a longitude in degrees", () => {
  const here = { lat: 52.66, lng: -8.63 };
  for (const typed of ["52.66,-8.63", " 52.66000, -8.63000 ", "52.66 -8.63", "+52.66; -8.63", "52.66°, -8.63°"]) {
    assert.deepEqual(place.typedPlace(typed), here, typed);
  }
  for (const typed of ["", "52.66", "52.66-8.63", "91, 0", "0, 181", "52,66, -8,63", "north", "1,2,3", "1e1, 2", "NaN, 1"]) {
    assert.equal(place.typedPlace(typed), undefined, typed);
  }
  assert.deepEqual(place.typedPlace(place.coordinates(here)), here);
});

test("the sheet has three stops, and leaves the zoom buttons free", () => {
  assert.deepEqual(["peek", "half", "full"].map((stop) => sheet.heightOf(stop, 844)), [112, 388, 720]);
  assert.equal(sheet.heightOf("full", 200), 112);
  assert.equal(sheet.stopAt(300, 844), "half");
  assert.equal(sheet.stopAt(300, 844, 2), "full");
  assert.equal(sheet.stopAt(300, 844, -2), "peek");
});

test("the set-up links are those of the apps", () => {
  const link = guide.overlandLink("https://example.org", "gw_a/b");
  assert.equal(link, "overland://setup?url=https%3A%2F%2Fexample.org%2Foverland&token=gw_a%2Fb");
  const [, inline] = guide.ownTracksLink("https://example.org", "gw_a").match(/^owntracks:\/\/\/config\?inline=(.*)$/);
  const settings = JSON.parse(atob(decodeURIComponent(inline)));
  assert.deepEqual([settings.url, settings.password, settings.mode], ["https://example.org/owntracks", "gw_a", 3]);
});

/** Version 1-M of "A", which zbarimg reads. */
const A = [
  "111111101001001111111", "100000101111101000001", "101110100010101011101", "101110101101101011101",
  "101110100111001011101", "100000100101101000001", "111111101010101111111", "000000001101100000000",
  "101101110011101001011", "010110010101111001000", "110011101101000001101", "101101000001001111100",
  "100111100100100100100", "000000001011001001001", "111111101001100101000", "100000101100000110110",
  "101110100110111110001", "101110101111001111110", "101110101010101100000", "100000100010010100101",
  "111111101000010010000",
];

test("a QR code is the one that readers know", () => {
  assert.deepEqual(qr.qrCode("A").map((row) => row.join("")), A);
  assert.equal(qr.qrCode("x".repeat(666)).length, 97);
  assert.equal(qr.qrCode("x".repeat(667)), undefined);
});
