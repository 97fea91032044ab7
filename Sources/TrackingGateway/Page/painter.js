// The markers, groups, trails and names on the map's canvas, and the markers at a point of the screen.

import { drawCell } from "./cells.js";
import { circleRadius, stackAt } from "./clusters.js";
import { isOld } from "./journey.js";
import { STOP_RADIUS, drawRoute, drawStops } from "./journey-layer.js";
import { drawLabels } from "./labels.js";
import { drawAccuracy, drawLine, drawMarker } from "./layers.js";

/** The largest number of markers with names, trails and circles of accuracy. */
const FEW = 60;
/** The margin in pixels beyond the edges of the map in which markers are drawn. */
const MARGIN = 60;
/** The distance in pixels within which a click belongs to a marker. */
const REACH = 20;

export class Painter {
  /**
   * @param clusters the groups of markers
   * @param look returns what to draw: {chosen, history, colours, cells, isShown(trackable), keep(frame)}; `keep` is called with the
   *   place of the followed trackable
   */
  constructor(fleet, clusters, look) {
    this.fleet = fleet;
    this.clusters = clusters;
    this.look = look;
    /** The markers and groups of the last frame. */
    this.single = [];
    this.groups = [];
    /** The number of drawn frames, for measurements and tests. */
    this.frames = 0;
  }

  paint(context, view) {
    const moment = performance.now();
    const { history, colours, ...look } = this.look();
    const replayed = history?.points.length > 0 ? history.draw(context, view, colours) : undefined;
    this.arrange(view, moment, look);
    const { stops = [], route = [], estimate, animator } = this.fleet.byId.get(look.chosen) ?? {};
    const isAged = estimate !== undefined && isOld(estimate, this.fleet.now());
    if (route.length > 0) drawRoute(context, view, route, animator.frame(moment), isAged, colours);
    this.drawTrails(context, view, moment, colours);
    for (const circle of look.cells.circles(view)) drawCell(context, circle, colours);
    for (const group of this.groups) drawGroup(context, group, colours);
    this.stops = drawStops(context, view, stops, isAged, colours);
    for (const place of this.single) this.drawPlace(context, place, colours);
    this.drawNames(context, colours, replayed);
    this.frames += 1;
  }

  /** Computes the markers and groups in view. */
  arrange(view, moment, look) {
    const all = this.placesOf(view, moment, look);
    this.clusters.update(all, view.zoom, moment);
    const { single, groups } = this.clusters.separated(all);
    const isInView = ({ x, y }) => x >= -MARGIN && y >= -MARGIN && x <= view.width + MARGIN && y <= view.height + MARGIN;
    this.single = single.filter(isInView);
    this.groups = groups.filter(isInView);
  }

  /** Returns the places of all shown trackables on the screen, also of those beyond its edges. */
  placesOf(view, moment, { chosen, isShown, keep }) {
    const places = [];
    for (const trackable of this.fleet.byId.values()) {
      const frame = trackable.animator.frame(moment);
      if (!frame) continue;
      const isChosen = trackable.id === chosen;
      if (isChosen) keep(frame);
      else if (!isShown(trackable)) continue;
      places.push({ trackable, frame, isChosen, x: view.near(frame.lng), y: view.y(frame.lat), state: this.fleet.stateOf(trackable) });
    }
    return places;
  }

  drawTrails(context, view, moment, colours) {
    const isFew = this.single.length <= FEW;
    for (const { trackable, frame, x, y, isChosen, state } of this.single) {
      const colour = colours.state[state];
      if (isChosen || (isFew && view.zoom >= 11)) {
        const trail = trackable.trailTo(moment);
        drawLine(context, view, [...trail, frame], colour, isChosen ? 3.5 : 2.5, isChosen ? 0.75 : 0.4);
        if (isChosen) dots(context, view, trail, colour);
      }
      const accuracy = trackable.properties?.accuracyHorizontal;
      if (accuracy !== undefined && (isChosen || (isFew && view.zoom >= 14))) drawAccuracy(context, x, y, accuracy, view, colour);
    }
  }

  drawPlace(context, { trackable, frame, x, y, isChosen, state }, colours) {
    const isMoving = state === "ONLINE" && (trackable.speed ?? 0) > 0.5;
    drawMarker(context, x, y, { colour: colours.state[state], bearing: frame.bearing, isChosen, icon: trackable.icon, isMoving }, colours);
  }

  /** @param replayed {label, x, y} of the replay's marker */
  drawNames(context, colours, replayed) {
    const named = this.single.filter((place) => place.isChosen || this.single.length <= FEW);
    if (replayed) named.push({ ...replayed, trackable: replayed, isChosen: false });
    named.push(...this.stops);
    const circles = this.groups.map(({ x, y, members }) => ({ x, y, radius: circleRadius(members.length) }));
    if (this.single.length <= FEW) circles.push(...this.single.map(({ x, y }) => ({ x, y, radius: 7 })));
    circles.push(...this.stops.map(({ x, y }) => ({ x, y, radius: STOP_RADIUS })));
    this.names = drawLabels(context, named, circles, colours);
  }

  /** Returns the places at a point of the screen: those of a group, of a stack, or of one marker; empty for none. */
  placesAt({ x, y }, view) {
    this.arrange(view, performance.now(), this.look());
    const away = (place) => Math.hypot(place.x - x, place.y - y);
    const nearest = this.single.filter((place) => away(place) < REACH).sort((a, b) => away(a) - away(b))[0];
    const group = this.groups.find((one) => away(one) <= circleRadius(one.members.length));
    if (group && !(nearest && away(nearest) < away(group))) return group.members;
    return nearest ? [nearest, ...stackAt(nearest, this.single).filter((place) => place !== nearest)] : [];
  }
}

/** Draws a group: a circle in the colour of its worst state, with the number of its members. */
function drawGroup(context, { x, y, members, state }, colours) {
  context.beginPath();
  context.arc(x, y, circleRadius(members.length), 0, 2 * Math.PI);
  context.fillStyle = colours.state[state];
  context.fill();
  context.lineWidth = 3;
  context.strokeStyle = colours.halo;
  context.stroke();
  context.font = "650 12px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = colours.halo;
  context.fillText(String(members.length), x, y);
  context.textAlign = "start";
  context.textBaseline = "alphabetic";
}

/** Draws the positions of a trail, including the skipped ones, without the places of the ways between them. */
function dots(context, view, trail, colour) {
  context.fillStyle = colour;
  for (const point of trail) {
    if (point.name === undefined) continue;
    context.beginPath();
    context.arc(view.near(point.lng), view.y(point.lat), 2, 0, 2 * Math.PI);
    context.fill();
  }
}
