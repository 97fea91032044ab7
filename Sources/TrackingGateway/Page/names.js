// The names of the trackables, and the times of their last records. They are read repeatedly, because they can change.

import { json } from "./session.js";

export class Names {
  constructor(fleet) {
    this.fleet = fleet;
    this.given = new Map();
  }

  clear() { this.given = new Map(); }

  /** Gives a trackable its name, icon and groups, and the time up to which it was recorded, where they are known. */
  call(trackable) { Object.assign(trackable, this.given.get(trackable.id)); }

  /** Adds the recorded trackables without live data to the fleet. */
  tellRecorded() {
    for (const [id, { recorded }] of this.given) if (recorded !== undefined) this.call(this.fleet.get(id));
    this.fleet.hasNewOrder = true;
  }

  /** Reads the names page by page, unless they are cleared meanwhile. */
  async load() {
    const { given } = this;
    const told = new Set();
    let after = "";
    do {
      const page = await json(`/api/v1/trackables?limit=1000${after && `&after=${encodeURIComponent(after)}`}`);
      if (!page || given !== this.given) return;
      for (const { id, name, icon, groups, last } of page.trackables) {
        told.add(id);
        this.take(id, { name, icon, group: groups?.join(", "), groups, recorded: last });
      }
      after = page.next ?? "";
    } while (after);
    // A trackable that is no longer in the answer was erased, and has no records.
    for (const [id, label] of given) if (!told.has(id)) this.take(id, { ...label, recorded: undefined });
  }

  take(id, label) {
    const before = this.given.get(id);
    this.given.set(id, label);
    if (label.recorded === undefined && !this.fleet.byId.has(id)) return;
    const trackable = this.fleet.get(id);
    const wasListed = trackable.isListed;
    this.call(trackable);
    const isSame = ["name", "icon", "group"].every((part) => label[part] === before?.[part]);
    if (!isSame || trackable.isListed !== wasListed) this.fleet.hasNewOrder = true;
  }
}
