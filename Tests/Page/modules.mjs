// The modules of the map page, for tests in Node.js.

/** The folder of the page's files. */
export const page = new URL("../../Sources/TrackingGateway/Page/", import.meta.url);

// Some modules read the page's address and its library when they are loaded.
globalThis.location ??= { pathname: "/" };
globalThis.window ??= {};

const load = (name) => import(new URL(name, page));

export const animator = await load("animator.js");
export const { en } = await load("en.js");
export const { de } = await load("de.js");
export const i18n = await load("i18n.js");
export const text = await load("text.js");
export const background = await load("background.js");
export const ground = await load("ground.js");
export const { OUTLINE } = await load("outline.js");
export const streetNames = await load("street-names.js");
export const streetStyle = await load("street-style.js");
export const streets = await load("streets.js");
export const vectorTile = await load("vector-tile.js");
export const address = await load("address.js");
export const cells = await load("cells.js");
export const clusters = await load("clusters.js");
export const crowd = await load("crowd.js");
export const directory = await load("directory.js");
export const seek = await load("seek.js");
export const names = await load("names.js");
export const labels = await load("labels.js");
export const journey = await load("journey.js");
export const polyline = await load("polyline.js");
export const list = await load("list.js");
export const filter = await load("filter.js");
export const fleet = await load("fleet.js");
export const guide = await load("guide.js");
export const place = await load("place.js");
export const qr = await load("qr.js");
export const sheet = await load("sheet.js");
