// The list of trackables: what the map shows, as text, in order, searched as one types.

import * as text from "./text.js";

export class List {
  /** @param choose called with the trackable that was chosen, and whether by double click or Enter */
  constructor(element, count, choose) {
    this.element = element;
    this.count = count;
    this.choose = choose;
    this.rows = new Map();
    this.needle = "";
    this.chosen = undefined;
    element.addEventListener("click", (event) => this.clicked(event));
    element.addEventListener("dblclick", (event) => this.clicked(event, true));
    element.addEventListener("keydown", (event) => this.key(event));
  }

  clicked(event, isTwice = false) {
    const row = event.target.closest("li");
    if (row) this.choose(row.dataset.id, isTwice);
  }

  key(event) {
    const shown = [...this.element.children].filter((row) => !row.hidden);
    const index = shown.findIndex((row) => row.dataset.id === this.chosen);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    let next;
    if (step) next = shown[Math.max(0, Math.min(shown.length - 1, index + step))];
    else if (event.key === "Home") [next] = shown;
    else if (event.key === "End") next = shown[shown.length - 1];
    else if (event.key === "Enter" && this.chosen) { this.choose(this.chosen, true); return; }
    if (!next) return;
    event.preventDefault();
    this.choose(next.dataset.id, false);
  }

  /** Brings the rows up to date; cheap for rows in which nothing changed. */
  show(fleet, now) {
    const trackables = [...fleet.byId.values()];
    let hasNew = false;
    for (const trackable of trackables) {
      let row = this.rows.get(trackable.id);
      if (!row) { row = this.makeRow(trackable); hasNew = true; }
      this.fill(row, trackable, now);
    }
    if (hasNew) this.sort(fleet);
    this.filter(fleet);
  }

  makeRow(trackable) {
    const row = document.createElement("li");
    row.id = `row-${this.rows.size}`;
    row.setAttribute("role", "option");
    row.dataset.id = trackable.id;
    const part = (name) => {
      const element = document.createElement("span");
      element.className = name;
      row.append(element);
      return element;
    };
    const made = { row, dot: part("dot"), name: part("name"), speed: part("speed"), more: part("more") };
    this.rows.set(trackable.id, made);
    return made;
  }

  fill(made, trackable, now) {
    const { row } = made;
    const state = trackable.state;
    if (row.className !== state) row.className = state;
    set(made.name, `${trackable.icon ? `${trackable.icon} ` : ""}${trackable.label}`);
    const isMoving = state === "ONLINE" && trackable.speed !== undefined;
    set(made.speed, isMoving ? text.speed(trackable.speed) : "");
    const parts = [words(state)];
    if (trackable.time !== undefined) parts.push(text.age(now - trackable.time));
    if (trackable.properties?.batteryLevel !== undefined) parts.push(`battery ${text.percent(trackable.properties.batteryLevel)}`);
    if (trackable.group) parts.push(trackable.group);
    set(made.more, parts.join(" · "));
    row.setAttribute("aria-selected", String(trackable.id === this.chosen));
  }

  sort(fleet) {
    const order = [...fleet.byId.values()].sort((a, b) =>
      (a.group ?? "").localeCompare(b.group ?? "") || a.label.localeCompare(b.label, undefined, { numeric: true }));
    this.element.append(...order.map((trackable) => this.rows.get(trackable.id).row));
  }

  search(needle, fleet) {
    this.needle = needle.trim().toLowerCase();
    this.filter(fleet);
  }

  filter(fleet) {
    let shown = 0;
    for (const [id, { row }] of this.rows) {
      const trackable = fleet.byId.get(id);
      const isFound = !this.needle || [id, trackable.name, trackable.group, trackable.state]
        .some((field) => field?.toLowerCase().includes(this.needle));
      if (row.hidden === isFound) row.hidden = !isFound;
      if (isFound) shown += 1;
    }
    set(this.count, this.needle ? `${shown} of ${this.rows.size}` : String(this.rows.size));
  }

  mark(id) {
    for (const key of [this.chosen, id]) {
      this.rows.get(key)?.row.setAttribute("aria-selected", String(key === id));
    }
    this.chosen = id;
    const row = id === undefined ? undefined : this.rows.get(id)?.row;
    if (row) {
      this.element.setAttribute("aria-activedescendant", row.id);
      row.scrollIntoView({ block: "nearest" });
    } else this.element.removeAttribute("aria-activedescendant");
  }
}

/** A state in words. */
export function words(state) {
  return { ONLINE: "online", STALE: "stale", OFFLINE: "offline", FAILED: "failed" }[state] ?? state;
}

/** Sets text only where it differs, so that nothing is laid out and nothing is read aloud again. */
export function set(element, value) { if (element.textContent !== value) element.textContent = value; }
