// The language of the page: the texts of a catalogue, chosen by the user or from the languages of the browser.

import { de } from "./de.js";
import { en } from "./en.js";

const CATALOGUES = { en, de };
const listeners = new Set();

/** The languages of the pages, by code, with their own names. */
export const LANGUAGES = { en: "English", de: "Deutsch" };

/** Returns a remembered setting; undefined if there is none, or if the browser stores nothing. */
export function remembered(name) {
  try { return globalThis.localStorage?.getItem(`godwit.${name}`) ?? undefined; } catch { return undefined; }
}

/** Stores a setting in this browser, unless the browser stores nothing. */
export function remember(name, value) {
  try { globalThis.localStorage?.setItem(`godwit.${name}`, value); } catch { /* The setting holds until the page is closed. */ }
}

/** The languages that the user prefers, the first one most. */
export const preferred = () => globalThis.navigator?.languages ?? [];

const codeOf = (tag) => tag.slice(0, 2).toLowerCase();
const isKnown = (code) => Object.hasOwn(CATALOGUES, code);

let code = [remembered("language"), ...preferred().map(codeOf)].find((one) => one !== undefined && isKnown(one)) ?? "en";

/** Returns the code of the language, "en" or "de". */
export const language = () => code;

/** Returns the language with its region, for the formats of numbers and times. */
export const locale = () => preferred().find((tag) => codeOf(tag) === code) ?? code;

/** Switches to a language and remembers it. */
export function chooseLanguage(chosen) {
  if (!isKnown(chosen)) return;
  code = chosen;
  remember("language", chosen);
  translate();
  changed();
}

/** Calls a function after each change of the language or of the units. */
export function onChange(listener) { listeners.add(listener); }

export function changed() { for (const listener of listeners) listener(); }

/** Returns the text of a key with its {values}. The value `count` selects the plural form. */
export function t(key, values = {}) {
  const found = CATALOGUES[code][key] ?? key;
  const text = typeof found === "string" ? found : found[new Intl.PluralRules(code).select(values.count)] ?? found.other;
  return text.replace(/\{(\w+)\}/g, (whole, name) => name in values ? String(values[name]) : whole);
}

/** The attributes that name the key of a text, and the attribute that receives it. */
const ATTRIBUTES = { "data-t-title": "title", "data-t-label": "aria-label", "data-t-placeholder": "placeholder" };

/** Fills the static texts of the page: elements with `data-t`, and the attributes of elements with `data-t-…`. */
export function translate(root = document) {
  document.documentElement.lang = code;
  for (const element of root.querySelectorAll("[data-t]")) element.textContent = t(element.dataset.t);
  for (const [source, attribute] of Object.entries(ATTRIBUTES)) {
    for (const element of root.querySelectorAll(`[${source}]`)) element.setAttribute(attribute, t(element.getAttribute(source)));
  }
}
