// The share links of the chosen trackable, in its panel, for administrators.

import { button, field, make } from "./dom.js";
import { t } from "./i18n.js";
import { reason } from "./session.js";
import { path, send } from "./write.js";
import * as text from "./text.js";

/** The durations of share links, with the keys of their texts. */
const TIMES = { "1h": "links.1h", "8h": "links.8h", "24h": "links.24h", "7d": "links.7d" };

export class Shares {
  constructor(panel) {
    this.isAdmin = false;
    const times = Object.entries(TIMES).map(([value, key]) => make("option", { value, key }));
    this.time = make("select", { id: "share-time" }, ...times);
    this.time.value = "8h";
    this.stops = [];
    this.stop = make("select", { id: "share-stop" });
    this.stopRow = make("div", { className: "row", hidden: true }, field("links.stop", this.stop));
    this.link = make("input", { id: "share-link", type: "text", readOnly: true, label: "links.url" });
    const copy = button("links.copy", () => this.copy(), { id: "share-copy" });
    this.made = make("div", { className: "row", hidden: true }, this.link, copy);
    this.list = make("ul", { id: "share-list" });
    this.note = make("p", { className: "faint" });
    this.note.setAttribute("role", "status");
    const create = button("links.create", () => this.create(), { id: "share-create" });
    this.element = make("section", { id: "shares", hidden: true, label: "shares" }, make("h3", { key: "shares" }),
      this.stopRow, make("div", { className: "row" }, field("links.time", this.time), create), this.made, this.note, this.list);
    panel.append(this.element);
  }

  show(id) {
    if (id !== this.id) {
      this.made.hidden = true;
      this.link.value = this.note.textContent = "";
      this.list.replaceChildren();
      this.stop.replaceChildren();
    }
    this.id = id;
    // The next offer makes the texts of the choice again, in the present language.
    this.stops = undefined;
    this.element.hidden = !this.isAdmin || id === undefined;
    if (!this.element.hidden) this.load();
  }

  /** Offers the stops of the trackable's journey for a new link. Without a journey, the choice is hidden. */
  offer(stops) {
    if (stops === this.stops) return;
    this.stops = stops;
    const { value } = this.stop;
    const options = stops.map(({ id, number, name, label }) =>
      make("option", { value: id, textContent: name === undefined ? label : `${number}. ${name}` }));
    this.stop.replaceChildren(make("option", { value: "", key: "links.no-stop" }), ...options);
    const isKept = value === "" || stops.some(({ id }) => id === value);
    this.stop.value = isKept ? value : "";
    if (!isKept) this.note.textContent = t("links.stop-gone");
    this.stopRow.hidden = stops.length === 0;
  }

  /** Returns the text about a link in the list: its stop, if it has one, and its end. */
  textOf({ number, ends, stop }) {
    const time = text.moment(ends);
    if (stop === undefined) return t("links.until", { number, time });
    return t("links.until-stop", { number, time, stop: this.stops?.find(({ id }) => id === stop)?.label ?? stop });
  }

  async load() {
    const { id } = this;
    const { body } = await send("GET", `/api/v1/shares?trackable=${encodeURIComponent(id)}`);
    if (!body || id !== this.id) return;
    const valid = body.shares.filter(({ state }) => state === "valid");
    this.list.replaceChildren(...valid.map((link) => {
      const { number } = link;
      const revoke = button("links.revoke", () => this.revoke(number));
      revoke.setAttribute("aria-label", t("links.revoke.label", { number }));
      return make("li", {}, make("span", { textContent: this.textOf(link) }), revoke);
    }));
    if (valid.length === 0) this.list.append(make("li", { className: "faint", textContent: t("links.none") }));
  }

  async create() {
    const { id } = this;
    const made = await send("POST", "/api/v1/shares", { trackable: id, for: this.time.value, stop: this.stop.value || undefined });
    if (id !== this.id) return;
    this.made.hidden = !made.ok;
    this.link.value = made.ok ? made.body.url : "";
    this.note.textContent = made.ok ? t("links.url") : reason(made);
    if (made.ok) { this.link.focus(); this.link.select(); }
    await this.load();
  }

  async copy() {
    this.link.select();
    // A page that was loaded without TLS from another machine has no clipboard.
    try { await navigator.clipboard.writeText(this.link.value); } catch { document.execCommand("copy"); }
    this.note.textContent = t("links.copied");
  }

  async revoke(number) {
    const { id } = this;
    const revoked = await send("DELETE", path("shares", number));
    if (id !== this.id) return;
    this.note.textContent = revoked.ok ? t("links.revoked", { number }) : reason(revoked);
    this.made.hidden = true;
    this.link.value = "";
    await this.load();
  }
}
