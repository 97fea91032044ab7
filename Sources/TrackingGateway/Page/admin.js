// The fences of the map, and what an administrator changes on the page: fences, rules, share links, destinations
// and journeys.

import { Destination } from "./destination.js";
import { Fences } from "./fences.js";
import { onChange } from "./i18n.js";
import { JourneyEditor } from "./journey-editor.js";
import { Shares } from "./shares.js";

/** The interval in milliseconds at which the fences are read again, because others can change them. */
const READ_EVERY = 15000;

export class Admin {
  /**
   * @param map the map of Leaflet
   * @param fleet the trackables, for the choice of those to which a rule applies
   * @param panel the panel of the chosen trackable, to which its destination, its journey and its share links are added
   * @param camera the visible part of the map
   */
  constructor(map, fleet, panel, camera) {
    this.fleet = fleet;
    this.fences = new Fences(map, fleet);
    this.journey = new JourneyEditor(map, camera, panel);
    this.destination = new Destination(map, camera, panel);
    // A click on the map chooses a place for one of the two forms.
    this.journey.opened = () => this.destination.open(false);
    this.destination.opened = () => this.journey.close();
    this.shares = new Shares(panel);
    onChange(() => { this.fences.update(); this.shares.show(this.shares.id); });
  }

  /** Begins for a signed-in user. The holder of a share link sees no fences. */
  begin(caller) {
    this.isAdmin = Boolean(caller.admin);
    this.shares.isAdmin = this.destination.isAdmin = this.journey.isAdmin = this.isAdmin;
    this.fences.begin(!caller.isShare, this.isAdmin);
    this.timer ??= setInterval(() => { if (!document.hidden) this.fences.load(); }, READ_EVERY);
  }

  /** Shows the destination, the journey and the share links of the chosen trackable; undefined for none. */
  choose(id) {
    this.destination.show(this.fleet.byId.get(id));
    this.journey.show(id);
    this.shares.show(id);
    this.shares.offer(this.fleet.byId.get(id)?.stops ?? []);
  }

  /** Shows what changed of the chosen trackable. */
  update(trackable) {
    this.destination.show(trackable);
    this.journey.show(trackable.id);
    this.shares.offer(trackable.stops);
  }

  /** Handles a click on the map; returns false if it chooses no place. */
  clicked(place) { return this.destination.pick(place) || this.journey.pick(place); }

  /** Ends the choice of a place; returns false if there is none. */
  cancel() {
    if (this.destination.isOpen) { this.destination.open(false); return true; }
    const { isOpen } = this.journey;
    if (isOpen) this.journey.close();
    return isOpen;
  }

  /** Discards all data, because another user may look at the page now. */
  forget() {
    this.fences.begin(false, false);
    this.shares.isAdmin = this.destination.isAdmin = this.journey.isAdmin = false;
    this.choose(undefined);
  }
}
