// The rules of a fence: which trackables raise an event when they enter, leave or stay.

import { button, field, make } from "./dom.js";
import { t } from "./i18n.js";
import { json, reason } from "./session.js";
import { path, send } from "./write.js";

/** The largest number of bytes in the name of a rule. */
const NAME = 64;

export class FenceRules {
  /** @param tell shows a text to the user */
  constructor(fleet, tell) {
    this.fleet = fleet;
    this.tell = tell;
    this.rules = [];
    this.makeElement();
  }

  get count() { return this.rules.length; }

  makeElement() {
    this.list = make("ul", { id: "rules" });
    this.empty = make("p", { className: "faint" });
    const option = (value, key) => make("option", { value, key });
    this.when = make("select", { id: "rule-when" },
      option("enter", "rule.enter"), option("leave", "rule.leave"), option("dwell", "rule.dwell.plain"));
    this.minutes = make("input", { id: "rule-minutes", type: "number", min: 1, max: 43200, value: 10 });
    this.scope = make("select", { id: "rule-scope" },
      option("all", "rule.all"), option("trackable", "rule.trackable"), option("group", "rule.group"));
    this.known = make("datalist", { id: "rule-known" });
    this.who = make("input", { id: "rule-who", type: "text", autocomplete: "off", maxLength: 128 });
    this.who.setAttribute("list", "rule-known");
    this.minutesField = field("rule.minutes", this.minutes);
    this.whoField = make("label", {}, this.whoName = make("span"), " ", this.who, this.known);
    this.adder = make("div", { className: "fields" }, field("rule.when", this.when), this.minutesField,
      field("rule.who", this.scope), this.whoField, button("rule.add", () => this.add(), { id: "rule-add" }));
    for (const select of [this.when, this.scope]) select.addEventListener("change", () => this.adapt());
    this.element = make("fieldset", { id: "fence-rules" }, make("legend", { key: "rules" }), this.list, this.empty, this.adder);
    // Enter in these fields adds a rule, and does not save the fence.
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.target.matches("input")) { event.preventDefault(); this.add(); }
    });
  }

  /** Shows the inputs that the chosen condition and scope need. */
  adapt() {
    this.minutesField.hidden = this.when.value !== "dwell";
    const scope = this.scope.value;
    this.whoField.hidden = scope === "all";
    this.whoName.textContent = t(scope === "group" ? "rule.group-name" : "rule.id");
    const all = [...this.fleet.byId.values()];
    const found = scope === "group" ? all.flatMap(({ group }) => group?.split(", ") ?? []) : all.map(({ id }) => id);
    this.known.replaceChildren(...[...new Set(found.filter(Boolean))].sort().map((value) => make("option", { value })));
  }

  hide() { this.element.hidden = true; }

  /** Shows the rules of a fence; undefined for a fence that is not saved yet. */
  async show(name) {
    this.element.hidden = false;
    this.fence = name;
    this.adder.hidden = name === undefined;
    this.adapt();
    if (name === undefined) { this.rules = []; this.fill(); return; }
    await this.load();
  }

  async load() {
    const { fence } = this;
    const read = await json("/api/v1/rules");
    if (!read || fence !== this.fence) return;
    this.all = read.rules;
    this.rules = read.rules.filter((rule) => rule.fence === fence);
    this.fill();
  }

  fill() {
    this.list.replaceChildren(...this.rules.map((rule) => {
      const remove = make("button", { type: "button", textContent: "×", on: { click: () => this.remove(rule) } });
      remove.setAttribute("aria-label", t("rule.remove", { name: rule.name }));
      return make("li", {}, make("span", { textContent: textOf(rule), title: rule.name }), remove);
    }));
    this.empty.textContent = this.fence === undefined ? t("fence.unsaved") : t("rules.none");
    this.empty.hidden = this.rules.length > 0;
  }

  async add() {
    const rule = { when: this.when.value, fence: this.fence };
    if (rule.when === "dwell") rule.seconds = Number(this.minutes.value) * 60;
    const who = this.who.value.trim();
    if (this.scope.value !== "all" && who === "") { this.who.focus(); return; }
    if (this.scope.value === "trackable") rule.trackables = [who];
    if (this.scope.value === "group") rule.groups = [who];
    const name = this.freeName(rule.when);
    const added = await send("PUT", path("rules", name), rule, { "If-None-Match": "*" });
    this.tell(added.ok ? t("rule.added", { name }) : reason(added));
    await this.load();
  }

  /** Returns a name for a rule that no other rule has. */
  freeName(when) {
    const names = new Set((this.all ?? []).map(({ name }) => name));
    for (let number = 1; ; number += 1) {
      const end = number === 1 ? `: ${when}` : `: ${when} ${number}`;
      let begin = this.fence;
      while (bytes(begin + end) > NAME) begin = [...begin].slice(0, -1).join("");
      if (!names.has(begin + end)) return begin + end;
    }
  }

  async remove({ name }) {
    const removed = await send("DELETE", path("rules", name));
    this.tell(removed.ok ? t("rule.removed", { name }) : reason(removed));
    await this.load();
  }

  /** Deletes all rules of the fence; returns the answer that is an error, if there is one. */
  async removeAll() {
    for (const { name } of this.rules) {
      const removed = await send("DELETE", path("rules", name));
      if (!removed.ok && removed.status !== 404) return removed;
    }
    return undefined;
  }

  /** Lets the rules of a fence refer to its new name; returns the answer that is an error, if there is one. */
  async move(from, to) {
    const read = await json("/api/v1/rules");
    for (const { name, ...rule } of read?.rules.filter((one) => one.fence === from) ?? []) {
      const moved = await send("PUT", path("rules", name), { ...rule, fence: to });
      if (!moved.ok) return moved;
    }
    return undefined;
  }
}

const bytes = (text) => new TextEncoder().encode(text).length;

/** Returns a rule as a sentence. */
function textOf({ when, seconds, trackables = [], groups = [] }) {
  const names = [...trackables, ...groups.map((name) => t("rule.in-group", { name }))];
  const what = t(`rule.${when}`, { minutes: Math.round((seconds ?? 0) / 6) / 10 });
  return t("rule.text", { who: names.length > 0 ? names.join(", ") : t("rule.all"), what });
}
