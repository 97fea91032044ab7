// The place of the chosen trackable, for other programs: copied coordinates, and links to other maps.

import { copyFrom } from "./copy.js";

const element = (id) => document.getElementById(id);

/** Returns the coordinates of a place as text that other maps accept. */
export const coordinates = ({ lat, lng }) => `${lat.toFixed(5)}, ${lng.toFixed(5)}`;

/** Returns the address of a place at OpenStreetMap. */
export const openStreetMap = ({ lat, lng }) =>
  `https://www.openstreetmap.org/?mlat=${lat.toFixed(5)}&mlon=${lng.toFixed(5)}#map=16/${lat.toFixed(5)}/${lng.toFixed(5)}`;

/** Returns the address of a place for the map program of the device (RFC 5870). */
export const geoAddress = ({ lat, lng }) => `geo:${lat.toFixed(5)},${lng.toFixed(5)}`;

/** Returns the place {lat, lng} that a user typed in degrees, such as "52.66, -8.63"; undefined for any other text. */
export function typedPlace(typed) {
  const match = typed.trim().match(/^([+-]?\d{1,3}(?:\.\d+)?)°?(?:\s*[,;]\s*|\s+)([+-]?\d{1,3}(?:\.\d+)?)°?$/);
  if (!match) return undefined;
  const [lat, lng] = match.slice(1).map(Number);
  return Math.abs(lat) <= 90 && Math.abs(lng) <= 180 ? { lat, lng } : undefined;
}

let shown;

/** Shows the buttons and links of a place; hides them without a place. */
export function showPlace(place) {
  element("place").hidden = place === undefined;
  shown = place;
  if (!place) return;
  for (const [id, address] of [["osm", openStreetMap(place)], ["geo", geoAddress(place)]]) {
    if (element(id).getAttribute("href") !== address) element(id).setAttribute("href", address);
  }
}

/** Makes the button copy the coordinates of the shown place. */
export function keepPlace() { copyFrom(element("copy-place"), () => shown && coordinates(shown), "copy-place"); }
