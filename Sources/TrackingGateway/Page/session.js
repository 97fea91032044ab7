// Requests to the gateway, with the session cookie of a signed-in user or with the secret of a share link.

import { t } from "./i18n.js";

const share = location.pathname.match(/^\/s\/([^/]+)$/);

/** The secret in the address of a share link; undefined on any other page. */
export const shareToken = share ? decoded(share[1]) : undefined;

/** Decodes a percent-encoded text; returns an invalid one unchanged, which the gateway rejects. */
function decoded(text) { try { return decodeURIComponent(text); } catch { return text; } }

/** Sends a request to the gateway and returns the Response, whatever its status. */
export function ask(path, options = {}) {
  const headers = { ...options.headers };
  if (shareToken) headers.Authorization = `Bearer ${shareToken}`;
  return fetch(path, { ...options, headers, credentials: "same-origin" });
}

/** Returns the answer with its JSON, {ok, status, body}; the status is 0 if the gateway cannot be reached. */
export async function answer(path, options) {
  try {
    const response = await ask(path, options);
    return { ok: response.ok, status: response.status, body: await response.json().catch(() => undefined) };
  } catch { return { ok: false, status: 0 }; }
}

/** Returns the JSON of an answer; undefined for an error or another body. */
export async function json(path) {
  const { ok, body } = await answer(path);
  return ok ? body : undefined;
}

/** Returns the text for an answer that is an error. */
export function reason({ status, body }) {
  if (status === 401) return t("error.signed-out");
  if (status === 429) return t("error.too-often");
  if (status >= 400 && status < 500 && body?.detail) return body.detail;
  return t("error.away");
}

/** Signs in with the token of an address that ends with #sign-in=TOKEN, and removes the token from the address. */
async function signInFromAddress() {
  const token = new URLSearchParams(location.hash.slice(1)).get("sign-in");
  if (!token) return;
  window.history.replaceState(null, "", location.pathname + location.search);
  await signIn(token);
}

/** Returns the signed-in user; undefined if none is signed in. Throws if the gateway does not answer. */
export async function whoami() {
  await signInFromAddress();
  const { ok, status, body } = await answer("/session");
  if (!ok && status !== 401) throw new Error(`the gateway answered with HTTP status ${status}`);
  return ok ? body : undefined;
}

/** Signs in with a token, and returns the answer. */
export const signIn = (token) => answer("/session", {
  method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token }),
});

export const signOut = () => ask("/session", { method: "DELETE" });

/** Returns a path with the share link's secret, for requests that cannot set a header. */
export function withToken(path) {
  if (!shareToken) return path;
  return `${path}${path.includes("?") ? "&" : "?"}token=${encodeURIComponent(shareToken)}`;
}
