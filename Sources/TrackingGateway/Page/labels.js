// The names beside the markers. No name is drawn over another one or over another marker.

/** The sides of a marker on which its name may be, in order of preference: the offset in pixels and the alignment. */
const SIDES = [[16, 4, "start"], [-16, 4, "end"], [0, -14, "center"], [0, 23, "center"]];
const HEIGHT = 14;

/** Returns the rectangle [left, top, right, bottom] of a name on a side of its marker. */
function rectangle({ x, y, width }, [dx, dy, align]) {
  const left = x + dx - (align === "end" ? width : align === "center" ? width / 2 : 0);
  return [left, y + dy - HEIGHT + 3, left + width, y + dy + 3];
}

const overlaps = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

/**
 * Returns the names that have room: {item, dx, dy, align, side}. Earlier items go first; each keeps its `side` while it is free.
 *
 * @param items {x, y, width, side?} in pixels
 * @param circles {x, y, radius} that no name may cover, except the name's own marker at the same place
 */
export function arranged(items, circles) {
  const taken = [];
  const result = [];
  const boxes = circles.map(({ x, y, radius }) => [x - radius, y - radius, x + radius, y + radius]);
  for (const item of items) {
    const preferred = item.side ?? 0;
    for (const side of [preferred, ...SIDES.keys()]) {
      const box = rectangle(item, SIDES[side]);
      const isFree = !taken.some((other) => overlaps(box, other)) && !boxes.some((other) => overlaps(box, other));
      if (!isFree) continue;
      taken.push(box);
      const [dx, dy, align] = SIDES[side];
      result.push({ item, dx, dy, align, side, box });
      break;
    }
  }
  return result;
}

const widths = new Map();
const fontOf = (isBold) => `${isBold ? "600 " : ""}12px system-ui, sans-serif`;

/** Returns the width of a name in pixels. */
function widthOf(context, label, isBold) {
  const key = `${isBold} ${label}`;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > 5000) widths.clear();
    context.font = fontOf(isBold);
    widths.set(key, width = context.measureText(label).width);
  }
  return width;
}

/** Draws the names of markers {trackable, x, y, isChosen}, the name of the chosen one first. */
export function drawLabels(context, markers, circles, colours) {
  const items = markers.map(({ trackable, x, y, isChosen }) =>
    ({ trackable, x, y, isChosen, side: trackable.side, width: widthOf(context, trackable.label, isChosen) }));
  items.sort((a, b) => Number(b.isChosen) - Number(a.isChosen));
  context.lineWidth = 4;
  context.lineJoin = "round";
  context.strokeStyle = colours.halo;
  context.fillStyle = colours.text;
  const names = arranged(items, circles);
  for (const { item, dx, dy, align, side } of names) {
    item.trackable.side = side;
    context.font = fontOf(item.isChosen);
    context.textAlign = align;
    context.strokeText(item.trackable.label, item.x + dx, item.y + dy);
    context.fillText(item.trackable.label, item.x + dx, item.y + dy);
  }
  context.textAlign = "start";
  return names;
}
