// Requests that change something at the gateway.

import { ask } from "./session.js";

/** Returns the path of an object of the API, given by parts of its path that are encoded here. */
export const path = (...parts) => `/api/v1/${parts.map(encodeURIComponent).join("/")}`;

/**
 * Sends a request with a JSON body, and returns {ok, status, body, tag}; the tag is the entity tag of the object. The status is
 * 0 if the gateway cannot be reached.
 */
export async function send(method, target, body, headers = {}) {
  const options = { method, headers: { ...headers } };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
  }
  try {
    const response = await ask(target, options);
    const read = await response.json().catch(() => undefined);
    return { ok: response.ok, status: response.status, body: read, tag: response.headers.get("ETag") ?? undefined };
  } catch { return { ok: false, status: 0 }; }
}
