// The list of the trackables at a clicked place, if their markers cover each other.

import { t } from "./i18n.js";
import { words } from "./list.js";

const L = window.L;
/** The largest number of trackables in the list of a stack. */
const MAXIMUM = 50;

/**
 * Lists the trackables of a stack at a place of the map.
 *
 * @param places {trackable, state} of each
 * @param covered {right, bottom}, the pixels of the map that are covered
 * @param choose called with the id of the chosen trackable
 */
export function listStack(map, point, places, covered, choose) {
  const box = document.createElement("div");
  box.className = "stack";
  const list = document.createElement("ul");
  const ordered = [...places].sort((a, b) => a.trackable.label.localeCompare(b.trackable.label));
  const popup = L.popup({ closeButton: false, minWidth: 180, maxWidth: 260, autoPanPaddingTopLeft: [12, 12],
    autoPanPaddingBottomRight: [12 + covered.right, 12 + covered.bottom] });
  list.append(...ordered.slice(0, MAXIMUM).map(({ trackable, state }) => item(trackable, state, () => { popup.remove(); choose(trackable.id); })));
  box.append(Object.assign(document.createElement("p"), { className: "faint", textContent: t("stack", { count: places.length }) }), list);
  popup.setLatLng(map.containerPointToLatLng(point)).setContent(box).openOn(map);
  list.querySelector("button").focus({ preventScroll: true });
}

function item(trackable, state, act) {
  const button = Object.assign(document.createElement("button"), { type: "button", className: state });
  const name = Object.assign(document.createElement("span"), { className: "name", textContent: trackable.label });
  const more = Object.assign(document.createElement("span"), { className: "faint", textContent: words(state) });
  button.append(Object.assign(document.createElement("span"), { className: "dot" }), name, more);
  button.addEventListener("click", (event) => { event.stopPropagation(); act(); });
  const entry = document.createElement("li");
  entry.append(button);
  return entry;
}
