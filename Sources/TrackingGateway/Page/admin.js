// The fences of the map, and what an administrator changes on the page: fences, rules and share links.

import { Fences } from "./fences.js";
import { onChange } from "./i18n.js";
import { Shares } from "./shares.js";

/** The interval in milliseconds at which the fences are read again, because others can change them. */
const READ_EVERY = 15000;

export class Admin {
  /**
   * @param map the map of Leaflet
   * @param fleet the trackables, for the choice of those to which a rule applies
   * @param panel the panel of the chosen trackable, to which its share links are added
   */
  constructor(map, fleet, panel) {
    this.fences = new Fences(map, fleet);
    this.shares = new Shares(panel);
    onChange(() => { this.fences.update(); this.shares.show(this.shares.id); });
  }

  /** Begins for a signed-in user. The holder of a share link sees no fences. */
  begin(caller) {
    this.isAdmin = Boolean(caller.admin);
    this.shares.isAdmin = this.isAdmin;
    this.fences.begin(!caller.isShare, this.isAdmin);
    this.timer ??= setInterval(() => { if (!document.hidden) this.fences.load(); }, READ_EVERY);
  }

  /** Shows the share links of the chosen trackable; undefined for none. */
  choose(id) { this.shares.show(id); }

  /** Discards all data, because another user may look at the page now. */
  forget() {
    this.fences.begin(false, false);
    this.shares.isAdmin = false;
    this.shares.show(undefined);
  }
}
