// The shape of a fence that is edited, and the points on the map by which it is moved.

import { t } from "./i18n.js";
import { shapeOf } from "./fence-shape.js";

const L = window.L;
/** The number of pixels by which an arrow key moves a point. */
const STEP = 8;
/** The largest number of corners that have points to drag; a fence with more is changed in its file. */
const MAXIMUM = 200;
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class Handles {
  /**
   * @param changed called after each change of the shape
   * @param cancelled called when Escape was pressed at a point
   */
  constructor(map, changed, cancelled) {
    this.map = map;
    this.changed = changed;
    this.cancelled = cancelled;
    this.points = L.layerGroup().addTo(map);
  }

  clear() {
    this.shape?.remove();
    this.shape = undefined;
    this.points.clearLayers();
  }

  // MARK: Shapes

  set(layer) {
    this.shape?.remove();
    this.shape = layer.addTo(this.map);
  }

  take(feature) { this.set(shapeOf(feature, { className: "fence edited" })); }

  circle(centre, radius) {
    if (this.shape instanceof L.Circle) { this.shape.setLatLng(centre); this.shape.setRadius(radius); return; }
    this.set(L.circle(centre, { radius, className: "fence edited", interactive: false }));
  }

  /** Shows a polygon that is not finished: its corners, and the lines between them. */
  line(corners) {
    const style = { className: "fence edited", interactive: false };
    const dots = corners.map((corner) => L.circleMarker(corner, { ...style, radius: 4 }));
    this.set(L.layerGroup([L.polyline(corners, { ...style, fill: false }), ...dots]));
  }

  polygon(corners) { this.set(L.polygon([[corners]], { className: "fence edited", interactive: false })); }

  get isCircle() { return this.shape instanceof L.Circle; }
  get centre() { return this.isCircle ? this.shape.getLatLng() : undefined; }
  get radius() { return this.isCircle ? this.shape.getRadius() : undefined; }

  /** The areas of a polygon: lists of rings, which are lists of places. */
  get areas() { return this.shape.getLatLngs(); }

  setRadius(radius) {
    if (!this.isCircle) return;
    this.shape.setRadius(radius);
    this.begin();
  }

  // MARK: Points

  /** Makes the points by which the shape is moved. */
  begin() {
    this.points.clearLayers();
    if (!this.shape) return;
    if (this.isCircle) this.beginCircle(); else this.beginPolygon();
  }

  beginCircle() {
    const edge = () => this.map.containerPointToLatLng(
      this.map.latLngToContainerPoint(this.centre).add([this.pixels(this.radius), 0]));
    const rim = this.point(edge(), "handle.edge", {}, (place) => {
      this.shape.setRadius(Math.max(10, Math.min(100000, this.map.distance(this.centre, place))));
    });
    this.point(this.centre, "handle.centre", {}, (place) => { this.shape.setLatLng(place); rim.setLatLng(edge()); });
  }

  pixels(metres) {
    const { lat, lng } = this.centre;
    const east = L.latLng(lat, lng + metres / (111320 * Math.cos(lat * Math.PI / 180)));
    return this.map.latLngToContainerPoint(east).x - this.map.latLngToContainerPoint(this.centre).x;
  }

  beginPolygon() {
    if (this.areas.flat(2).length > MAXIMUM) return;
    for (const rings of this.areas) for (const ring of rings) this.beginRing(ring);
  }

  beginRing(ring) {
    ring.forEach((place, index) => {
      const corner = this.point(place, "handle.corner", { number: index + 1 }, (moved) => {
        ring[ring.indexOf(place)] = place = moved;
        this.shape.redraw();
      });
      corner.getElement()?.addEventListener("keydown", (event) => {
        if (event.key === "Delete" || event.key === "Backspace") this.removeCorner(ring, place);
        if (event.key === "Insert" || event.key === "+") this.addCorner(ring, place);
      });
      corner.on("dblclick", () => this.removeCorner(ring, place));
      let added;
      this.point(middleAfter(ring, index), "handle.between", { number: index + 1 }, (moved) => {
        if (!added) ring.splice(index + 1, 0, moved); else ring[ring.indexOf(added)] = moved;
        added = moved;
        this.shape.redraw();
      }, () => { if (added) this.begin(); });
    });
  }

  addCorner(ring, place) {
    const index = ring.indexOf(place);
    ring.splice(index + 1, 0, middleAfter(ring, index));
    this.shape.redraw();
    this.begin();
    this.changed();
  }

  removeCorner(ring, place) {
    if (ring.length <= 3) return;
    ring.splice(ring.indexOf(place), 1);
    this.shape.redraw();
    this.begin();
    this.changed();
  }

  /**
   * Makes a point that is dragged, or moved with the arrow keys.
   *
   * @param moved called with each new place
   * @param ended called when the point was released
   */
  point(place, key, values, moved, ended = () => {}) {
    const icon = L.divIcon({ className: `fence-handle ${key.split(".")[1]}`, iconSize: [24, 24] });
    const isBetween = key === "handle.between";
    const point = L.marker(place, { icon, draggable: true, keyboard: !isBetween, zIndexOffset: isBetween ? 0 : 1000 });
    const act = () => { moved(point.getLatLng()); this.changed(); };
    point.on("drag", act);
    point.on("dragend", ended);
    this.points.addLayer(point);
    const element = point.getElement();
    if (isBetween) return point;
    element?.setAttribute("role", "button");
    element?.setAttribute("aria-label", t(key, values));
    element?.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { event.stopPropagation(); this.cancelled(); }
      const arrow = ARROWS[event.key];
      if (!arrow) return;
      event.preventDefault();
      event.stopPropagation();
      const to = this.map.latLngToContainerPoint(point.getLatLng()).add([arrow[0] * STEP, arrow[1] * STEP]);
      point.setLatLng(this.map.containerPointToLatLng(to));
      act();
    });
    return point;
  }
}

/** Returns the place in the middle between a corner and the next one. */
function middleAfter(ring, index) {
  const [place, next] = [ring[index], ring[(index + 1) % ring.length]];
  return L.latLng((place.lat + next.lat) / 2, (place.lng + next.lng) / 2);
}
