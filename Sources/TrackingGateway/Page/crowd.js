// The live stream of a map with many trackables. The stream has only the area around the view: counts of cells, or positions
// when the map is near enough. During a search, it has the trackables that match, wherever they are.

import { Cells, levelAt } from "./cells.js";
import { Directory, queryOfIds } from "./directory.js";

/** The time in milliseconds for which a search waits for the next letter. */
const TYPED = 250;
/** The time in milliseconds after which the names are read again if the gateway did not answer. */
const RETRY = 2000;
/** The counts that the map shows during a search. */
const NONE = new Cells();

export class Crowd {
  /**
   * @param page `live()` returns the live stream, `beginAnew()` discards the trackables, `fit(places)` brings places into view if
   *   the map shows none yet, `load()` reads the names, `filter` is the choice of trackables, and `searched()` is called with each
   *   result of a search
   */
  constructor(map, names, page) {
    this.map = map;
    this.names = names;
    this.page = page;
    this.cells = new Cells();
    this.directory = new Directory();
    /** The result of the search in a large fleet, {ids, count}; undefined without a search. */
    this.matches = undefined;
    map.on("moveend", () => this.follow());
  }

  /** The query of the live stream before its first event. */
  get query() { return `cells=${levelAt(this.map.getZoom())}`; }

  /** The counts on the map; empty during a search. */
  get shown() { return this.matches ? NONE : this.cells; }

  /** The number of all trackables, if the page has only some of them; otherwise undefined. */
  get total() {
    if (this.matches) return this.directory.labels.size;
    return this.cells.isOn ? this.cells.total : undefined;
  }

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
    // The buttons of groups need the names of all trackables, also before a search.
    this.directory.load();
    this.search();
  }

  /** Opens the live stream of the view if the present one does not have its cells. */
  follow() {
    if (this.matches) return;
    const [west, south, east, north] = this.map.getBounds().toBBoxString().split(",").map(Number);
    const query = this.cells.moved({ west, south, east, north }, this.map.getZoom());
    if (query) this.page.live().show(query);
  }

  /** Searches the whole fleet after a change of the filter, once for several changes. */
  searchSoon() {
    clearTimeout(this.timer);
    if (this.cells.isLarge) this.timer = setTimeout(() => this.search(), TYPED);
  }

  /** Shows the trackables of a large fleet that match the filter, or the area around the view again. */
  async search() {
    if (!this.cells.isLarge) return;
    const { directory } = this;
    if (this.cells.total > directory.labels.size) directory.expire();
    if (this.page.filter.isOnLabels) await directory.load();
    // Another user signed in meanwhile.
    if (directory !== this.directory) return;
    if (this.page.filter.isOnLabels && !directory.isRead) {
      this.timer = setTimeout(() => this.search(), RETRY);
      return;
    }
    if (this.page.filter.isOnLabels) this.show(directory.find(this.page.filter));
    else if (this.matches) this.leave();
    this.page.searched();
  }

  show({ ids, count }) {
    const named = queryOfIds(ids);
    this.matches = { ids: named.ids, count };
    // Without a match, the stream remains: a stream has at least one trackable.
    if (!named.query || named.query === this.page.live().query) return;
    this.cells.clear();
    this.cells.area = undefined;
    this.page.live().show(named.query);
  }

  leave() {
    this.matches = undefined;
    this.cells.area = undefined;
    this.follow();
  }

  /** Adds the matches of the search to the fleet, also those of which only the history has data. */
  addMatches(fleet) {
    for (const id of this.matches?.ids ?? []) Object.assign(fleet.get(id), this.directory.labels.get(id));
    fleet.hasNewOrder = true;
  }

  /**
   * Returns the advice of a map with many trackables, [kind, values] of the guide; undefined if there is none.
   *
   * @param list `found` are the listed trackables
   */
  advice({ found }) {
    const { filter } = this.page;
    const { size } = this.directory.labels;
    if (!this.matches) {
      if (!this.cells.isOn || found.length > 0) return undefined;
      if (filter.isOnLabels) return ["searching"];
      return filter.isOn ? ["cells-state"] : ["cells"];
    }
    const { ids, count } = this.matches;
    if (count > ids.length) return ["matches", { count, shown: ids.length }];
    if (found.length > 0) return [""];
    return count > 0 && filter.states.size === 0 ? ["searching"] : ["no-match", { count: size }];
  }

  /** Forgets everything, because another user may look at the page now. */
  forget() {
    clearTimeout(this.timer);
    this.cells = new Cells();
    this.directory = new Directory();
    this.matches = undefined;
    this.names.isPartial = false;
    const live = this.page.live();
    if (live) live.query = this.query;
  }
}
