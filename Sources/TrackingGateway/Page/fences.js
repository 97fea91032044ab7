// The fences on the map, with their names, and the box with their list, in which administrators draw and change them.

import { button, make } from "./dom.js";
import { Editor } from "./editor.js";
import { shapeOf } from "./fence-shape.js";
import { t, remember, remembered } from "./i18n.js";
import { json } from "./session.js";

const L = window.L;
/** The smallest width in pixels at which a fence shows its name. */
const NAMED = 36;
/** The display of a name, at the upper edge of its fence. */
const NAME = { pane: "fence-names", permanent: true, direction: "center", className: "fence-name", interactive: false };
/** The zoom up to which the map is enlarged to show a fence. */
const CLOSE = 17;

export class Fences {
  constructor(map, fleet) {
    this.map = map;
    this.features = [];
    this.layers = new Map();
    this.isShown = remembered("fences") !== "off";
    // Below the markers.
    map.createPane("fences").style.zIndex = 450;
    map.createPane("fence-names").style.zIndex = 460;
    this.group = L.layerGroup();
    this.editor = new Editor(map, fleet,
      { closed: (name) => this.edited(name), changed: () => this.load(), names: () => this.names });
    this.makeBox();
    map.on("moveend zoomend", () => this.nameThem());
  }

  get names() { return this.features.map(({ id }) => id); }

  // The box with the list

  makeBox() {
    this.toggle = button("fences", () => this.open(this.box.hidden), { id: "fences-open" });
    this.toggle.setAttribute("aria-expanded", "false");
    this.toggle.setAttribute("aria-controls", "fences-box");
    this.shown = make("input", { type: "checkbox", id: "fences-shown", checked: this.isShown });
    this.shown.addEventListener("change", () => this.show(this.shown.checked));
    this.list = make("ul", { id: "fences-list" });
    this.note = make("p", { className: "faint" });
    this.tools = make("div", { className: "tools" },
      button("fence.circle", () => this.draw("circle"), { id: "draw-circle" }),
      button("fence.polygon", () => this.draw("polygon"), { id: "draw-polygon" }));
    const shown = make("label", { className: "switch" }, this.shown, " ", make("span", { key: "fences.show" }));
    this.overview = make("div", {}, shown, this.list, this.note, this.tools);
    this.box = make("section", { id: "fences-box", label: "fences", hidden: true }, this.overview, this.editor.form);
    this.box.addEventListener("keydown", (event) => this.pressed(event));
    const control = L.control({ position: "topleft" });
    control.onAdd = () => {
      const element = make("div", { id: "fences", hidden: true }, this.toggle, this.box);
      L.DomEvent.disableClickPropagation(element);
      L.DomEvent.disableScrollPropagation(element);
      return element;
    };
    this.control = control.addTo(this.map);
  }

  /** Keeps the keys of the box from the page, whose keys have other meanings. */
  pressed(event) {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    if (this.editor.isOpen) this.editor.close(); else { this.open(false); this.toggle.focus(); }
  }

  open(isOpen) {
    if (!isOpen && this.editor.isOpen) this.editor.close();
    this.box.hidden = !isOpen;
    this.toggle.setAttribute("aria-expanded", String(isOpen));
  }

  draw(kind) {
    this.show(true);
    this.overview.hidden = true;
    this.editor.draw(kind);
  }

  /** Opens the editor of a fence for an administrator; others only see the fence on the map. */
  choose(feature) {
    this.find(feature.id);
    if (!this.isAdmin) return;
    this.overview.hidden = true;
    // A layer that only the map removed would remain in the group, without the map that its bounds need.
    const layer = this.layers.get(feature.id);
    if (layer) this.group.removeLayer(layer);
    this.editor.edit(feature);
  }

  find(name) {
    this.show(true);
    const bounds = this.layers.get(name)?.getBounds();
    if (bounds?.isValid()) this.map.fitBounds(bounds, { maxZoom: CLOSE, padding: [60, 60], animate: false });
  }

  /** Shows the list again, after the editor was closed. */
  edited(name) {
    this.overview.hidden = false;
    this.fill();
    this.redraw();
    const again = [...this.list.querySelectorAll("button")].find((one) => one.dataset.name === name);
    (again ?? this.tools.querySelector("button")).focus();
  }

  fill() {
    const key = this.isAdmin ? "fences.edit" : "fences.find";
    this.list.replaceChildren(...this.features.map((feature) => {
      const choose = make("button", { type: "button", textContent: feature.id, on: { click: () => this.choose(feature) } });
      choose.dataset.name = feature.id;
      choose.setAttribute("aria-label", t(key, { name: feature.id }));
      return make("li", {}, choose);
    }));
    const isEmpty = this.features.length === 0;
    this.note.hidden = !isEmpty;
    this.note.textContent = isEmpty ? t(this.isAdmin ? "fences.none.admin" : "fences.none") : "";
    this.tools.hidden = !this.isAdmin;
  }

  // The fences

  /** Begins for another user. `isOn` is false if the user may not read fences. */
  begin(isOn, isAdmin) {
    this.isOn = isOn;
    this.isAdmin = isAdmin;
    if (!isOn) this.open(false);
    this.features = [];
    this.answer = undefined;
    this.control.getContainer().hidden = !isOn;
    this.update();
    this.load();
  }

  async load() {
    if (!this.isOn) return;
    const { isAdmin } = this;
    const read = await json("/api/v1/fences");
    // Another user signed in meanwhile.
    if (!read || !this.isOn || isAdmin !== this.isAdmin) return;
    const text = JSON.stringify(read);
    if (text === this.answer) return;
    this.answer = text;
    this.features = read.features;
    this.update();
  }

  update() {
    this.redraw();
    if (!this.editor.isOpen) this.fill();
  }

  /** Shows or hides the fences, and remembers that in this browser. */
  show(isShown) {
    this.isShown = isShown;
    this.shown.checked = isShown;
    remember("fences", isShown ? "on" : "off");
    this.redraw();
  }

  redraw() {
    this.group.clearLayers();
    this.layers = new Map();
    for (const feature of this.features) {
      const layer = shapeOf(feature, { pane: "fences" });
      this.layers.set(feature.id, layer);
      if (feature.id !== this.editor.name) this.group.addLayer(layer);
    }
    if (this.isShown && this.isOn) this.group.addTo(this.map); else this.group.remove();
    this.nameThem();
  }

  /** Shows the names of the fences that are large enough on the screen. */
  nameThem() {
    if (!this.map.hasLayer(this.group)) return;
    for (const [name, layer] of this.layers) {
      if (!this.group.hasLayer(layer)) continue;
      const bounds = layer.getBounds();
      const [west, east] = [bounds.getNorthWest(), bounds.getSouthEast()].map((place) => this.map.latLngToContainerPoint(place));
      const isLarge = east.x - west.x >= NAMED;
      if (isLarge === Boolean(layer.getTooltip())) continue;
      if (!isLarge) { layer.unbindTooltip(); continue; }
      // The markers of trackables that stay there are in the middle more often than at the edge.
      layer.bindTooltip(document.createTextNode(name), NAME);
      layer.openTooltip(L.latLng(bounds.getNorth(), bounds.getCenter().lng));
    }
  }
}
