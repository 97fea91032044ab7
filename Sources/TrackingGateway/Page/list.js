// The list of trackables as text, sorted and filtered. Only visible rows have elements.

import { locale, t } from "./i18n.js";
import * as text from "./text.js";

/** The height of a row in pixels, as in the style sheet, and the number of rows beyond each edge that have elements. */
const ROW = 52;
const MARGIN = 4;
/** The age in seconds from which a position is "last seen" in every state. */
const LONG_AGE = 600;
/** The interval in milliseconds at which the list is sorted again by values that change. */
const SORT_EVERY = 3000;

export class List {
  /**
   * @param filter the choice of trackables to show
   * @param choose called with the chosen trackable, true if it was chosen by double click or Enter, and the event
   */
  constructor(element, count, filter, choose) {
    this.element = element;
    this.count = count;
    /** The number of all trackables, if the list has only some of them; otherwise undefined. */
    this.total = undefined;
    /** The number of trackables in each group of the whole fleet, if the list has only some trackables; otherwise undefined. */
    this.groups = undefined;
    this.filter = filter;
    this.choose = choose;
    this.order = [];
    this.found = [];
    this.shown = new Set();
    this.sortedBy = "name";
    this.sortedAt = -Infinity;
    this.rows = new Map();
    this.chosen = undefined;
    this.room = document.createElement("div");
    this.room.className = "room";
    this.room.setAttribute("role", "presentation");
    element.append(this.room);
    element.addEventListener("click", (event) => this.clicked(event));
    element.addEventListener("dblclick", (event) => this.clicked(event, true));
    element.addEventListener("keydown", (event) => this.key(event));
    element.addEventListener("scroll", () => this.layOut(), { passive: true });
  }

  clicked(event, isTwice = false) {
    const row = event.target.closest("[role=option]");
    if (row) this.choose(row.dataset.id, isTwice, event);
  }

