// The destination of the chosen trackable: its pin on the map, and the part of the panel in which an administrator sets and
// removes it. The gateway sends the change to the device, and returns the answer of the device.

import { button, field, make } from "./dom.js";
import { t } from "./i18n.js";
import { nearTo } from "./layers.js";
import { coordinates, typedPlace } from "./place.js";
import { reason } from "./session.js";
import { path, send } from "./write.js";

const L = window.L;
/** The number of seconds for which the gateway waits for the answer of the device. */
const WAIT = 10;

export class Destination {
  /**
   * @param camera the visible part of the map
   * @param panel the panel of the chosen trackable
   */
  constructor(map, camera, panel) {
    this.map = map;
    this.camera = camera;
    this.isAdmin = false;
    const icon = L.divIcon({ className: "pin", iconSize: [22, 30], iconAnchor: [11, 30] });
    this.pin = L.marker([0, 0], { icon, interactive: false, keyboard: false });
    this.makeSection();
    panel.append(this.element);
  }

  // MARK: The section of the panel

  makeSection() {
    this.opener = button("destination.set", () => this.open(!this.isOpen), { id: "destination-set" });
    this.remover = button("destination.remove", () => this.send(undefined), { id: "destination-remove", hidden: true });
    this.note = make("p", { id: "destination-note", className: "faint" });
    this.note.setAttribute("role", "status");
    this.makeForm();
    this.element = make("section", { id: "destination", hidden: true, label: "fact.destination" },
      make("h3", { key: "fact.destination" }), make("div", { className: "row" }, this.opener, this.remover), this.form, this.note);
    this.open(false);
  }

  makeForm() {
    this.input = make("input", { id: "destination-place", type: "text", autocomplete: "off", spellcheck: false });
    this.input.setAttribute("aria-describedby", "destination-note");
    this.input.addEventListener("input", () => this.placed());
    this.saver = make("button", { id: "destination-save", type: "submit", key: "destination.save" });
    const middle = button("destination.middle", () => this.pick(this.camera.middle), { id: "destination-middle" });
    this.form = make("form", { id: "destination-form", noValidate: true }, make("p", { className: "faint", key: "destination.hint" }),
      make("div", { className: "row" }, field("destination.place", this.input)), make("div", { className: "row" }, middle, this.saver));
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.save(); });
    this.form.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { event.stopPropagation(); this.open(false); }
    });
  }

  get isOpen() { return !this.form.hidden; }

  /** Opens the form for a place, or closes it. While the form is open, a click on the map chooses the place. */
  open(isOpen) {
    const wasOpen = this.isOpen;
    if (!isOpen && this.form.contains(document.activeElement)) this.opener.focus();
    this.form.hidden = !isOpen;
    this.opener.setAttribute("aria-expanded", String(isOpen));
    if (isOpen || wasOpen) this.map.getContainer().classList.toggle("picking", isOpen);
    this.input.value = "";
    this.note.textContent = "";
    this.placed();
    if (isOpen) this.opened?.();
    if (isOpen) this.element.scrollIntoView({ block: "nearest" });
  }

  /** Shows the destination of the chosen trackable; undefined for none. */
  show(trackable) {
    if (trackable?.id !== this.id) {
      this.id = trackable?.id;
      this.wait(undefined);
      this.open(false);
    }
    this.present = trackable?.destination;
    this.element.hidden = !this.isAdmin || this.id === undefined;
    this.remover.hidden = this.present === undefined;
    this.movePin();
  }

  // MARK: Choosing a place

  /** Chooses a place of the map; returns false if the form is closed. */
  pick(place) {
    if (!this.isOpen) return false;
    if (this.request) return true;
    this.input.value = coordinates(L.latLng(place).wrap());
    this.note.textContent = "";
    this.placed();
    return true;
  }

  placed() {
    this.chosen = typedPlace(this.input.value);
    this.input.removeAttribute("aria-invalid");
    this.movePin();
  }

  /** Shows the pin at the place of the form, or else at the destination of the trackable. */
  movePin() {
    const place = this.chosen ?? this.present;
    if (!place) { this.pin.remove(); return; }
    this.pin.setLatLng([place.lat, nearTo(place.lng, this.map.getCenter().lng)]);
    if (!this.map.hasLayer(this.pin)) this.pin.addTo(this.map);
  }

  // MARK: Sending

  save() {
    if (this.request) return;
    if (this.chosen) { this.send(this.chosen); return; }
    this.note.textContent = t("destination.invalid");
    this.input.setAttribute("aria-invalid", "true");
    this.input.focus();
  }

  /** Sends a destination to the device of the trackable, and shows its answer; undefined removes the destination. */
  async send(place) {
    const request = {};
    const hadFocus = this.element.contains(document.activeElement);
    this.wait(request);
    this.note.textContent = t("destination.waiting");
    const command = {
      command: "destination", arguments: place ? { destination: [place.lng, place.lat] } : {}, timeout: WAIT,
    };
    const answer = await send("POST", path("trackables", this.id, "commands"), command);
    if (request !== this.request) return;
    this.wait(undefined);
    const failure = failureOf(answer);
    if (!failure) this.open(false);
    this.note.textContent = failure ?? t(place ? "destination.done" : "destination.removed");
    // The disabled button lost the keyboard focus.
    if (hadFocus && document.activeElement === document.body) (this.isOpen ? this.saver : this.opener).focus();
  }

  /** Notes the request whose answer is awaited; undefined for none. */
  wait(request) {
    this.request = request;
    for (const control of [this.opener, this.remover, this.saver, this.input]) control.disabled = request !== undefined;
  }
}

/** Returns the text for an answer that is no success of the device; undefined for a success. */
function failureOf(answer) {
  if (answer.status === 504) return t("destination.silent", { seconds: WAIT });
  if (answer.status === 502) return t("destination.rejected");
  if (!answer.ok) return reason(answer);
  return answer.body?.ok ? undefined : t("destination.refused", { reason: answer.body?.error?.message ?? "" });
}
