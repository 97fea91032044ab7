// The names of the trackables, and the times of their last records. They are read repeatedly, because they can change.

import { json } from "./session.js";

/** The largest number of characters in the query of one request. */
const QUERY = 8000;

/** Returns the label of a row of `GET /api/v1/trackables`. */
export const labelOf = ({ name, icon, groups, last }) => ({ name, icon, group: groups?.join(", "), groups, recorded: last });

/** Returns queries that name all ids, each with at least one. */
export function queriesOf(ids) {
  const queries = [];
  for (const id of ids) {
    const part = `trackable=${encodeURIComponent(id)}`;
    const last = queries.length - 1;
    if (last >= 0 && queries[last].length + part.length < QUERY) queries[last] += `&${part}`;
    else queries.push(part);
  }
  return queries;
}

export class Names {
  constructor(fleet) {
    this.fleet = fleet;
    this.given = new Map();
    /** True to read only the names of the trackables in the fleet, which are a part of all. */
    this.isPartial = false;
  }

  clear() { this.given = new Map(); }

  /** Gives a trackable its name, icon and groups, and the time up to which it was recorded, where they are known. */
  call(trackable) { Object.assign(trackable, this.given.get(trackable.id)); }

  /** Adds the recorded trackables without live data to the fleet. */
  tellRecorded() {
    if (this.isPartial) return;
    for (const [id, { recorded }] of this.given) if (recorded !== undefined) this.call(this.fleet.get(id));
    this.fleet.hasNewOrder = true;
  }

  /** Reads the names, unless they are cleared meanwhile. */
  load() { return this.isPartial ? this.loadShown() : this.loadAll(); }

  /** Reads the names of the trackables in the fleet. */
  async loadShown() {
    const { given } = this;
    for (const query of queriesOf(this.fleet.byId.keys())) {
      const page = await json(`/api/v1/trackables?${query}`);
      if (!page || given !== this.given) return;
      const told = new Set(page.trackables.map((row) => row.id));
      for (const row of page.trackables) this.take(row.id, labelOf(row));
      this.forgetErased(new URLSearchParams(query).getAll("trackable").filter((id) => !told.has(id)));
    }
  }

  /** Reads the names of all trackables page by page. */
  async loadAll() {
    const { given } = this;
    const told = new Set();
    let after = "";
    do {
      const page = await json(`/api/v1/trackables?limit=1000${after && `&after=${encodeURIComponent(after)}`}`);
      if (!page || given !== this.given || this.isPartial) return;
      for (const row of page.trackables) {
        told.add(row.id);
        this.take(row.id, labelOf(row));
      }
      after = page.next ?? "";
    } while (after);
    this.forgetErased([...given.keys()].filter((id) => !told.has(id)));
  }

  /** Removes the records of trackables that are no longer in the answer: they were erased. */
  forgetErased(ids) {
    for (const id of ids) if (this.given.has(id)) this.take(id, { ...this.given.get(id), recorded: undefined });
  }

  take(id, label) {
    const before = this.given.get(id);
    this.given.set(id, label);
    if ((label.recorded === undefined || this.isPartial) && !this.fleet.byId.has(id)) return;
    const trackable = this.fleet.get(id);
    const wasListed = trackable.isListed;
    this.call(trackable);
    const isSame = ["name", "icon", "group"].every((part) => label[part] === before?.[part]);
    if (!isSame || trackable.isListed !== wasListed) this.fleet.hasNewOrder = true;
  }
}
