// The next steps on a page that has nothing to show: for an empty fleet, a filter without a match, and an empty time span.

import { command } from "./copy.js";
import { t } from "./i18n.js";
import { drawQR } from "./qr.js";
import { number } from "./text.js";

const element = (id) => document.getElementById(id);

/** The broker's {scheme, port} for printed commands; undefined while the gateway has not reported it. */
let shownBroker;

/** Sets the broker of printed commands, {scheme, port}. The page uses the gateway's host, which is often also the broker's. */
export function useBroker(broker) { shownBroker = broker; }

/** Returns the option that names the broker, empty if the page does not know it. */
const brokerOption = () => shownBroker ? ` --broker ${shownBroker.scheme}://${location.hostname || "127.0.0.1"}:${shownBroker.port}` : "";

/** The commands of the next steps. */
export const commands = {
  van: () => `godwit-agent run --trackable van-7 --source simulate:${brokerOption()}`,
  token: () => "godwit token create --name jane --publish jane-phone",
  reader: () => "godwit token create --name jane --read-all",
  record: () => `godwit record${brokerOption()} --store sqlite:history.sqlite`,
};

/** Returns the set-up link of Overland for a gateway and a token. */
export const overlandLink = (origin, token) =>
  `overland://setup?url=${encodeURIComponent(`${origin}/overland`)}&token=${encodeURIComponent(token)}`;

/** Returns the set-up link of OwnTracks, mode HTTP, for a gateway and a token. */
export function ownTracksLink(origin, token) {
  const settings = { _type: "configuration", mode: 3, url: `${origin}/owntracks`, auth: true, username: "phone", password: token };
  const bytes = new TextEncoder().encode(JSON.stringify(settings));
  return `owntracks:///config?inline=${encodeURIComponent(btoa(String.fromCharCode(...bytes)))}`;
}

/** The hosts that a phone cannot reach. */
const LOOPBACK = /^(localhost|127\..*|\[::1\])$/;

const LINKS = { overland: overlandLink, owntracks: ownTracksLink };

function made(name, key, parts = []) {
  const element = document.createElement(name);
  if (key) element.textContent = t(key);
  element.append(...parts);
  return element;
}

/** Returns a paragraph whose text contains numbers. */
const said = (key, values) => {
  const numbers = Object.entries(values).map(([name, value]) => [name, number(value)]);
  return Object.assign(made("p"), { textContent: t(key, Object.fromEntries(numbers)) });
};

/** Shows the next steps for an empty fleet, or for a filter without a match; hides them otherwise. */
export class Guide {
  /**
   * @param phone called to connect a phone
   * @param clear called to clear the filter
   */
  constructor(box, phone, clear) {
    this.box = box;
    this.phone = phone;
    this.clear = clear;
    this.shown = "";
  }

  /**
   * @param kind "fleet" and "no-reads" for an empty fleet, "filter" and "no-match" for a filter without a match, "searching", "matches" for
   *   a search with more matches than the page shows, "cells" and "cells-state" for a map with counts, or "" for nothing
   * @param values the numbers in the text
   */
  show(kind, values = {}) {
    const key = JSON.stringify([kind, values]);
    if (key === this.key) return;
    [this.key, this.shown, this.values] = [key, kind, values];
    this.box.hidden = kind === "";
    this.box.replaceChildren(...{
      fleet: () => this.fleet(),
      "no-reads": () => [made("p", "guide.no-reads"), made("p", "guide.no-reads.help"), command(commands.reader())],
      filter: () => [made("p", "guide.filter"), this.clearer()],
      "no-match": () => [said("guide.no-match", values), this.clearer()],
      matches: () => [said("guide.matches", values)],
      searching: () => [made("p", "guide.searching")],
      cells: () => [made("p", "guide.cells")],
      "cells-state": () => [made("p", "guide.cells-state"), this.clearer()],
      "": () => [],
    }[kind]());
  }

  /** Shows the texts again, in another language. */
  renew() {
    const { shown, values } = this;
    this.show("");
    this.show(shown, values);
  }

  fleet() {
    return [made("h2", "guide.fleet"), made("p", "guide.van"), command(commands.van()), made("p", "guide.phone"),
      this.button("guide.connect", this.phone)];
  }

  clearer() { return this.button("guide.clear", this.clear); }

  button(key, act) {
    const button = Object.assign(made("button", key), { type: "button" });
    button.addEventListener("click", act);
    return button;
  }
}

/** Shows the next step for an empty time span: the last recorded hour, or a recorder. Hides it without a span. */
export function showEmptySpan(box, recorded, showLast) {
  if (recorded === undefined) { box.replaceChildren(made("p", "guide.record"), command(commands.record())); return; }
  const button = Object.assign(made("button", "guide.last-hour"), { type: "button" });
  button.addEventListener("click", showLast);
  box.replaceChildren(button);
}

/** The dialog that shows a phone's set-up link as a QR code. The token stays in this dialog. */
export class PhoneDialog {
  constructor() {
    this.dialog = element("phone");
    element("phone-token").addEventListener("input", () => this.show());
    element("phone-app").addEventListener("change", () => this.show());
    element("phone-close").addEventListener("click", () => this.dialog.close());
    this.dialog.addEventListener("close", () => { element("phone-token").value = ""; });
  }

  open() {
    element("phone-command").replaceChildren(command(commands.token()));
    this.show();
    this.dialog.showModal();
  }

  show() {
    const token = element("phone-token").value.trim();
    element("phone-code").hidden = token === "";
    if (token === "") return;
    const link = LINKS[element("phone-app").value](location.origin, token);
    drawQR(element("phone-qr"), link);
    element("phone-link").setAttribute("href", link);
    element("phone-loopback").hidden = !LOOPBACK.test(location.hostname);
  }
}
