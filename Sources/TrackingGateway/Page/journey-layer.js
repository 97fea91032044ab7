// The way ahead and the stops of a journey, on the map's canvas.

import { wayAhead } from "./journey.js";
import { drawLine } from "./layers.js";

/** The radius of a stop in pixels, and the margin beyond the edges of the map in which stops are drawn. */
export const STOP_RADIUS = 9;
const MARGIN = 60;

/** Draws the part of a route that is ahead of a place, in grey if the route is old. */
export function drawRoute(context, view, route, place, isOld, colours) {
  const way = wayAhead(route, place);
  drawLine(context, view, way, colours.halo, 7, 0.8);
  context.setLineDash(isOld ? [2, 8] : []);
  drawLine(context, view, way, isOld ? colours.faint : colours.route, 4);
  context.setLineDash([]);
}

/** Draws the stops in view as numbered discs, in grey if their estimate is old, and returns them as markers {trackable, x, y} whose names are to be drawn. */
export function drawStops(context, view, stops, isOld, colours) {
  const markers = stops.map((stop) => ({ trackable: stop, x: view.near(stop.place.lng), y: view.y(stop.place.lat) }))
    .filter(({ x, y }) => x > -MARGIN && y > -MARGIN && x < view.width + MARGIN && y < view.height + MARGIN);
  context.font = "650 11px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineWidth = 2;
  // The first stops are on top.
  for (const { trackable: stop, x, y } of markers.toReversed()) {
    const isGrey = isOld || stop.estimate?.status === "ARRIVED";
    context.beginPath();
    context.arc(x, y, STOP_RADIUS, 0, 2 * Math.PI);
    context.fillStyle = isGrey ? colours.faint : colours.route;
    context.strokeStyle = colours.halo;
    context.fill();
    context.stroke();
    context.fillStyle = colours.halo;
    context.fillText(String(stop.number), x, y + 0.5);
  }
  context.textAlign = "start";
  context.textBaseline = "alphabetic";
  return markers;
}
