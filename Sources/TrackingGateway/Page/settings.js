// The choices of the language, the units and the order of the list, which the browser remembers.

import { LANGUAGES, chooseLanguage, language, remember, remembered } from "./i18n.js";
import { chooseUnits, units } from "./text.js";

const element = (id) => document.getElementById(id);
const ORDERS = ["name", "age", "speed", "battery"];

/** @param sort called with the order of the list, at once and after each choice */
export function keepSettings(sort) {
  element("language").append(...Object.entries(LANGUAGES).map(([code, name]) => new Option(name, code)));
  showSettings();
  element("language").addEventListener("change", (event) => chooseLanguage(event.target.value));
  element("units").addEventListener("change", (event) => chooseUnits(event.target.value));
  const order = ORDERS.includes(remembered("order")) ? remembered("order") : "name";
  element("sort").value = order;
  sort(order);
  element("sort").addEventListener("change", (event) => { remember("order", event.target.value); sort(event.target.value); });
}

export function showSettings() {
  element("language").value = language();
  element("units").value = units();
}
