// The live stream of the page, and the resolutions that it requests from publishers while it is visible.

import { LiveStream } from "./live-stream.js";
import { ask, withToken } from "./session.js";

/** The live stream, with the session cookie of the user or with the secret of the share link. */
export class Live extends LiveStream {
  /** @param query the query of the stream; none for every trackable that the user may read */
  constructor(handlers, query) { super(handlers, { open: (path) => new EventSource(withToken(path)), ask }, query); }
}

/** The only resolution that a share link may request. */
export const SHARED = { accuracy: "HIGH", desiredInterval: 2000, minimumDisplacement: 5 };

/** Returns the resolution that is useful at a zoom level. */
export function worth(zoom, isFollowed) {
  if (zoom >= 16 || (isFollowed && zoom >= 12)) return { accuracy: "HIGH", desiredInterval: 1000, minimumDisplacement: 1 };
  if (zoom >= 13) return { accuracy: "HIGH", desiredInterval: 2000, minimumDisplacement: 5 };
  if (zoom >= 10) return { accuracy: "BALANCED", desiredInterval: 10000, minimumDisplacement: 50 };
  return { accuracy: "LOW", desiredInterval: 30000, minimumDisplacement: 200 };
}
