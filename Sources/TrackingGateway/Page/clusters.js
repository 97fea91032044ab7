// Groups of trackables: if there are thousands, those close together are drawn as one circle with their number, unless the
// map is zoomed in.

const L = window.L;
/** The number of trackables above which groups are drawn. */
const MANY = 1500;
const CLOSE_ZOOM = 15;

export class Clusters {
  /**
   * @param camera the visible part of the map
   * @param choose called with the trackable that was chosen
   */
  constructor(map, camera, choose) {
    this.map = map;
    this.camera = camera;
    this.choose = choose;
    /** The time before which movements do not redraw the groups. */
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

  /** True while the trackables are drawn as groups and not one by one. */
  get isShown() { return this.group !== undefined && this.map.hasLayer(this.group); }

  isNeeded(fleet) { return this.map.getZoom() < CLOSE_ZOOM && fleet.placed.length > MANY; }

  /** Shows or hides the groups after the zoom level changed. */
  zoomed(fleet, colours) { if (this.group && this.isNeeded(fleet) !== this.isShown) this.show(fleet, colours); }

  /** Redraws the groups after trackables moved, unless that would take more than a tenth of the time. */
  moved(fleet, colours) { if (performance.now() >= this.rests) this.show(fleet, colours); }

  /** Redraws the groups, or removes them if they are not needed. */
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
