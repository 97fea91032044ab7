// The counts of trackables in the cells of a grid. The map shows them while too many trackables are in view for markers.

import { circleRadius } from "./clusters.js";

/** The lowest and the highest level of the grid. */
const [LOWEST, HIGHEST] = [3, 17];
/** The difference between the level of the grid and the zoom of the map: a cell has 64 pixels. */
const FINER = 2;
/** The part of the view's width and height by which an area is larger than the view, on each side. */
const AROUND = 0.25;

/** Returns the level of the grid at a zoom of the map. */
export const levelAt = (zoom) => Math.max(LOWEST, Math.min(HIGHEST, Math.round(zoom) + FINER));

/** Returns the area {west, south, east, north, level} around a view {west, south, east, north}. Longitudes may be beyond 180°. */
export function areaAround({ west, south, east, north }, zoom) {
  const [x, y] = [(east - west) * AROUND, (north - south) * AROUND];
  return { west: west - x, south: Math.max(-90, south - y), east: east + x, north: Math.min(90, north + y), level: levelAt(zoom) };
}

/** Returns true if an area has the cells of a view; false without an area. */
export const covers = (area, view, zoom) => area !== undefined && area.level === levelAt(zoom)
  && area.west <= view.west && area.east >= view.east && area.south <= view.south && area.north >= view.north;

/** Returns a longitude between -180° and 180°. */
const wrapped = (lng) => lng - 360 * Math.floor((lng + 180) / 360);

/** Returns the query of the live stream of an area. */
export function queryOf({ west, south, east, north, level }) {
  const [left, right] = east - west >= 360 ? [-180, 180] : [wrapped(west), wrapped(east)];
  return `bbox=${[left, south, right, north].map((degrees) => degrees.toFixed(5)).join(",")}&cells=${level}`;
}

/** Returns the parts of a cell's circle, {state, from, to} in radians: the stale trackables, the moving ones and the others. */
export function partsOf({ count, moving, stale }) {
  const parts = [];
  let from = -Math.PI / 2;
  for (const [state, number] of [["STALE", stale], ["ONLINE", moving], ["OFFLINE", count - moving - stale]]) {
    if (number <= 0) continue;
    const to = from + 2 * Math.PI * number / count;
    parts.push({ state, from, to });
    from = to;
  }
  return parts;
}

/** Returns a number in at most four characters. */
export const shortCount = (count) => count < 10000 ? String(count) : `${Math.round(count / 1000)}k`;

/** Returns the latitude of the northern edge of a row. */
const latitudeOf = (row, level) => Math.atan(Math.sinh(Math.PI * (1 - 2 * row / 2 ** level))) * 180 / Math.PI;
const longitudeOf = (column, level) => column / 2 ** level * 360 - 180;

export class Cells {
  constructor() {
    this.counts = new Map();
    /** True once the live stream had counts. From then on, it has only the area around the view. */
    this.isLarge = false;
    /** The area of the live stream; undefined for the world. */
    this.area = undefined;
    /** The corners of the cells of the whole world; undefined before they arrived. */
    this.extent = undefined;
  }

  /** True while the map shows counts. */
  get isOn() { return this.counts.size > 0; }

  /** The number of counted trackables. */
  get total() { return [...this.counts.values()].reduce((sum, { count }) => sum + count, 0); }

  /** Forgets the counts, because the live stream begins again or has positions. */
  clear() { this.counts.clear(); }

  /** Handles an event `cells` of the live stream. */
  take({ z, complete, cells }) {
    if (complete || cells === null) this.clear();
    if (cells === null) return;
    this.isLarge = true;
    for (const [column, row, count, moving, stale, id] of cells) {
      const key = `${column},${row}`;
      if (count === 0) this.counts.delete(key);
      else this.counts.set(key, { column, row, level: z, count, moving, stale, id });
    }
    if (complete && this.area === undefined) this.extent = [...this.counts.values()].flatMap(cornersOf);
  }

  /** Returns true if the live stream has an area, and a place {lat, lng} is outside it. */
  isOutside(place) {
    if (!this.area || !place) return false;
    const { west, south, east, north } = this.area;
    const isBeside = east - west < 360 && (((place.lng - west) % 360) + 360) % 360 > east - west;
    return isBeside || place.lat < south || place.lat > north;
  }

  /** Returns the query of the live stream for a view, if the present area does not have its cells; otherwise undefined. */
  moved(view, zoom) {
    if (!this.isLarge || covers(this.area, view, zoom)) return undefined;
    this.area = areaAround(view, zoom);
    return queryOf(this.area);
  }

  /** Returns the circles {x, y, radius, cell} on the screen. */
  circles(view) {
    const circles = [];
    for (const cell of this.counts.values()) {
      const x = view.near(longitudeOf(cell.column + 0.5, cell.level));
      const y = view.y(latitudeOf(cell.row + 0.5, cell.level));
      const radius = circleRadius(cell.count);
      if (x > -radius && y > -radius && x < view.width + radius && y < view.height + radius) circles.push({ x, y, radius, cell });
    }
    return circles;
  }

  /** Returns the corners {lat, lng} of the cell whose circle is at a point of the screen; undefined for none. */
  at({ x, y }, view) {
    const circle = this.circles(view).find((one) => Math.hypot(one.x - x, one.y - y) <= one.radius);
    return circle && cornersOf(circle.cell);
  }
}

/** Returns the north-western and the south-eastern corner of a cell. */
function cornersOf({ column, row, level }) {
  return [0, 1].map((next) => ({ lat: latitudeOf(row + next, level), lng: longitudeOf(column + next, level) }));
}

/** Draws a cell: a ring with the parts of its trackables, and their number. */
export function drawCell(context, { x, y, radius, cell }, colours) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fillStyle = colours.ground;
  context.fill();
  context.lineWidth = 5;
  for (const { state, from, to } of partsOf(cell)) {
    context.beginPath();
    context.arc(x, y, radius - 2.5, from, to);
    context.strokeStyle = colours.state[state];
    context.stroke();
  }
  context.font = "650 12px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = colours.text;
  context.fillText(shortCount(cell.count), x, y);
  context.textAlign = "start";
  context.textBaseline = "alphabetic";
}
