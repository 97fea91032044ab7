// The stops of the chosen trackable's journey, in its panel.

import { make } from "./dom.js";
import { t } from "./i18n.js";
import { isOld, noteText, stopText } from "./journey.js";
import { set } from "./list.js";

export class StopList {
  /**
   * @param section the section of the panel
   * @param show called with the place of a stop that the user wants to see
   */
  constructor(section, show) {
    this.section = section;
    this.note = section.querySelector("p");
    this.list = section.querySelector("ol");
    this.showPlace = show;
    this.rows = [];
  }

  /** Shows the stops of a trackable with their times and states. */
  show({ stops, estimate }, now) {
    this.section.hidden = stops.length === 0;
    if (this.stops !== stops) this.makeRows(stops);
    const note = noteText(estimate, now);
    set(this.note, note);
    this.note.hidden = note === "";
    this.section.classList.toggle("old", estimate !== undefined && isOld(estimate, now));
    for (const [index, stop] of stops.entries()) this.fill(this.rows[index], stop, now);
  }

  makeRows(stops) {
    this.stops = stops;
    this.rows = stops.map(({ number, place }) => {
      const row = {
        item: make("li"), name: make("span", { className: "name" }), state: make("span", { className: "status" }),
        more: make("span", { className: "faint" }),
      };
      const label = make("span", { className: "number", ariaHidden: "true", textContent: String(number) });
      const click = () => this.showPlace(place);
      row.item.append(make("button", { type: "button", on: { click } }, label, row.name, row.state, row.more));
      return row;
    });
    this.list.replaceChildren(...this.rows.map(({ item }) => item));
  }

  fill({ item, name, state, more }, stop, now) {
    const status = stop.estimate?.status;
    if (item.className !== (status ?? "")) item.className = status ?? "";
    set(name, stop.label);
    set(state, status === undefined ? "" : t(`journey.status.${status}`));
    set(more, stopText(stop, now));
  }
}
