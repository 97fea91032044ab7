// The trackable of an address that the live stream does not have: because the map of a large fleet is elsewhere, or because the
// gateway does not know it.

import { labelOf } from "./names.js";
import { answer } from "./session.js";

/**
 * Reads a trackable from the gateway and adds it to the fleet.
 *
 * @param read returns the answer of a path of the gateway, {ok, status, body}
 * @returns "found", "unknown" for one that does not exist or may not be read, or "failed" without an answer
 */
export async function seek(id, fleet, read = answer) {
  const { ok, status, body } = await read(`/api/v1/trackables/${encodeURIComponent(id)}`);
  if ([400, 403, 404].includes(status)) return "unknown";
  if (!ok || !body) return "failed";
  // The live stream may have delivered newer data meanwhile.
  if (fleet.byId.get(id)?.place) return "found";
  const trackable = Object.assign(fleet.get(id), labelOf(body));
  if (body.state?.state) fleet.happened("state", { trackable: id, state: body.state.state }, performance.now());
  if (body.position) fleet.happened("position", { trackable: id, location: body.position }, performance.now());
  fleet.hasNewOrder = true;
  return trackable.isListed ? "found" : "unknown";
}

/** Returns the last recorded place {lat, lng} of a trackable; undefined without one. */
export async function placeOf(id, read = answer) {
  const { ok, body } = await read(`/api/v1/trackables/${encodeURIComponent(id)}/position`);
  const [lng, lat] = (ok && body?.geometry?.coordinates) || [];
  return lat === undefined ? undefined : { lat, lng };
}
