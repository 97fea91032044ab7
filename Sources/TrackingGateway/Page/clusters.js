// Groups of markers: markers that are too close together on the screen are drawn as one circle with their number, in the
// colour of the worst state inside.

/** The number of markers from which groups are formed. */
const MANY = 30;
/** The distance in pixels within which markers form a group: on most maps, and on maps of single streets. */
const RADIUS = 40;
const CLOSE_RADIUS = 14;
export const CLOSE_ZOOM = 16;
/** The interval in milliseconds at which groups are formed again, because their markers move. */
const EVERY = 1000;

/** The states, the worst first. */
const WORST = ["FAILED", "STALE", "UNKNOWN", "OFFLINE", "OLD", "ONLINE"];

/** Returns the worse of two states; either may be undefined. */
export const worse = (a, b) => WORST.find((state) => state === a || state === b);

/** Returns the distance in pixels within which markers form a group at a zoom level. */
export const radiusAt = (zoom) => zoom >= CLOSE_ZOOM ? CLOSE_RADIUS : RADIUS;

/**
 * Puts places {x, y} into groups: each place joins the nearest group whose first place is within the radius, or begins a group.
 * The result does not depend on the part of the map that is visible.
 */
export function grouped(places, radius) {
  const cells = new Map();
  const groups = [];
  for (const place of places) {
    const [column, row] = [Math.floor(place.x / radius), Math.floor(place.y / radius)];
    const group = nearestGroup(cells, column, row, place, radius);
    if (group) { group.push(place); continue; }
    const begun = [place];
    groups.push(begun);
    const cell = cellKey(column, row);
    if (cells.has(cell)) cells.get(cell).push(begun); else cells.set(cell, [begun]);
  }
  return groups;
}

/** Returns a number for a cell of the screen's grid, which is less than a million cells wide. */
const cellKey = (column, row) => row * 1048576 + column;

function nearestGroup(cells, column, row, place, radius) {
  let best; let bestDistance = radius * radius;
  for (let r = row - 1; r <= row + 1; r += 1) {
    for (let c = column - 1; c <= column + 1; c += 1) {
      for (const group of cells.get(cellKey(c, r)) ?? []) {
        const away = (group[0].x - place.x) ** 2 + (group[0].y - place.y) ** 2;
        if (away < bestDistance) { best = group; bestDistance = away; }
      }
    }
  }
  return best;
}

export class Clusters {
  constructor() {
    this.byTrackable = new Map();
    this.renew();
  }

  /** Forms the groups again at the next frame, because other markers are shown. */
  renew() { this.due = -Infinity; }

  /** Forms the groups of all shown places {trackable, x, y} again, if the zoom level changed or markers may have moved. */
  update(places, zoom, moment) {
    if (zoom === this.zoom && moment < this.due) return;
    this.zoom = zoom;
    this.due = moment + EVERY;
    this.byTrackable.clear();
    if (places.length < MANY) return;
    for (const members of grouped(places, radiusAt(zoom))) {
      if (members.length < 2) continue;
      const group = {};
      for (const { trackable } of members) this.byTrackable.set(trackable, group);
    }
  }

  /** Separates places into markers that are drawn one by one, and groups {x, y, members, state}. */
  separated(places) {
    const single = [];
    const groups = new Map();
    for (const place of places) {
      const group = this.byTrackable.get(place.trackable);
      if (!group || place.isChosen) single.push(place);
      else if (groups.has(group)) groups.get(group).push(place);
      else groups.set(group, [place]);
    }
    const shown = [];
    for (const members of groups.values()) {
      if (members.length === 1) single.push(members[0]); else shown.push(summary(members));
    }
    return { single, groups: shown };
  }
}

/** The radius of a group's circle in pixels, by the number of its members. */
export const circleRadius = (count) => 14 + Math.min(13, Math.log2(count) * 1.5);

function summary(members) {
  let [x, y, state] = [0, 0, undefined];
  for (const member of members) {
    x += member.x;
    y += member.y;
    state = worse(state, member.state);
  }
  return { x: x / members.length, y: y / members.length, members, state };
}

/** Returns true if places {x, y} are so close together that no zoom level of the map separates them. */
export function isStack(places, zoom) {
  const spread = (values) => Math.max(...values) - Math.min(...values);
  const width = Math.max(spread(places.map(({ x }) => x)), spread(places.map(({ y }) => y)));
  return zoom >= CLOSE_ZOOM || width * 2 ** (CLOSE_ZOOM - zoom) < CLOSE_RADIUS;
}

/** Returns the places of a stack: those whose markers cover each other at the clicked one. */
export const stackAt = (place, places) =>
  places.filter(({ x, y }) => Math.hypot(x - place.x, y - place.y) < CLOSE_RADIUS);
