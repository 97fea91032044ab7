// Of thousands, those that are close together are drawn as one circle with their number, unless zoomed in.

const L = window.L;
/** From so many on. */
const MANY = 1500;
const CLOSE_ZOOM = 15;

export class Clusters {
  /**
   * @param camera where the map looks
   * @param choose called with the trackable that was chosen
   */
  constructor(map, camera, choose) {
    this.map = map;
    this.camera = camera;
    this.choose = choose;
    /** Before then they are not drawn anew by themselves. */
    this.rests = 0;
    if (!L.markerClusterGroup) return;
    this.group = L.markerClusterGroup({
      animate: false, showCoverageOnHover: false, disableClusteringAtZoom: CLOSE_ZOOM,
      iconCreateFunction: (cluster) => {
        const count = cluster.getChildCount();
        const size = 30 + Math.min(26, Math.log2(count) * 3);
        return L.divIcon({ className: "cluster", html: String(count), iconSize: [size, size] });
      },
    });
  }

  /** Whether they are drawn here, and not one by one. */
  get isShown() { return this.group !== undefined && this.map.hasLayer(this.group); }

  isNeeded(fleet) { return this.map.getZoom() < CLOSE_ZOOM && fleet.placed.length > MANY; }

  /** What was zoomed may need them, or not any more. */
  zoomed(fleet, colours) { if (this.group && this.isNeeded(fleet) !== this.isShown) this.show(fleet, colours); }

  /** They have moved: they are drawn anew, unless that would take more than a tenth of the time. */
  moved(fleet, colours) { if (performance.now() >= this.rests) this.show(fleet, colours); }

  /** Draws them where they are, or not any more. */
  show(fleet, colours) {
    if (!this.group) return;
    const start = performance.now();
    this.group.clearLayers();
    if (!this.isNeeded(fleet)) { this.group.remove(); return; }
    this.group.addLayers(fleet.placed.map((trackable) => L.circleMarker(this.camera.near(trackable.place),
      { radius: 6, weight: 2, color: colours.halo, fillColor: colours.state[fleet.stateOf(trackable)], fillOpacity: 1,
        bubblingMouseEvents: false })
      .on("click", () => this.choose(trackable.id))));
    if (!this.isShown) this.group.addTo(this.map);
    this.rests = performance.now() + 9 * (performance.now() - start);
  }
}
