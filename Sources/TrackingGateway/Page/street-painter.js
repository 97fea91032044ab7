// The drawing of one tile of the street map: land, water, roads by class, and names where they fit.

import { LineFinder, Room, lettersAlong } from "./street-names.js";
import { LANDS, PLACES, ROADS, isTunnel, landOf, nameOf, roadOf, widthAt } from "./street-style.js";
import { LINE, POINT, POLYGON } from "./vector-tile.js";

/** The sizes of the names of roads in pixels, and the lowest zoom of these names. */
const NAME_SIZE = 11; const NAME_ZOOM = 15;
/** The most names of roads that are tried in one tile, and the most points of their lines. */
const MOST_NAMES = 300; const MOST_POINTS = 200;

const font = (size, weight = 400) => `${weight} ${size}px system-ui, sans-serif`;

/**
 * Draws the layers of a vector tile, or the part of it that belongs to a tile of a higher zoom.
 *
 * @param frame {zoom, size, scale, left, top}: the zoom of the map, the edge of the drawn tile in pixels, the edge of the whole vector
 *   tile in pixels, and the place of the drawn tile in it
 */
export function paintTile(context, layers, frame, colours) {
  paintLand(context, layers, frame, colours);
  paintBorders(context, layers, frame, colours);
  paintRoads(context, layers, frame, colours);
  context.lineJoin = "round";
  context.strokeStyle = colours["map-halo"];
  context.fillStyle = colours["map-text"];
  const room = new Room(frame.size);
  paintPlaces(context, layers, frame, room);
  if (frame.zoom >= NAME_ZOOM) paintRoadNames(context, layers, frame, room);
}

/** Calls `body(part, feature)` with each part of the features of a layer that is in the drawn tile, in pixels. */
function eachPart(layer, type, frame, body) {
  if (!layer) return;
  const scale = frame.scale / layer.extent;
  for (const feature of layer.features) {
    if (feature.type !== type) continue;
    for (const part of feature.parts) {
      if (isOutside(part, scale, frame)) continue;
      body(part.map((value, i) => value * scale - (i % 2 === 0 ? frame.left : frame.top)), feature);
    }
  }
}

/** Returns true if a part is beside the drawn tile, with some room for wide lines. */
function isOutside(part, scale, { left, top, size }) {
  const [low, high] = [-32, size + 32];
  let [isLeft, isRight, isAbove, isBelow] = [true, true, true, true];
  for (let i = 0; i < part.length; i += 2) {
    const [x, y] = [part[i] * scale - left, part[i + 1] * scale - top];
    isLeft &&= x < low;
    isRight &&= x > high;
    isAbove &&= y < low;
    isBelow &&= y > high;
  }
  return isLeft || isRight || isAbove || isBelow;
}

function addTo(path, line) {
  path.moveTo(line[0], line[1]);
  for (let i = 2; i < line.length; i += 2) path.lineTo(line[i], line[i + 1]);
}

/** Returns the path of a key, which is made when it is needed first. */
function pathOf(paths, key) {
  let path = paths.get(key);
  if (!path) paths.set(key, path = new Path2D());
  return path;
}

// MARK: Land and water

function paintLand(context, layers, frame, colours) {
  const paths = new Map();
  for (const name of ["landcover", "landuse", "park", "water", "building"]) {
    eachPart(layers.get(name), POLYGON, frame, (ring, { properties }) => {
      const land = landOf(name, properties);
      if (land) addTo(pathOf(paths, land), ring);
    });
  }
  for (const land of LANDS) {
    if (!paths.has(land)) continue;
    context.fillStyle = colours[land];
    context.fill(paths.get(land), "evenodd");
  }
  const waterways = new Path2D();
  eachPart(layers.get("waterway"), LINE, frame, (line) => addTo(waterways, line));
  context.strokeStyle = colours.sea;
  context.lineWidth = Math.max(1, 1.3 ** (frame.zoom - 13));
  context.stroke(waterways);
}

