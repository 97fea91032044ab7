// The street layer of the map: loads vector tiles from the gateway, and draws each on its own canvas.

import { mapColours } from "./ground.js";
import { ask } from "./session.js";
import { paintTile } from "./street-painter.js";
import { LAYERS } from "./street-style.js";
import { decodeTile } from "./vector-tile.js";

const L = window.L;

/** The edge of a drawn tile in pixels. A vector tile has the details for two images of 256 pixels side by side. */
const SIZE = 512;
/** The most decoded tiles that the page keeps. */
const KEPT = 64;

/**
 * Returns the vector tile {z, x, y} for a drawn tile, and the place of the drawn tile in it: {scale, left, top} as paintTile expects.
 *
 * @param most the highest zoom level of the vector tiles
 */
export function sourceOf({ x, y, z }, most) {
  const beyond = Math.max(0, z - most);
  const parts = 2 ** beyond;
  const [column, row] = [Math.floor(x / parts), Math.floor(y / parts)];
  return {
    tile: { z: z - beyond, x: column, y: row },
    scale: SIZE * parts, left: (x - column * parts) * SIZE, top: (y - row * parts) * SIZE,
  };
}

/** The vector tiles that were loaded last. A tile that could not be loaded is asked for again. */
export class TileStore {
  /** @param load returns a promise of a tile, by its path */
  constructor(load) {
    this.load = load;
    this.tiles = new Map();
  }

  /** Returns a promise of a tile. */
  tile(path) {
    const found = this.tiles.get(path) ?? this.load(path);
    // The map's first path is the one that was not needed for the longest time.
    this.tiles.delete(path);
    this.tiles.set(path, found);
    found.catch(() => { if (this.tiles.get(path) === found) this.tiles.delete(path); });
    if (this.tiles.size > KEPT) this.tiles.delete(this.tiles.keys().next().value);
    return found;
  }
}

/** The gateway sent no tile. */
class NoTile extends Error {
  constructor(status) {
    super(`the gateway sent no map tile: HTTP status ${status}`);
    this.status = status;
  }
}

/** Loads and decodes a tile; a tile without content has no layers. */
async function loadTile(path) {
  const response = await ask(path);
  if (response.status === 204) return new Map();
  if (!response.ok) throw new NoTile(response.status);
  const layers = decodeTile(new Uint8Array(await response.arrayBuffer()), LAYERS);
  if (!layers) throw new NoTile(0);
  return layers;
}

/**
 * The street layer. It calls `failed(status)` after each tile that could not be loaded, with the HTTP status or 0. After `retry`, which
 * asks for such a tile again, it calls `failed` or `loaded()`.
 */
export const Streets = L?.GridLayer.extend({
  initialize({ url, minZoom, maxZoom, attribution }, { loaded, failed }) {
    // The drawn tiles of a zoom level show the vector tiles of the level below, at twice the size.
    L.setOptions(this, { tileSize: SIZE, minZoom: minZoom + 1, maxZoom: 20, attribution, updateWhenZooming: false, keepBuffer: 1 });
    Object.assign(this, { url, most: maxZoom, loaded, failed, store: new TileStore(loadTile) });
  },

  createTile(coords, done) {
    const canvas = L.DomUtil.create("canvas", "street-tile");
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    canvas.width = canvas.height = SIZE * ratio;
    const zoom = coords.z;
    const { tile, ...place } = sourceOf({ ...coords, z: zoom - 1 }, this.most);
    const path = L.Util.template(this.url, tile);
    this.store.tile(path).then((layers) => {
      const context = canvas.getContext("2d");
      context.scale(ratio, ratio);
      paintTile(context, layers, { zoom, size: SIZE, ...place }, mapColours());
      done(null, canvas);
    }).catch((error) => {
      done(error, canvas);
      this.lost(path, error);
    });
    return canvas;
  },

  lost(path, { status = 0 }) {
    this.missing = path;
    this.failed(status);
  },

  /** Asks for the tile again that was missing last. If the gateway sends it, all other missing tiles are loaded too. */
  retry() {
    const path = this.missing;
    this.store.tile(path).then(() => {
      this.loaded();
      this.redraw();
    }).catch((error) => this.lost(path, error));
  },
});
