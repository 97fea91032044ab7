// The ground of the map below the tiles: the outlines of the countries while the map is zoomed out, and a grid while it is zoomed in
// without tiles.

import { t } from "./i18n.js";
import { fitted, view } from "./layers.js";
import { OUTLINE } from "./outline.js";
import { coordinatesOf } from "./polyline.js";
import { number } from "./text.js";

const L = window.L;

/** The highest zoom with outlines, which are only exact to some kilometres, and the lowest one with a grid. */
const OUTLINE_ZOOM = 7; const GRID_ZOOM = 6;

/** Reads the colours of the ground and of the streets from the style sheet, which defines the light and the dark scheme. */
export function mapColours() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(["ground", "grid", "faint", "ink", "sea", "border", "wood", "green", "built", "building", "road-edge", "motorway",
    "main-road", "road", "path", "rail", "map-text", "map-halo"].map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/** Draws the ground on one canvas. It is drawn again only when the map moves. `needsGrid(zoom)` decides about the grid. */
export const Ground = L?.Layer.extend({
  initialize(needsGrid) { this.needsGrid = needsGrid; },

  onAdd(map) {
    this.canvas = L.DomUtil.create("canvas", "ground-canvas leaflet-zoom-hide", map.getPanes().tilePane);
    map.on("move zoomend resize viewreset", this.draw, this);
    this.draw();
  },

  onRemove(map) {
    map.off("move zoomend resize viewreset", this.draw, this);
    this.canvas.remove();
  },

  draw() {
    const map = this._map;
    const context = fitted(this.canvas, map);
    const to = view(map);
    const colours = mapColours();
    const hasOutline = to.zoom <= OUTLINE_ZOOM;
    context.fillStyle = hasOutline ? colours.sea : colours.ground;
    context.fillRect(0, 0, to.width, to.height);
    if (hasOutline) drawOutline(context, to, colours);
    if (to.zoom >= GRID_ZOOM && this.needsGrid(to.zoom)) drawGrid(context, to, map.getBounds(), colours);
  },
});

// MARK: The outlines

/** The outlines as a path in a world of the width 1; made with the first drawing. */
let world;

/** Returns the points [lng, lat, lng, lat, …] of a ring in the polyline encoding. */
export const ringOf = (text) => coordinatesOf(text, 100);

function worldPath() {
  const path = new Path2D();
  for (const ring of OUTLINE.map(ringOf)) {
    for (let i = 0; i < ring.length; i += 2) {
      const sine = Math.sin(Math.max(-85.0511, Math.min(85.0511, ring[i + 1])) * Math.PI / 180);
      const [x, y] = [(ring[i] + 180) / 360, 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)];
      if (i === 0) path.moveTo(x, y); else path.lineTo(x, y);
    }
    path.closePath();
  }
  return path;
}

function drawOutline(context, to, colours) {
  world ??= worldPath();
  const [west, scale] = [to.x(-180), to.x(180) - to.x(-180)];
  // The place of the north edge of the map: half the width of the world above the equator.
  const north = to.y(0) - scale / 2;
  context.fillStyle = colours.ground;
  context.strokeStyle = colours.border;
  for (let left = west - scale * Math.ceil(west / scale); left < to.width; left += scale) {
    context.save();
    context.translate(left, north);
    context.scale(scale, scale);
    context.lineWidth = 1 / scale;
    context.fill(world);
    context.stroke(world);
    context.restore();
  }
}

// MARK: The grid

/** Draws lines of latitude and longitude. */
function drawGrid(context, to, bounds, colours) {
  context.strokeStyle = colours.grid;
  context.fillStyle = colours.faint;
  context.font = "11px system-ui, sans-serif";
  context.lineWidth = 1;
  const step = gridStep((bounds.getEast() - bounds.getWest()) * 200 / to.width);
  for (let i = Math.ceil(bounds.getWest() / step); i * step < bounds.getEast(); i += 1) {
    const x = Math.round(to.x(i * step)) + 0.5;
    context.beginPath(); context.moveTo(x, 0); context.lineTo(x, to.height); context.stroke();
    context.fillText(gridLabel(((i * step + 540) % 360) - 180, step, t("compass.E"), t("compass.W")), x + 5, 15);
  }
  for (let i = Math.ceil(Math.max(-85, bounds.getSouth()) / step); i * step < Math.min(85, bounds.getNorth()); i += 1) {
    const y = Math.round(to.y(i * step)) + 0.5;
    context.beginPath(); context.moveTo(0, y); context.lineTo(to.width, y); context.stroke();
    context.fillText(gridLabel(i * step, step, t("compass.N"), t("compass.S")), 5, y - 5);
  }
}

const gridStep = (span) => {
  for (const step of [60, 30, 15, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002]) {
    if (span >= step) return step;
  }
  return 0.0001;
};

/** Returns the text of a line of the grid, with as many decimals as the step between two lines needs. */
export const gridLabel = (value, step, positive, negative) => {
  const digits = Math.max(0, Math.ceil(-Math.log10(step)));
  return `${number(Math.abs(value), digits)}° ${Math.abs(value) < step / 2 ? "" : value > 0 ? positive : negative}`;
};
