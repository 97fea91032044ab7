// The part of the panel in which an administrator sets, changes and clears the journey of the chosen trackable. The gateway
// publishes the journey at the broker.

import { button, field, make } from "./dom.js";
import { t } from "./i18n.js";
import { nearTo } from "./layers.js";
import { coordinates, typedPlace } from "./place.js";
import { reason } from "./session.js";
import { path, send } from "./write.js";

const L = window.L;
/** The largest number of stops of a journey. */
const MAXIMUM_STOPS = 200;

/** Returns the text of a time for an input of a date and a time, in the zone of the browser; empty without a time. */
export function localTime(seconds) {
  if (seconds === undefined) return "";
  const date = new Date(seconds * 1000);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}

/** Returns a new stop at a place, with an id that no other stop has. */
function newStop({ lat, lng }) {
  const id = [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return { id, location: [Number(lng.toFixed(6)), Number(lat.toFixed(6))] };
}

export class JourneyEditor {
  /**
   * @param camera the visible part of the map
   * @param panel the panel of the chosen trackable
   */
  constructor(map, camera, panel) {
    this.map = map;
    this.camera = camera;
    this.isAdmin = false;
    this.pins = L.layerGroup().addTo(map);
    this.makeForm();
    this.opener = button("journey.edit", () => (this.isOpen ? this.close() : this.open()), { id: "journey-edit" });
    this.element = make("section", { id: "journey-editor", hidden: true, label: "journey.edit" },
      make("div", { className: "row" }, this.opener), this.form, this.note);
    panel.append(this.element);
    this.close();
  }

  makeForm() {
    this.note = make("p", { id: "journey-note", className: "faint" });
    this.note.setAttribute("role", "status");
    this.list = make("ol", { id: "journey-stops" });
    this.input = make("input", { id: "journey-place", type: "text", autocomplete: "off", spellcheck: false });
    this.input.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); this.addTyped(); } });
    const add = button("journey.add", () => this.addTyped(), { id: "journey-add" });
    const middle = button("destination.middle", () => this.pick(this.camera.middle), { id: "journey-middle" });
    this.saver = make("button", { id: "journey-save", type: "submit", key: "journey.save" });
    this.clearer = button("journey.clear", () => this.clear(), { id: "journey-clear" });
    this.form = make("form", { id: "journey-form", noValidate: true, hidden: true }, this.list,
      make("p", { className: "faint", key: "journey.hint" }),
      make("div", { className: "row" }, field("destination.place", this.input), add, middle),
      make("div", { className: "row" }, this.saver, this.clearer));
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.save(); });
    this.form.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { event.stopPropagation(); this.close(); }
    });
  }

  get isOpen() { return !this.form.hidden; }

  /** Shows the editor for a trackable; undefined for none. */
  show(id) {
    if (id !== this.id) { this.id = id; this.close(); }
    this.element.hidden = !this.isAdmin || id === undefined;
  }

  // MARK: The form

  /** Reads the journey and opens the form. While the form is open, a click on the map adds a stop. */
  async open() {
    this.opened?.();
    const { id } = this;
    this.note.textContent = t("loading");
    const read = await send("GET", path("trackables", id, "journey"));
    if (id !== this.id) return;
    if (!read.ok && read.status !== 404) { this.note.textContent = reason(read); return; }
    this.take(read);
    this.note.textContent = "";
    this.form.hidden = false;
    this.opener.setAttribute("aria-expanded", "true");
    this.map.getContainer().classList.add("picking");
    this.element.scrollIntoView({ block: "nearest" });
  }

  /** Takes over the journey of an answer; a new one if there is none. */
  take({ ok, body, tag }) {
    this.journey = ok ? body : {};
    this.tag = ok ? tag : undefined;
    this.stops = ok ? [...body.stops] : [];
    this.clearer.hidden = !ok;
    this.fill();
  }

  close() {
    if (this.form.contains(document.activeElement)) this.opener.focus();
    this.form.hidden = true;
    this.opener.setAttribute("aria-expanded", "false");
    this.map.getContainer().classList.remove("picking");
    this.note.textContent = "";
    this.stops = [];
    this.fill();
  }

  /** Shows the stops in the form and on the map. */
  fill() {
    this.list.replaceChildren(...this.stops.map((stop, index) => this.row(stop, index + 1)));
    this.pins.clearLayers();
    for (const [index, { location: [lng, lat] }] of this.stops.entries()) {
      const icon = L.divIcon({ className: "stop-pin", html: String(index + 1), iconSize: [24, 24] });
      L.marker([lat, nearTo(lng, this.map.getCenter().lng)], { icon, interactive: false, keyboard: false }).addTo(this.pins);
    }
    this.saver.disabled = this.stops.length === 0;
  }

  row(stop, number) {
    const name = make("input", { type: "text", value: stop.name ?? "", placeholder: t("journey.stop", { number }), maxLength: 128 });
    name.setAttribute("aria-label", t("journey.name", { number }));
    name.addEventListener("input", () => { stop.name = name.value.trim() || undefined; });
    const time = make("input", { type: "datetime-local", value: localTime(stop.planned) });
    time.setAttribute("aria-label", t("journey.time", { number }));
    time.addEventListener("input", () => { stop.planned = time.value ? new Date(time.value).getTime() / 1000 : undefined; });
    const remove = make("button", { type: "button", textContent: "×", on: { click: () => this.remove(number) } });
    remove.setAttribute("aria-label", t("journey.remove", { number }));
    return make("li", {}, name, remove, time);
  }

  // MARK: Changing the stops

  /** Adds a stop at a place of the map; returns false if the form is closed. */
  pick(place) {
    if (!this.isOpen) return false;
    if (this.isBusy) return true;
    if (this.stops.length >= MAXIMUM_STOPS) { this.note.textContent = t("journey.full", { count: MAXIMUM_STOPS }); return true; }
    this.stops.push(newStop(L.latLng(place).wrap()));
    this.note.textContent = "";
    this.fill();
    return true;
  }

  addTyped() {
    const place = typedPlace(this.input.value);
    if (!place) { this.note.textContent = t("destination.invalid"); this.input.focus(); return; }
    this.input.value = "";
    this.pick(place);
  }

  remove(number) {
    this.stops.splice(number - 1, 1);
    this.fill();
    this.input.focus();
  }

  // MARK: Sending

  get condition() { return this.tag ? { "If-Match": this.tag } : { "If-None-Match": "*" }; }

  async save() {
    if (this.stops.length > 0) await this.send("PUT", { ...this.journey, stops: this.stops }, this.condition, "journey.saved");
  }

  async clear() { await this.send("DELETE", undefined, this.tag ? { "If-Match": this.tag } : {}, "journey.cleared"); }

  /** Sends a change, and closes the form after a success. After a change by another user, the form shows the present journey. */
  async send(method, body, condition, done) {
    if (this.isBusy) return;
    const { id } = this;
    this.isBusy = true;
    const answer = await send(method, path("trackables", id, "journey"), body, condition);
    this.isBusy = false;
    if (id !== this.id) return;
    if (answer.ok) { this.close(); this.note.textContent = t(done); return; }
    if (answer.status === 502) { this.note.textContent = t("journey.rejected"); return; }
    if (answer.status !== 412) { this.note.textContent = reason(answer); return; }
    const read = await send("GET", path("trackables", id, "journey"));
    if (id !== this.id) return;
    if (read.ok || read.status === 404) this.take(read);
    this.note.textContent = t("journey.changed");
  }
}
