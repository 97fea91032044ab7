// The map's buttons and its scale, in the chosen language and units.

import { t } from "./i18n.js";
import { units } from "./text.js";

const L = window.L;
let controls = [];

/**
 * Adds the buttons and the scale to the map, in place of the earlier ones. The buttons are where nothing covers them: the
 * panel covers the right edge of a wide page.
 */
export function makeControls(map, isPhone) {
  for (const control of controls) control.remove();
  const isMetric = units() === "metric";
  const position = isPhone ? "topright" : "topleft";
  controls = [L.control.zoom({ position, zoomInTitle: t("zoom-in"), zoomOutTitle: t("zoom-out") }),
    L.control.scale({ metric: isMetric, imperial: !isMetric })];
  for (const control of controls) control.addTo(map);
}
