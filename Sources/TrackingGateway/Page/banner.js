// The banner above the map: the lost connection to the gateway, and messages that the broker dropped.

import { t } from "./i18n.js";
import { set } from "./list.js";
import { timeOfDay } from "./text.js";

export class Banner {
  /** @param element the banner, which contains an element of the class `lost` and one of the class `dropped` */
  constructor(element) {
    this.element = element;
    this.lostAt = undefined;
    this.isAway = false;
    this.isDropping = false;
  }

  /** Reports that the connection was lost at a time, in seconds; a later report does not change the time. */
  lose(time) {
    this.isAway = false;
    this.lostAt ??= time;
    this.show();
  }

  /** Reports that no connection could be made yet. */
  wait() {
    this.isAway = true;
    this.show();
  }

  /** Reports that the page is connected, or that it needs no connection now. */
  clear() {
    this.isAway = false;
    this.lostAt = undefined;
    this.show();
  }

  /** Reports that the broker dropped messages lately, or that it did not. */
  drop(isDropping) {
    this.isDropping = isDropping;
    this.show();
  }

  /** The text about the connection; empty while the page is connected. */
  get words() {
    if (this.lostAt !== undefined) return t("banner.lost", { time: timeOfDay(this.lostAt) });
    return this.isAway ? t("banner.away") : "";
  }

  /** Shows the texts, in the chosen language. */
  show() {
    this.fill("lost", this.words);
    this.fill("dropped", this.isDropping ? t("banner.dropped") : "");
    this.element.hidden = this.words === "" && !this.isDropping;
  }

  fill(name, words) {
    const part = this.element.querySelector(`.${name}`);
    set(part, words);
    part.hidden = words === "";
  }
}
