// Who looks, and how the gateway is asked: with the cookie of one who signed in, or with the secret of a share link.

const share = location.pathname.match(/^\/s\/([^/]+)$/);

/** The secret in the address of a share link; undefined for everyone else. */
export const shareToken = share ? decodeURIComponent(share[1]) : undefined;

/** Asks the gateway; the answer is a Response, whatever its status. */
export function ask(path, options = {}) {
  const headers = { ...options.headers };
  if (shareToken) headers.Authorization = `Bearer ${shareToken}`;
  return fetch(path, { ...options, headers, credentials: "same-origin" });
}

/** The answer's JSON; undefined where it is none or not there. */
export async function json(path) {
  try {
    const response = await ask(path);
    return response.ok ? await response.json() : undefined;
  } catch { return undefined; }
}

/** Whether somebody is signed in. */
export async function whoami() {
  if (shareToken) return { name: "", isShare: true };
  const response = await ask("/session");
  return response.ok ? response.json() : undefined;
}

/** Signs in with a token; tells whether it was taken. */
export async function signIn(token) {
  const response = await ask("/session", {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token }),
  });
  return response.ok;
}

export const signOut = () => ask("/session", { method: "DELETE" });

/** An address for what cannot set a header. */
export function withToken(path) {
  if (!shareToken) return path;
  return `${path}${path.includes("?") ? "&" : "?"}token=${encodeURIComponent(shareToken)}`;
}
