// The part of the world that the map shows. The panel covers a part of the map: its right edge, or its lower part on a
// narrow page. On a phone, the sheet covers the lower part.

import { FARTHEST, beside, nearTo } from "./layers.js";

const L = window.L;
/** The number of pixels that remain free around places that are brought into view, if there is room. */
const EDGE = 50;
/** The number of pixels between a marker in view and an edge. */
const MARKER = 16;
/** The zoom at which a single place is shown. */
const CLOSE = 16;

export class Camera {
  /**
   * @param panel the element that covers a part of the map while it is not hidden
   * @param sheet {isOn, height} of the sheet, which contains the panel on a phone
   */
  constructor(map, panel, sheet) {
    this.map = map;
    this.panel = panel;
    this.sheet = sheet;
  }

  /** Returns the place in the copy of the world that is nearest to the map's middle, and not at a pole. */
  near({ lat, lng }) {
    return { lat: Math.max(-FARTHEST, Math.min(FARTHEST, lat)), lng: nearTo(lng, this.map.getCenter().lng) };
  }

  /** The pixels that the panel covers. */
  get covered() {
    if (this.sheet?.isOn) return { right: 0, bottom: this.sheet.height };
    const [map, panel] = [this.map.getContainer(), this.panel].map((element) => element.getBoundingClientRect());
    if (this.panel.hidden || !(panel.width > 0)) return { right: 0, bottom: 0 };
    if (panel.width < 0.9 * map.width) return { right: Math.max(0, map.right - panel.left), bottom: 0 };
    return { right: 0, bottom: Math.max(0, map.bottom - panel.top) };
  }

  /** The place in the middle of the uncovered part of the map. */
  get middle() {
    const { right, bottom } = this.covered;
    const { x, y } = this.map.getSize();
    return this.map.containerPointToLatLng([(x - right) / 2, (y - bottom) / 2]);
  }

  /** Returns the offset in pixels of a place from the middle of the uncovered part of the map. */
  offset(place) {
    const { right, bottom } = this.covered;
    const { x, y } = this.map.getSize();
    return this.map.latLngToContainerPoint(this.near(place)).subtract([(x - right) / 2, (y - bottom) / 2]);
  }

  /** Returns true if a place is in the uncovered part of the map. */
  shows(place) {
    const { right, bottom } = this.covered;
    const { x, y } = this.map.getSize();
    const point = this.map.latLngToContainerPoint(this.near(place));
    return point.x >= MARKER && point.y >= MARKER && point.x <= x - right - MARKER && point.y <= y - bottom - MARKER;
  }

  /** Moves the map so that a place is in the middle of the uncovered part. */
  show(place, zoom = this.map.getZoom()) {
    const { right, bottom } = this.covered;
    const middle = this.map.project(this.near(place), zoom).add([right / 2, bottom / 2]);
    this.map.setView(this.map.unproject(middle, zoom), zoom);
  }

  showClosely(place) { this.show(place, Math.max(CLOSE, this.map.getZoom())); }

  /** Keeps a moving place in the middle of the uncovered part. */
  keep(place) {
    const offset = this.offset(place);
    if (offset.distanceTo([0, 0]) > 2) this.map.panBy(offset, { animate: false });
  }

  /** Moves and zooms the map so that all places are visible, not nearer than a zoom or the usual one. */
  fit(places, closest = CLOSE) {
    if (places.length === 0) return;
    const { right, bottom } = this.covered;
    const { x, y } = this.map.getSize();
    const edge = Math.max(0, Math.min(EDGE, (x - right) / 4, (y - bottom) / 4));
    this.map.fitBounds(L.latLngBounds(beside(places)),
      { maxZoom: Math.max(CLOSE, Math.min(this.map.getMaxZoom(), closest)), paddingTopLeft: [edge, edge], paddingBottomRight: [edge + right, edge + bottom], animate: false });
  }
}

/** Brings the first trackables into view, unless the map shows a chosen view. */
export class FirstFit {
  constructor() {
    this.isDone = false;
  }

  /** Calls a function if nothing was brought into view yet. */
  now(fit) {
    if (!this.isDone) { this.isDone = true; fit(); }
  }

  /** Calls a function once this was not called again for 250 ms, or after two seconds at the latest. */
  soon(fit) {
    if (this.isDone) return;
    this.by ??= performance.now() + 2000;
    clearTimeout(this.timer);
    const fitNow = () => { this.by = undefined; this.now(fit); };
    if (performance.now() > this.by) fitNow(); else this.timer = setTimeout(fitNow, 250);
  }
}
