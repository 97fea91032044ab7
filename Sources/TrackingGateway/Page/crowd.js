// The live stream of a map with many trackables. The stream has only the area around the view: counts of cells, or positions
// when the map is near enough.

import { Cells, levelAt } from "./cells.js";

export class Crowd {
  /**
   * @param page `live()` returns the live stream, `beginAnew()` discards the trackables, `fit(places)` brings places into view if
   *   the map shows none yet, and `load()` reads the names
   */
  constructor(map, names, page) {
    this.map = map;
    this.names = names;
    this.page = page;
    this.cells = new Cells();
    map.on("moveend", () => this.follow());
  }

  /** The query of the live stream before its first event. */
  get query() { return `cells=${levelAt(this.map.getZoom())}`; }

  /** Handles the counts of cells, which replace the trackables, or null when the trackables follow. */
  take(data) {
    const wasLarge = this.cells.isLarge;
    this.cells.take(data);
    const { isLarge, extent } = this.cells;
    this.names.isPartial = isLarge;
    if (data.complete) this.page.beginAnew();
    else if (data.cells === null && isLarge) setTimeout(this.page.load, 500);
    if (wasLarge || !isLarge) return;
    this.page.fit(extent);
    this.follow();
  }

  /** Opens the live stream of the view if the present one does not have its cells. */
  follow() {
    const [west, south, east, north] = this.map.getBounds().toBBoxString().split(",").map(Number);
    const query = this.cells.moved({ west, south, east, north }, this.map.getZoom());
    if (query) this.page.live().show(query);
  }

  /** Forgets everything, because another user may look at the page now. */
  forget() {
    this.cells = new Cells();
    this.names.isPartial = false;
    const live = this.page.live();
    if (live) live.query = this.query;
  }
}