function paintBorders(context, layers, frame, colours) {
  const borders = new Path2D();
  eachPart(layers.get("boundary"), LINE, frame, (line, { properties }) => {
    if (properties.get("admin_level") <= 4) addTo(borders, line);
  });
  context.strokeStyle = colours.border;
  context.lineWidth = 1;
  context.setLineDash([5, 3]);
  context.stroke(borders);
  context.setLineDash([]);
}

// MARK: Roads

function paintRoads(context, layers, frame, colours) {
  const [paths, tunnels] = [new Map(), new Map()];
  for (const name of ["edges", "transportation"]) {
    eachPart(layers.get(name), LINE, frame, (line, { properties }) => {
      const road = roadOf(name, properties);
      if (road && frame.zoom >= ROADS[road].lowest) addTo(pathOf(isTunnel(properties) ? tunnels : paths, road), line);
    });
  }
  context.lineJoin = "round";
  context.globalAlpha = 0.4;
  paintClasses(context, tunnels, frame, colours);
  context.globalAlpha = 1;
  paintClasses(context, paths, frame, colours);
}

/** Draws the paths by kind of road: first the edges of all roads, then the roads, so that junctions are open. */
function paintClasses(context, paths, { zoom }, colours) {
  context.lineCap = "round";
  for (const road of Object.keys(ROADS)) {
    const width = widthAt(road, zoom);
    if (!paths.has(road) || ROADS[road].dash || width < 2) continue;
    context.strokeStyle = colours["road-edge"];
    context.lineWidth = width + 1.6;
    context.stroke(paths.get(road));
  }
  for (const [road, { colour, dash }] of Object.entries(ROADS)) {
    if (!paths.has(road)) continue;
    context.lineCap = dash ? "butt" : "round";
    context.setLineDash(dash ?? []);
    context.strokeStyle = colours[colour];
    context.lineWidth = widthAt(road, zoom);
    context.stroke(paths.get(road));
  }
  context.setLineDash([]);
}

// MARK: Names

function paintPlaces(context, layers, frame, room) {
  const places = [];
  eachPart(layers.get("place"), POINT, frame, ([x, y], { properties }) => {
    const kind = properties.get("class");
    const name = nameOf(properties);
    const rank = Object.keys(PLACES).indexOf(kind);
    const isInside = x >= 0 && y >= 0 && x < frame.size && y < frame.size;
    if (name && rank >= 0 && isInside && frame.zoom >= PLACES[kind].lowest && frame.zoom <= PLACES[kind].highest) {
      places.push({ x, y, name, rank, size: PLACES[kind].size });
    }
  });
  places.sort((a, b) => a.rank - b.rank);
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineWidth = 3;
  for (const { x, y, name, size } of places.slice(0, MOST_NAMES)) {
    context.font = font(size, 600);
    const half = context.measureText(name).width / 2 + 4;
    // A name near the edge moves into the tile, because the next tile would cut it.
    const inside = (value, room) => Math.max(room, Math.min(frame.size - room, value));
    const [left, middle] = [inside(x, half), inside(y, size)];
    if (!room.take([[left - half, middle - size, left + half, middle + size]])) continue;
    context.strokeText(name, left, middle);
    context.fillText(name, left, middle);
  }
}

function paintRoadNames(context, layers, frame, room) {
  const lines = new LineFinder(frame.size, MOST_POINTS);
  eachPart(layers.get("transportation_name"), LINE, frame, (line, { properties }) => lines.add(nameOf(properties), line));
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.font = font(NAME_SIZE);
  context.lineWidth = 3;
  for (const { name, line } of lines.longest(MOST_NAMES)) {
    const letters = [...name];
    const places = lettersAlong(line, letters.map((letter) => context.measureText(letter).width));
    const half = NAME_SIZE * 0.6;
    if (!places || !room.take(places.map(({ x, y }) => [x - half, y - half, x + half, y + half]))) continue;
    for (const draw of ["strokeText", "fillText"]) places.forEach((place, i) => drawLetter(context, draw, letters[i], place));
  }
}

function drawLetter(context, draw, letter, { x, y, angle }) {
  context.save();
  context.translate(x, y);
  context.rotate(angle);
  context[draw](letter, 0, 0);
  context.restore();
}
