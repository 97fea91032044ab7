// The choice of trackables that the map and the list show: a searched text, states and groups.

import { t } from "./i18n.js";
import { set, words } from "./list.js";

/** The states in the order of their buttons. */
const STATES = ["ONLINE", "OLD", "STALE", "FAILED", "OFFLINE", "UNKNOWN"];
/** The largest number of groups with a button: those with the most trackables. */
const MAXIMUM_GROUPS = 30;

export class Filter {
  /**
   * @param element the element that receives the buttons
   * @param changed called after a button was pressed
   */
  constructor(element, changed) {
    this.element = element;
    this.changed = changed;
    this.needle = "";
    this.states = new Set();
    this.groups = new Set();
    element.addEventListener("click", (event) => this.pressed(event.target.closest("button")));
  }

  /** True if the filter can be applied to names, ids and groups alone. */
  get isOnLabels() { return this.needle !== "" || this.groups.size > 0; }

  get isOn() { return this.needle !== "" || this.states.size > 0 || this.groups.size > 0; }

  search(text) { this.needle = text.trim().toLowerCase(); }

  clear() {
    this.needle = "";
    this.states.clear();
    this.groups.clear();
  }

  /** Returns true for a trackable that is shown: in one of the pressed states, in one of the pressed groups, and found. */
  matches(trackable, state) {
    if (this.states.size > 0 && !this.states.has(state)) return false;
    return this.matchesLabel(trackable, words(state));
  }

  /** Returns true for a trackable in one of the pressed groups whose id, name or group, or a further text, contains the searched text. */
  matchesLabel({ id, name, group, groups }, further) {
    if (this.groups.size > 0 && !groups?.some((one) => this.groups.has(one))) return false;
    if (this.needle === "") return true;
    return [id, name, group, further].some((field) => field?.toLowerCase().includes(this.needle));
  }

  pressed(button) {
    if (!button) return;
    const pressed = button.dataset.kind === "state" ? this.states : this.groups;
    const { value } = button.dataset;
    if (!pressed.delete(value)) pressed.add(value);
    this.changed();
  }

  /**
   * Shows a button for each state and group, with the number of its trackables.
   *
   * @param all the number of trackables in each group, if the page has only some of the trackables
   */
  show(fleet, trackables, all) {
    const [states, groups] = [new Map(), new Map(all)];
    const count = (counts, key) => counts.set(key, (counts.get(key) ?? 0) + 1);
    for (const trackable of trackables) {
      count(states, fleet.stateOf(trackable));
      if (!all) for (const group of trackable.groups ?? []) count(groups, group);
    }
    const shown = [...STATES.filter((state) => states.has(state) || this.states.has(state))
      .map((state) => ["state", state, words(state), states.get(state) ?? 0]),
    ...this.largest(groups).map((group) => ["group", group, group, groups.get(group) ?? 0])];
    this.fill(shown.length > 1 || this.isOn || (all && shown.length > 0) ? shown : []);
  }

  largest(groups) {
    const known = [...new Set([...groups.keys(), ...this.groups])];
    known.sort((a, b) => Number(this.groups.has(b)) - Number(this.groups.has(a)) || (groups.get(b) ?? 0) - (groups.get(a) ?? 0));
    return known.slice(0, MAXIMUM_GROUPS).sort();
  }

  /** Fills the buttons [kind, value, name, count]; creates them anew only if others are needed. */
  fill(shown) {
    const key = JSON.stringify(shown.map(([kind, value]) => [kind, value]));
    if (this.key !== key) {
      this.key = key;
      this.element.replaceChildren(...shown.map(([kind, value]) => {
        const chip = Object.assign(document.createElement("button"), { type: "button", className: `chip ${kind === "state" ? value : ""}` });
        chip.dataset.kind = kind;
        chip.dataset.value = value;
        if (kind === "state") chip.append(Object.assign(document.createElement("span"), { className: "dot" }));
        chip.append(document.createElement("span"));
        return chip;
      }));
      this.element.hidden = shown.length === 0;
    }
    shown.forEach(([kind, value, name, count], index) => {
      const chip = this.element.children[index];
      set(chip.lastChild, t("chip", { name, count }));
      const isPressed = String((kind === "state" ? this.states : this.groups).has(value));
      if (chip.getAttribute("aria-pressed") !== isPressed) chip.setAttribute("aria-pressed", isPressed);
    });
  }
}
