// The editor of a fence: drawing it with the mouse, a finger or keys, moving its points, its name and its rules.

import { button, field, make } from "./dom.js";
import { Handles } from "./handles.js";
import { t } from "./i18n.js";
import { FenceRules } from "./fence-rules.js";
import { nearTo } from "./layers.js";
import { reason } from "./session.js";
import { path, send } from "./write.js";

const L = window.L;
/** The radii that a circle may have, in metres. */
const RADII = [10, 100000];
/** The number of pixels that a pointer must move to draw a circle. */
const DRAGGED = 6;

export class Editor {
  /**
   * @param handlers `closed(name)` when the editor was closed, `changed()` when a fence was saved or deleted, and `names()`,
   *   which returns the names of all fences
   */
  constructor(map, fleet, handlers) {
    this.map = map;
    this.handlers = handlers;
    this.rules = new FenceRules(fleet, (words) => this.tell(words));
    this.handles = new Handles(map, () => this.shapeChanged(), () => this.close());
    this.makeForm();
  }

  get isOpen() { return !this.form.hidden; }

  // MARK: The form

  makeForm() {
    this.title = make("h2", { id: "fence-title" });
    this.hint = make("p", { className: "faint" });
    this.input = make("input", { id: "fence-name", type: "text", required: true, maxLength: 64, autocomplete: "off" });
    this.radius = make("input",
      { id: "fence-radius", type: "number", min: RADII[0], max: RADII[1], step: "any", required: true });
    this.radius.addEventListener("change", () => this.radiusTyped());
    this.radiusField = field("fence.radius", this.radius);
    this.saver = make("button", { id: "fence-save", type: "submit", key: "fence.save" });
    this.finisher = button("fence.finish", () => this.finish(), { id: "fence-finish" });
    this.deleter = button("fence.delete", () => this.remove(), { id: "fence-delete" });
    this.fields = make("div", { className: "fields" }, field("fence.name", this.input), this.radiusField);
    this.note = make("p", { id: "fence-note", className: "note" });
    this.note.setAttribute("role", "status");
    const cancel = button("fence.cancel", () => this.close(), { id: "fence-cancel" });
    const tools = make("div", { className: "tools" }, this.saver, this.finisher, cancel, this.deleter);
    this.form = make("form", { id: "fence-form", hidden: true },
      this.title, this.hint, this.fields, tools, this.note, this.rules.element);
    this.form.setAttribute("aria-labelledby", "fence-title");
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.save(); });
  }

  tell(words) { this.note.textContent = words; }

  /** Shows the part of the form for drawing, or that for a drawn fence. */
  show(isDrawing) {
    this.form.hidden = false;
    this.form.classList.toggle("drawing", isDrawing);
    this.title.textContent = this.name ?? t("fence.new");
    this.hint.textContent = t(isDrawing ? `fence.draw-${this.kind}` : "fence.handles");
    this.fields.hidden = this.saver.hidden = isDrawing;
    this.finisher.hidden = !isDrawing || this.kind === "circle";
    this.finisher.disabled = true;
    this.radiusField.hidden = this.kind !== "circle";
    this.radius.disabled = this.kind !== "circle";
    this.deleter.hidden = this.name === undefined;
    this.askedToDelete(false);
    if (isDrawing) this.rules.hide(); else this.rules.show(this.name);
  }

  close() {
    const { name } = this;
    this.stopDrawing();
    this.handles.clear();
    this.form.hidden = true;
    this.name = this.tag = undefined;
    this.tell("");
    this.handlers.closed(name);
  }

  // MARK: Drawing

  draw(kind) {
    this.kind = kind;
    this.name = this.tag = undefined;
    this.tell("");
    this.corners = [];
    this.show(true);
    this.beginDrawing();
  }

  /** Lays a sheet over the map that receives the pointer until the fence is drawn. */
  beginDrawing() {
    this.sheet = make("div", { id: "fence-sheet", tabIndex: 0, label: `fence.draw-${this.kind}` });
    this.sheet.setAttribute("role", "application");
    L.DomEvent.disableClickPropagation(this.sheet);
    const place = (event) => this.map.mouseEventToLatLng(event);
    const on = (kind, act) => this.sheet.addEventListener(kind, act);
    on("keydown", (event) => {
      if (event.key === "Enter") { event.preventDefault(); this.drawInTheMiddle(); }
      if (event.key === "Escape") { event.stopPropagation(); this.close(); }
    });
    if (this.kind === "circle") {
      on("pointerdown", (event) => { this.sheet.setPointerCapture(event.pointerId); this.begun(place(event), event); });
      on("pointermove", (event) => this.dragged(place(event), event));
      on("pointerup", (event) => this.released(event));
      on("pointercancel", () => { this.start = undefined; this.handles.clear(); });
    } else {
      on("click", (event) => this.addCorner(place(event)));
    }
    this.map.getContainer().append(this.sheet);
    this.sheet.focus();
  }

  stopDrawing() {
    this.sheet?.remove();
    this.sheet = this.start = undefined;
  }

  begun(place, { clientX, clientY }) { this.start = { place, clientX, clientY }; }

  dragged(place, { clientX, clientY }) {
    if (!this.start || Math.hypot(clientX - this.start.clientX, clientY - this.start.clientY) < DRAGGED) return;
    this.start.isDragged = true;
    this.handles.circle(this.start.place, within(this.map.distance(this.start.place, place)));
  }

  released() {
    const isDrawn = this.start?.isDragged;
    this.start = undefined;
    if (isDrawn) this.drawn();
  }

  addCorner(place) {
    this.corners.push(place);
    this.handles.line(this.corners);
    this.finisher.disabled = this.corners.length < 3;
  }

  finish() {
    if (this.corners.length < 3) return;
    this.handles.polygon(this.corners);
    this.drawn();
  }

  /** Draws a fence without a pointer: in the middle of the map, as wide as a third of it. */
  drawInTheMiddle() {
    if (this.kind === "polygon" && this.corners.length >= 3) { this.finish(); return; }
    const size = this.map.getSize();
    const [x, y, half] = [size.x / 2, size.y / 2, Math.min(size.x, size.y) / 6];
    const at = (east, south) => this.map.containerPointToLatLng([x + east * half, y + south * half]);
    if (this.kind === "circle") this.handles.circle(at(0, 0), within(this.map.distance(at(0, 0), at(1, 0))));
    else this.handles.polygon([at(-1, -1), at(1, -1), at(1, 1), at(-1, 1)]);
    this.drawn();
  }

  drawn() {
    this.stopDrawing();
    this.handles.begin();
    this.input.value = this.freeName();
    this.show(false);
    this.uncover();
    this.shapeChanged();
    this.input.focus();
    this.input.select();
  }

  freeName() {
    const names = new Set(this.handlers.names());
    for (let number = 1; ; number += 1) {
      const name = t("fence.first-name", { number });
      if (!names.has(name)) return name;
    }
  }

  // MARK: Changing

  /** Opens a fence, as the gateway has it now. */
  async edit(feature) {
    this.name = feature.id;
    this.take(feature);
    this.tell("");
    const { body, tag } = await send("GET", path("fences", feature.id));
    if (this.name !== feature.id || !this.isOpen) return;
    this.tag = tag;
    if (body && JSON.stringify(body) !== JSON.stringify(feature)) this.take(body);
    this.input.focus();
  }

  take(feature) {
    this.kind = feature.geometry.type === "Point" ? "circle" : "polygon";
    this.feature = feature;
    this.input.value = feature.id;
    this.handles.take(feature);
    this.handles.begin();
    this.show(false);
    this.uncover();
    this.shapeChanged();
  }

  /** Moves the map so that the fence is beside the form, or below it on a narrow page. */
  uncover() {
    const rect = (element) => element.getBoundingClientRect();
    const [map, box] = [rect(this.map.getContainer()), rect(this.form.parentElement)];
    const isNarrow = box.width > 0.6 * map.width;
    const sheet = document.getElementById("sheet");
    const foot = isNarrow && sheet ? Math.max(0, map.bottom - rect(sheet).top) : 0;
    const [left, top] = isNarrow ? [0, box.bottom - map.top] : [box.right - map.left, 0];
    const room = Math.max(40, map.height - top - foot);
    const edge = Math.min(30, room / 6);
    this.map.fitBounds(this.handles.shape.getBounds(), {
      maxZoom: this.map.getZoom(), animate: false,
      paddingTopLeft: [left + edge, Math.min(top, map.height - 40) + edge],
      paddingBottomRight: [edge, Math.min(foot, map.height / 2) + edge],
    });
    this.handles.begin();
  }

  /** Shows the radius of a circle whose points were moved. */
  shapeChanged() {
    if (this.kind === "circle" && this.handles.radius !== undefined) this.radius.value = Math.round(this.handles.radius);
  }

  radiusTyped() {
    const radius = Number(this.radius.value);
    if (radius > 0) this.handles.setRadius(within(radius));
  }

  /** The fence as a GeoJSON Feature, with its longitudes within ±180°. */
  get drawnFeature() {
    const place = ({ lat, lng }) => [round(nearTo(lng, 0)), round(lat)];
    if (this.kind === "circle") {
      const { centre, radius } = this.handles;
      const geometry = { type: "Point", coordinates: place(centre) };
      return { type: "Feature", geometry, properties: { radius: Math.round(radius * 10) / 10 } };
    }
    const areas = this.handles.areas.map((rings) => rings.map((ring) => [...ring, ring[0]].map(place)));
    return { type: "Feature", geometry: { type: "MultiPolygon", coordinates: areas }, properties: {} };
  }

  async save() {
    const name = this.input.value.trim();
    const before = this.name;
    const condition = name === before && this.tag ? { "If-Match": this.tag } : { "If-None-Match": "*" };
    const saved = await send("PUT", path("fences", name), this.drawnFeature, condition);
    if (saved.status === 412) { await this.refused(name === before); return; }
    if (!saved.ok) { this.tell(reason(saved)); return; }
    if (before !== undefined && name !== before) {
      const failed = await this.rules.move(before, name) ?? await this.removeFormer(before);
      if (failed) { this.tell(reason(failed)); this.handlers.changed(); return; }
    }
    this.name = name;
    this.tag = saved.tag;
    this.feature = saved.body;
    this.show(false);
    this.tell(t("fence.saved", { name }));
    this.handlers.changed();
  }

  async removeFormer(name) {
    const removed = await send("DELETE", path("fences", name));
    return removed.ok || removed.status === 404 ? undefined : removed;
  }

  /** Tells that the gateway refused a change, because another user was faster. */
  async refused(isSame) {
    if (!isSame) { this.tell(t("fence.exists")); return; }
    const { body, tag } = await send("GET", path("fences", this.name));
    this.tag = tag;
    if (body) this.take(body);
    this.tell(t("fence.changed"));
    this.handlers.changed();
  }

  /** Deletes the fence and its rules, after a second press of the button. */
  async remove() {
    if (!this.isAsked) { this.askedToDelete(true); return; }
    const { name } = this;
    const failed = await this.rules.removeAll() ?? await this.removeFormer(name);
    if (failed) { this.tell(reason(failed)); return; }
    this.handlers.changed();
    this.close();
  }

  askedToDelete(isAsked) {
    this.isAsked = isAsked;
    this.deleter.dataset.t = isAsked && this.rules.count > 0 ? "fence.delete.sure" : "fence.delete";
    this.deleter.textContent = t(this.deleter.dataset.t) + (isAsked ? "?" : "");
  }
}

const within = (radius) => Math.max(RADII[0], Math.min(RADII[1], radius));
const round = (degrees) => Math.round(degrees * 1e6) / 1e6;
