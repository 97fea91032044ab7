// The background of the map: the ground, and the tiles above it. Tiles that cannot be loaded are reported on the map, and asked for again.

import { Ground } from "./ground.js";
import { onChange, t } from "./i18n.js";
import { set } from "./list.js";
import { Streets } from "./streets.js";

const L = window.L;

/** The number of images in a row that a tile server fails to send before the page reports it. Some servers lack single images. */
const FAILURES = 4;
/** The pause in milliseconds before the tiles are asked for again. */
const PAUSE = 5000;

/** The decision whether the tiles are reported as missing. */
export class TileHealth {
  /** @param most the number of failures in a row from which on the tiles are missing */
  constructor(most) {
    this.most = most;
    this.failures = 0;
  }

  get isFailing() { return this.failures >= this.most; }

  /** Counts a loaded tile, and returns true if the tiles are not missing any more. */
  loaded() {
    const wasFailing = this.isFailing;
    this.failures = 0;
    return wasFailing;
  }

  /** Counts a failure, and returns true if the tiles are missing from now on. */
  failed() {
    this.failures += 1;
    return this.failures === this.most;
  }
}

export class Background {
  /** @param tiles the description of the tiles in the gateway's settings; undefined for none */
  constructor(map, tiles) {
    this.map = map;
    this.tiles = tiles;
    this.health = new TileHealth(tiles?.format === "vector" ? 1 : FAILURES);
    this.ground = new Ground((zoom) => this.isBare(zoom)).addTo(map);
    this.note = this.makeNote();
    this.layer = tiles && this.makeLayer(tiles);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    onChange(() => this.showNote());
  }

  /** Returns true if the map has no tiles at a zoom level. */
  isBare(zoom) { return !this.layer || this.health.isFailing || zoom < this.layer.options.minZoom; }

  /** Draws everything again, in the colours of the style sheet. */
  redraw() {
    this.ground.draw();
    if (this.tiles?.format === "vector") this.layer.redraw();
  }

  /** Loads the tiles again, for example after a user has signed in. */
  renew() { this.layer?.redraw(); }

  makeLayer(tiles) {
    const events = { loaded: () => this.loaded(), failed: (status) => this.failed(status) };
    try {
      return (tiles.format === "vector" ? new Streets(tiles, events) : this.images(tiles, events)).addTo(this.map);
    } catch (error) {
      console.error("the map tiles cannot be shown", error);
      return undefined;
    }
  }

  /** Makes the layer of a tile server or of the gateway's images. The gateway has no image for a place outside of its file. */
  images({ url, attribution = "", maxZoom = 19, minZoom = 0 }, { loaded, failed }) {
    const layer = L.tileLayer(url, { attribution, maxNativeZoom: maxZoom, minZoom, maxZoom: 20, className: "tiles" });
    if (!url.startsWith("/")) layer.on({ tileload: loaded, tileerror: () => failed(0) });
    layer.retry = () => layer.redraw();
    return layer;
  }

  loaded() { if (this.health.loaded()) this.changed(); }

  failed(status) {
    // Without a signed-in user there are no tiles, which the page does not report.
    if (status === 401) return;
    if (this.health.failed()) this.changed();
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      if (this.health.isFailing) this.layer.retry();
    }, PAUSE);
  }

  changed() {
    this.ground.draw();
    this.showNote();
  }

  makeNote() {
    const note = L.DomUtil.create("div", "map-note", this.map.getContainer());
    note.setAttribute("role", "status");
    note.hidden = true;
    return note;
  }

  showNote() {
    set(this.note, this.health.isFailing ? t("map.no-tiles") : "");
    this.note.hidden = !this.health.isFailing;
  }
}
