// The style of streets and land in vector tiles: kinds by the properties of a feature, in the schema of the routing engine (layer
// `edges`) and of OpenMapTiles, and widths by zoom.

/** The kinds of roads with their width in pixels at zoom 15 and the lowest zoom at which they are drawn, in the order of drawing. */
export const ROADS = {
  path: { width: 1, colour: "path", lowest: 14, dash: [3, 3] },
  ferry: { width: 1, colour: "border", lowest: 8, dash: [6, 4] },
  rail: { width: 1.5, colour: "rail", lowest: 11 },
  service: { width: 2.2, colour: "road", lowest: 14 },
  street: { width: 4, colour: "road", lowest: 12 },
  tertiary: { width: 5, colour: "road", lowest: 10 },
  secondary: { width: 5.5, colour: "main-road", lowest: 8 },
  primary: { width: 6.5, colour: "main-road", lowest: 7 },
  trunk: { width: 7, colour: "motorway", lowest: 5 },
  motorway: { width: 8, colour: "motorway", lowest: 4 },
};

/** The kinds of land, in the order of drawing. */
export const LANDS = ["built", "green", "wood", "sea", "building"];

/** The names of the layers that are drawn. */
export const LAYERS = new Set(["edges", "water", "waterway", "landcover", "landuse", "park", "building", "boundary", "transportation",
  "transportation_name", "place"]);

/** The classes of the routing engine's roads by number, and its uses that are no streets. */
const CLASSES = ["motorway", "trunk", "primary", "secondary", "tertiary", "street", "street", "service"];
const RAMPS = new Set([1, 2]); const PATHS = new Set([3, 20, 21, 24, 25, 26, 27, 28, 29, 32, 33, 34]); const FERRIES = new Set([41, 42]);

/** The kinds of the classes of roads in OpenMapTiles that have another name. */
const RENAMED = { minor: "street", minor_construction: "path", track: "path", pedestrian: "path", busway: "service", transit: "rail" };

/** Returns the kind of road of a feature; undefined if it is no road. */
export function roadOf(layer, properties) {
  if (layer === "edges") {
    const use = properties.get("use");
    if (FERRIES.has(use)) return "ferry";
    if (PATHS.has(use)) return "path";
    const road = CLASSES[properties.get("road_class")];
    return RAMPS.has(use) && road === "motorway" ? "trunk" : road;
  }
  if (layer !== "transportation") return undefined;
  const name = properties.get("class");
  const road = Object.hasOwn(RENAMED, name) ? RENAMED[name] : name;
  return Object.hasOwn(ROADS, road) ? road : undefined;
}

export const isTunnel = (properties) => properties.get("tunnel") === true || properties.get("brunnel") === "tunnel";

const GREENS = new Set(["grass", "cemetery", "pitch", "garden", "golf_course", "recreation_ground"]);
const WOODS = new Set(["wood", "forest", "scrub"]);
const BUILT = new Set(["residential", "commercial", "industrial", "retail", "suburb", "neighbourhood", "railway"]);

/** Returns the kind of land of a feature; undefined if it is not drawn. */
export function landOf(layer, properties) {
  const name = properties.get("class") ?? properties.get("subclass");
  if (layer === "water") return "sea";
  if (layer === "building") return "building";
  if (layer === "park") return "green";
  if (layer !== "landcover" && layer !== "landuse") return undefined;
  if (WOODS.has(name)) return "wood";
  if (GREENS.has(name)) return "green";
  return BUILT.has(name) ? "built" : undefined;
}

/** Returns the width of a kind of road in pixels. */
export const widthAt = (road, zoom) => Math.max(0.7, ROADS[road].width * 1.35 ** (zoom - 15));

/** The classes of places with the size of their names in pixels and their lowest and highest zoom, the most important first. */
export const PLACES = {
  city: { size: 15, lowest: 4, highest: 13 }, town: { size: 13.5, lowest: 7, highest: 15 }, village: { size: 12, lowest: 10, highest: 16 },
  suburb: { size: 11, lowest: 12, highest: 16 }, hamlet: { size: 11, lowest: 13, highest: 17 },
};

/** Returns the name of a feature; undefined if it has none. */
export function nameOf(properties) {
  const name = properties.get("name") ?? properties.get("name:latin");
  return typeof name === "string" && name !== "" ? name.slice(0, 60) : undefined;
}
