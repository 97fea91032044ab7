// The resolutions that the page requests: for the trackables in view.

import { worth } from "./live.js";

/** The largest number of trackables in view for which the page requests resolutions: those nearest to the middle. */
const MAXIMUM = 100;

/**
 * Returns the resolutions to request, by trackable id.
 *
 * @param shown {fleet, map, camera, chosen, isFollowing, shows(trackable)}
 * @param wanted the resolutions that are requested now; a trackable keeps its request until others are clearly nearer to the middle
 */
export function wantedRequests({ fleet, map, camera, chosen, isFollowing, shows }, wanted) {
  const bounds = map.getBounds();
  const middle = map.getCenter();
  const isChosen = (trackable) => trackable.id === chosen;
  const inView = fleet.placed.filter((trackable) =>
    isChosen(trackable) || (shows(trackable) && bounds.contains(camera.near(trackable.place))));
  const distance = (trackable) => middle.distanceTo(trackable.place) * (wanted.has(trackable.id) ? 0.8 : 1);
  const away = new Map(inView.map((trackable) => [trackable, isChosen(trackable) ? -1 : distance(trackable)]));
  inView.sort((a, b) => away.get(a) - away.get(b));
  const resolution = (trackable) => worth(map.getZoom(), isChosen(trackable) && isFollowing);
  return new Map(inView.slice(0, MAXIMUM).map((trackable) => [trackable.id, resolution(trackable)]));
}
