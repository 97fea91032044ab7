// The names of all trackables of a large fleet, in which the page searches. The live stream has only the trackables in view.

import { locale } from "./i18n.js";
import { labelOf, queriesOf } from "./names.js";
import { json } from "./session.js";

/** The largest number of pages of 1,000 trackables that the page reads. */
const PAGES = 100;
/** The largest number of matches that the page shows. */
const MATCHES = 200;
/** The time in milliseconds after which a search reads the names again. */
const FRESH = 60000;

export class Directory {
  /** @param read returns the JSON of a path of the gateway; undefined for an error */
  constructor(read = json) {
    this.read = read;
    /** The labels {name, icon, group, groups, recorded} by id. */
    this.labels = new Map();
    this.readAt = -Infinity;
    /** True if the last reading reached the last page. */
    this.isWhole = true;
  }

  /** True once the names were read. */
  get isRead() { return this.readAt > -Infinity; }

  /** Makes the next search read the names again, because the fleet has more trackables. */
  expire() { if (this.isRead && this.isWhole) this.readAt = 0; }

  /** Reads the names unless they are fresh. Calls at the same time share one reading. */
  load() {
    if (this.readAt > 0 && performance.now() - this.readAt < FRESH) return undefined;
    this.reading ??= this.loadAll().finally(() => { this.reading = undefined; });
    return this.reading;
  }

  async loadAll() {
    const labels = new Map();
    let after = "";
    for (let pages = 0; pages < PAGES; pages += 1) {
      const page = await this.read(`/api/v1/trackables?limit=1000${after && `&after=${encodeURIComponent(after)}`}`);
      // The former names remain until the next search.
      if (!page) return;
      for (const row of page.trackables) labels.set(row.id, labelOf(row));
      after = page.next ?? "";
      if (!after) break;
    }
    this.labels = labels;
    this.isWhole = after === "";
    this.readAt = performance.now();
    this.counts = undefined;
  }

  /** The number of trackables in each group. */
  get groups() {
    if (this.counts) return this.counts;
    this.counts = new Map();
    for (const { groups } of this.labels.values()) {
      for (const group of groups ?? []) this.counts.set(group, (this.counts.get(group) ?? 0) + 1);
    }
    return this.counts;
  }

  /**
   * Returns the trackables whose name, id and groups match a filter, {ids, count}: the number of all, and the ids of the best
   * ones. Names and ids that equal the searched text come first, then those that begin with it.
   */
  find(filter) {
    const compare = new Intl.Collator(locale(), { numeric: true }).compare;
    const found = [];
    for (const [id, label] of this.labels) {
      if (!filter.matchesLabel({ id, ...label })) continue;
      const texts = [id, label.name ?? id].map((text) => text.toLowerCase());
      const rank = texts.includes(filter.needle) ? 0 : texts.some((text) => text.startsWith(filter.needle)) ? 1 : 2;
      found.push({ id, rank, label: label.name ?? id });
    }
    found.sort((a, b) => a.rank - b.rank || compare(a.label, b.label));
    return { ids: found.slice(0, MATCHES).map(({ id }) => id), count: found.length };
  }
}

/** Returns the query of the live stream of trackables, {query, ids}: as many of them as one request can name. */
export function queryOfIds(ids) {
  const [query] = queriesOf(ids);
  return { query, ids: new URLSearchParams(query ?? "").getAll("trackable") };
}