  key(event) {
    const index = this.found.findIndex((trackable) => trackable.id === this.chosen);
    const last = this.found.length - 1;
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW) - 1);
    const next = { ArrowDown: index + 1, ArrowUp: index - 1, PageDown: index + page, PageUp: index - page, Home: 0, End: last }[event.key];
    if (event.key === "Enter" && this.chosen !== undefined) { this.choose(this.chosen, true); return; }
    if (next === undefined || last < 0) return;
    event.preventDefault();
    this.choose(this.found[Math.max(0, Math.min(last, next))].id, false);
  }

  /** Updates the visible rows. */
  show(fleet, now) {
    this.now = now;
    this.fleet = fleet;
    const isDue = this.sortedBy !== "name" && performance.now() - this.sortedAt > SORT_EVERY;
    if (fleet.hasNewOrder || isDue) {
      fleet.hasNewOrder = false;
      this.sortedAt = performance.now();
      this.order = sorted(fleet.listed, this.sortedBy);
    }
    this.filter.show(fleet, this.order, this.groups);
    this.find();
  }

  /** Sorts the list by name, age, speed or battery. */
  sort(key) {
    this.sortedBy = key;
    this.fleet.hasNewOrder = true;
    this.show(this.fleet, this.now);
    this.element.scrollTop = 0;
  }

  /** Returns true for a trackable that the filter lets through. */
  shows(trackable) { return !this.filter.isOn || this.shown.has(trackable); }

  /** Applies the filter. */
  find() {
    const isFound = (trackable) => this.filter.matches(trackable, this.fleet.stateOf(trackable));
    this.found = this.filter.isOn ? this.order.filter(isFound) : this.order;
    this.shown = this.filter.isOn ? new Set(this.found) : new Set();
    const all = this.total ?? this.order.length;
    set(this.count, this.filter.isOn ? t("count.of", { found: this.found.length, all }) : String(all));
    const height = `${this.found.length * ROW}px`;
    if (this.room.style.height !== height) this.room.style.height = height;
    this.layOut();
  }

  /** Creates, fills and removes the elements of rows, so that the visible rows have one. */
  layOut() {
    const { scrollTop, clientHeight } = this.element;
    const first = Math.max(0, Math.floor(scrollTop / ROW) - MARGIN);
    const last = Math.min(this.found.length, Math.ceil((scrollTop + clientHeight) / ROW) + MARGIN);
    const wanted = new Set();
    for (let i = first; i < last; i += 1) {
      wanted.add(this.found[i].id);
      this.fill(this.rows.get(this.found[i].id) ?? this.makeRow(this.found[i].id), this.found[i], i);
    }
    for (const [id, made] of this.rows) {
      if (!wanted.has(id)) { made.row.remove(); this.rows.delete(id); }
    }
    const chosen = this.rows.get(this.chosen);
    if (chosen) this.element.setAttribute("aria-activedescendant", chosen.row.id);
    else this.element.removeAttribute("aria-activedescendant");
  }

  makeRow(id) {
    const row = document.createElement("div");
    row.id = `row-${encodeURIComponent(id)}`;
    row.setAttribute("role", "option");
    row.dataset.id = id;
    const part = (name) => {
      const element = document.createElement("span");
      element.className = name;
      row.append(element);
      return element;
    };
    const made = { row, dot: part("dot"), name: part("name"), speed: part("speed"), more: part("more") };
    this.rows.set(id, made);
    this.room.append(row);
    return made;
  }

  fill(made, trackable, index) {
    const { row } = made;
    if (made.index !== index) {
      made.index = index;
      row.style.transform = `translateY(${index * ROW}px)`;
      row.setAttribute("aria-posinset", index + 1);
    }
    if (made.size !== this.found.length) {
      made.size = this.found.length;
      row.setAttribute("aria-setsize", this.found.length);
    }
    const state = this.fleet.stateOf(trackable);
    if (row.className !== state) row.className = state;
    set(made.name, `${trackable.icon ? `${trackable.icon} ` : ""}${trackable.label}`);
    const isMoving = state === "ONLINE" && trackable.speed !== undefined;
    set(made.speed, isMoving ? text.speed(trackable.speed) : "");
    const parts = state === "OLD" ? [] : [words(state)];
    if (trackable.time !== undefined) parts.push(this.seen(trackable.time, state));
    else if (trackable.recorded !== undefined) parts.push(t("recorded-until", { ago: text.ago(this.now - trackable.recorded) }));
    if (trackable.clockAhead !== undefined) parts.push(text.clockAhead(trackable.clockAhead));
    const level = trackable.properties?.batteryLevel;
    const battery = level === undefined ? undefined : t("battery", { level: text.percent(level) });
    if (battery) parts.push(battery);
    if (trackable.group) parts.push(trackable.group);
    set(made.more, parts.join(" · "));
    // The row is not announced to screen readers every second; the panel contains the changing text.
    const spoken = [trackable.label, words(state), battery, trackable.group].filter(Boolean).join(", ");
    if (made.spoken !== spoken) { made.spoken = spoken; row.setAttribute("aria-label", spoken); }
    const isChosen = trackable.id === this.chosen;
    if (made.isChosen !== isChosen) { made.isChosen = isChosen; row.setAttribute("aria-selected", String(isChosen)); }
  }

  /** Returns the age of a position; as "last seen" if the trackable is not where it was. */
  seen(time, state) {
    const age = this.now - time;
    return ["OLD", "OFFLINE", "FAILED"].includes(state) || age >= LONG_AGE ? text.lastSeen(age) : text.age(age);
  }

  /** Marks a trackable as chosen, and scrolls its row into view. */
  mark(id) {
    this.chosen = id;
    const index = this.found.findIndex((trackable) => trackable.id === id);
    if (index >= 0) {
      const top = index * ROW;
      const { scrollTop, clientHeight } = this.element;
      if (top < scrollTop) this.element.scrollTop = top;
      else if (top + ROW > scrollTop + clientHeight) this.element.scrollTop = top + ROW - clientHeight;
    }
    this.layOut();
  }
}

/** The values by which the list can be sorted, the least first. A trackable without the value is last. */
const VALUES = {
  age: ({ time }) => time === undefined ? undefined : -time,
  speed: ({ speed }) => speed === undefined ? undefined : -speed,
  battery: ({ properties }) => properties?.batteryLevel,
};

/** Returns trackables in the order of a key, and of their groups and names. */
export function sorted(trackables, key) {
  const compare = new Intl.Collator(locale(), { numeric: true }).compare;
  const byName = (a, b) => compare(a.label, b.label);
  const value = VALUES[key];
  if (!value) return trackables.sort((a, b) => compare(a.group ?? "", b.group ?? "") || byName(a, b));
  const values = new Map(trackables.map((trackable) => [trackable, value(trackable) ?? Infinity]));
  return trackables.sort((a, b) => values.get(a) === values.get(b) ? byName(a, b) : values.get(a) - values.get(b));
}

/** Returns the word for a state. */
export const words = (state) => t(`state.${state}`);

/** Sets the text of an element only if it differs, so that nothing is laid out or announced again. */
export function set(element, value) { if (element.textContent !== value) element.textContent = value; }
