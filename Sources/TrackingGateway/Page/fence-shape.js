// The layer of the map that shows a fence.

import { nearTo } from "./layers.js";

const L = window.L;

/** Returns the rings of a polygon as Leaflet expects them. Each step takes the shorter way across the antimeridian. */
const ringsOf = (rings) => rings.map((ring) => {
  let lng = ring[0]?.[0] ?? 0;
  return ring.map(([next, lat]) => { lng = nearTo(next, lng); return [lat, lng]; });
});

/** Returns the layer that shows a fence, given as a GeoJSON Feature. */
export function shapeOf({ geometry, properties }, options = {}) {
  const style = { className: "fence", interactive: false, ...options };
  if (geometry.type === "Point") {
    const [lng, lat] = geometry.coordinates;
    return L.circle([lat, lng], { radius: properties.radius, ...style });
  }
  return L.polygon(geometry.coordinates.map(ringsOf), style);
}
