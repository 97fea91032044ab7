// The texts of the pages: both catalogues have the same keys, and no text for people is outside of them.
// Run with: node --test Tests/Page

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { de, en, page } from "./modules.mjs";

const sources = readdirSync(page).filter((name) => name.endsWith(".js") && !["en.js", "de.js", "outline.js"].includes(name));
const read = (name) => readFileSync(new URL(name, page), "utf8");
const valuesOf = (text) => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort().join();

test("the catalogues have the same keys, plural forms and values", () => {
  assert.deepEqual(Object.keys(en).sort(), Object.keys(de).sort());
  for (const key of Object.keys(en)) {
    const [one, other] = [en[key], de[key]];
    assert.equal(typeof one, typeof other, key);
    if (typeof one === "string") assert.equal(valuesOf(one), valuesOf(other), key);
    else for (const form of ["one", "other"]) assert.equal(valuesOf(one[form]), valuesOf(other[form]), key);
  }
});

/** The keys that are composed, as `state.${state}`. */
const COMPOSED = [/^state\./, /^accuracy\./, /^sheet\./, /^fence\.draw-/, /^rule\./, /^share\./, /^journey\.status\./];

test("every used key is in the catalogues, and every key is used", () => {
  const used = new Set();
  for (const name of sources) {
    for (const [, key] of read(name).matchAll(/["'`]([a-z][\w-]*(?:\.[\w-]+)*)["'`]/g)) used.add(key);
    for (const [, key] of read(name).matchAll(/\bt\("([^"]+)"/g)) assert.ok(key in en, `${name}: ${key}`);
  }
  for (const file of readdirSync(page).filter((name) => name.endsWith(".html"))) {
    for (const [, key] of read(file).matchAll(/\bdata-t(?:-\w+)?="([^"]+)"/g)) {
      assert.ok(key in en, `${file}: ${key}`);
      used.add(key);
    }
  }
  const unused = Object.keys(en).filter((key) => !used.has(key) && !COMPOSED.some((pattern) => pattern.test(key)));
  assert.deepEqual(unused, []);
});

/** Texts that are the same in every language: names of programs and formats, signs and numbers. */
const NAMES = /^(Godwit|GPX|GeoJSON|CSV|Overland|OwnTracks|godwit token create|[×▶❚+−\d\s]*)$/;

test("the pages have no text and no readable attribute of their own", () => {
  for (const file of readdirSync(page).filter((name) => name.endsWith(".html"))) {
    const html = read(file).replace(/<!--.*?-->/gs, "");
    const texts = [...html.matchAll(/>([^<>]+)</g)].map((match) => match[1].trim());
    const attributes = [...html.matchAll(/\s(?:title|aria-label|placeholder|alt)="([^"]*)"/g)].map((match) => match[1]);
    assert.deepEqual([...texts, ...attributes].filter((text) => !NAMES.test(text)), [], file);
  }
});

/** Returns the texts of a script between quotation marks, without comments, regular expressions and embedded expressions. */
function literals(source) {
  const code = source.replace(/\/\*.*?\*\//gs, "").replace(/^\s*\/\/.*$/gm, "").replace(/^import .*$/gm, "");
  return [...code.matchAll(/"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g)]
    .map((match) => (match[1] ?? match[2]).replace(/\$\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}/g, " "));
}

/** The words with a capital letter that are no texts for people: names of keys, headers, protocols and fonts. */
const WORDS = new Set(["Content", "Type", "Bearer", "Point", "Escape", "Enter", "Segoe", "English", "Deutsch", "Feature", "Delete", "Backspace",
  "Insert", "Arrow"]);
/** The sentences that only programs and developers read. */
const INTERNAL = [
  /^godwit(-agent)? /, /px system-ui, sans-serif/, /^the gateway answered with HTTP status/, /^the map tiles cannot be shown/,
  /^the gateway sent no map tile/,
  /^the browser refused to copy/, /leaflet-/, /^ input, select$|^input, select$|^button, input, select$/, /^move zoomend/, /^moveend/,
  /^chip /, /^\(prefers-/, /^state /, /^#sheet header$/, /^hsl/, /^#/, /^fence edited/, /^ \$\{ahead/,
];

test("the scripts have no text of their own", () => {
  const found = [];
  for (const name of sources) {
    for (const text of literals(read(name))) {
      if (INTERNAL.some((pattern) => pattern.test(text))) continue;
      const isSentence = /[A-Za-zÄÖÜäöü]{2,} +[A-Za-zÄÖÜäöü]{2,}/.test(text.replace(/[.:#[\]=-]\S*/g, ""));
      const isTitle = /(?:^|\s)[A-ZÄÖÜ][a-zäöü]{2,}/.test(text) && !text.split(/\W+/).every((word) => word === "" || WORDS.has(word) || !/^[A-Z][a-z]/.test(word) || /^[A-Z][a-z]+[A-Z]/.test(word));
      if (isSentence || isTitle) found.push(`${name}: ${text}`);
    }
  }
  assert.deepEqual(found, []);
});
