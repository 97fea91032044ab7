// The dialog that asks a user to sign in, and that stays open until the user has signed in.

import { t } from "./i18n.js";
import { reason, signIn } from "./session.js";

const element = (id) => document.getElementById(id);
const door = element("door");
/** True while the dialog must be open. The browser closes a dialog at the second Escape, so it is opened again. */
let isNeeded = false;

export const isOpen = () => isNeeded;

export function askToSignIn(words = "") {
  element("door-note").textContent = words;
  isNeeded = true;
  if (!door.open) door.showModal();
}

/** @param opened called once a user has signed in */
export function keepDoor(opened) {
  element("sign-in").addEventListener("submit", async (event) => {
    event.preventDefault();
    const told = await signIn(element("token").value.trim());
    element("door-note").textContent = told.ok ? "" : told.status === 401 ? t("token.wrong") : reason(told);
    if (!told.ok) return;
    element("token").value = "";
    isNeeded = false;
    door.close();
    opened();
  });
  door.addEventListener("cancel", (event) => event.preventDefault());
  door.addEventListener("close", () => { if (isNeeded && !door.open) door.showModal(); });
}
