// Who looks, and how the gateway is asked: with the cookie of one who signed in, or with the secret of a share link.

const share = location.pathname.match(/^\/s\/([^/]+)$/);

/** The secret in the address of a share link; undefined for everyone else. */
export const shareToken = share ? decoded(share[1]) : undefined;

/** What is percent-encoded wrongly is no secret either, as it stands. */
function decoded(text) { try { return decodeURIComponent(text); } catch { return text; } }

/** Asks the gateway; the answer is a Response, whatever its status. */
export function ask(path, options = {}) {
  const headers = { ...options.headers };
  if (shareToken) headers.Authorization = `Bearer ${shareToken}`;
  return fetch(path, { ...options, headers, credentials: "same-origin" });
}

/** The answer and its JSON, {ok, status, body}; the status is 0 where the gateway could not be asked. */
export async function answer(path, options) {
  try {
    const response = await ask(path, options);
    return { ok: response.ok, status: response.status, body: await response.json().catch(() => undefined) };
  } catch { return { ok: false, status: 0 }; }
}

/** The answer's JSON; undefined where it is none or not there. */
export async function json(path) {
  const { ok, body } = await answer(path);
  return ok ? body : undefined;
}

/** Why an answer is none, in words. */
export function reason({ status, body }) {
  if (status === 401) return "You are not signed in any more.";
  if (status === 429) return "Too many requests: try again in a moment.";
  if (status >= 400 && status < 500 && body?.detail) return body.detail;
  return "The gateway cannot answer now: try again later.";
}

/** Signs in with the token of an address that ends with #sign-in=TOKEN, and removes the token from the address. */
async function signInFromAddress() {
  const token = new URLSearchParams(location.hash.slice(1)).get("sign-in");
  if (!token) return;
  window.history.replaceState(null, "", location.pathname + location.search);
  await signIn(token);
}

/** The signed-in caller; undefined for nobody. Throws if the gateway does not answer. */
export async function whoami() {
  if (shareToken) return { name: "", isShare: true };
  await signInFromAddress();
  const { ok, status, body } = await answer("/session");
  if (!ok && status !== 401) throw new Error(`the gateway answers ${status}`);
  return ok ? body : undefined;
}

/** Signs in with a token; the answer. */
export const signIn = (token) => answer("/session", {
  method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token }),
});

export const signOut = () => ask("/session", { method: "DELETE" });

/** An address for what cannot set a header. */
export function withToken(path) {
  if (!shareToken) return path;
  return `${path}${path.includes("?") ? "&" : "?"}token=${encodeURIComponent(shareToken)}`;
}
