// The places of names in a tile of the street map: letters along a road, and boxes that do not overlap. In pixels of the tile.

/** The largest turn between two letters, in radians. */
const BEND = 0.5;

/**
 * Returns the place of each letter of a name along the middle of a line, [{x, y, angle}], so that it is read from left to right. Returns
 * undefined if the name does not fit, because the line is too short or too bent.
 *
 * @param line the points [x, y, x, y, …]
 * @param widths the widths of the letters
 */
export function lettersAlong(line, widths) {
  const length = lengthOf(line);
  const needed = widths.reduce((sum, width) => sum + width, 0);
  if (!(needed > 0) || length < needed + 12) return undefined;
  const [fromX] = pointAt(line, (length - needed) / 2);
  const [toX] = pointAt(line, (length + needed) / 2);
  const way = fromX <= toX ? line : reversed(line);
  let at = (length - needed) / 2;
  const letters = [];
  for (const width of widths) {
    const [x, y] = pointAt(way, at + width / 2);
    const [x0, y0] = pointAt(way, at);
    const [x1, y1] = pointAt(way, at + width);
    const angle = Math.atan2(y1 - y0, x1 - x0);
    const before = letters.at(-1)?.angle ?? angle;
    if (Math.abs(Math.atan2(Math.sin(angle - before), Math.cos(angle - before))) > BEND) return undefined;
    letters.push({ x, y, angle });
    at += width;
  }
  return letters;
}

function lengthOf(line) {
  let length = 0;
  for (let i = 2; i < line.length; i += 2) length += Math.hypot(line[i] - line[i - 2], line[i + 1] - line[i - 1]);
  return length;
}

/** Returns the point [x, y] at a distance along a line. */
function pointAt(line, distance) {
  let left = distance;
  for (let i = 2; i < line.length; i += 2) {
    const [dx, dy] = [line[i] - line[i - 2], line[i + 1] - line[i - 1]];
    const step = Math.hypot(dx, dy);
    if (left <= step && step > 0) return [line[i - 2] + dx * left / step, line[i - 1] + dy * left / step];
    left -= step;
  }
  return line.slice(-2);
}

function reversed(line) {
  const back = [];
  for (let i = line.length - 2; i >= 0; i -= 2) back.push(line[i], line[i + 1]);
  return back;
}

/** Finds the lines for the names of roads in a tile. */
export class LineFinder {
  /**
   * @param size the edge of the tile in pixels
   * @param most the most points of a line; longer lines have no name
   */
  constructor(size, most) {
    this.size = size;
    this.most = most;
    this.lines = new Map();
  }

  /** Adds a line with a name. Of the lines with one name, the longest part inside of the tile remains. */
  add(name, line) {
    if (name === undefined || line.length > 2 * this.most) return;
    for (const part of this.inside(line)) {
      const length = lengthOf(part);
      if (length > (this.lines.get(name)?.length ?? 0)) this.lines.set(name, { name, line: part, length });
    }
  }

  /** Returns the parts of a line whose points are inside of the tile. */
  inside(line) {
    const parts = [[]];
    for (let i = 0; i < line.length; i += 2) {
      const [x, y] = [line[i], line[i + 1]];
      if (x >= 0 && y >= 0 && x <= this.size && y <= this.size) parts.at(-1).push(x, y);
      else if (parts.at(-1).length > 0) parts.push([]);
    }
    return parts.filter((part) => part.length >= 4);
  }

  /** Returns the longest lines, at most `count`, the longest first. */
  longest(count) { return [...this.lines.values()].sort((a, b) => b.length - a.length).slice(0, count); }
}

/** The free room of a tile for names. */
export class Room {
  /** @param size the edge of the tile in pixels */
  constructor(size) {
    this.size = size;
    this.boxes = [];
  }

  /** Takes the room of boxes [left, top, right, bottom] if they are inside of the tile and free; returns false otherwise. */
  take(boxes) {
    const fits = boxes.every(([left, top, right, bottom]) => left >= 0 && top >= 0 && right <= this.size && bottom <= this.size
      && !this.boxes.some((box) => left < box[2] && right > box[0] && top < box[3] && bottom > box[1]));
    if (fits) this.boxes.push(...boxes);
    return fits;
  }
}
