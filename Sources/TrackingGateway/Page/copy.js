// Buttons that copy a text.

import { t } from "./i18n.js";

/** The time in milliseconds for which a button reports that it copied. */
const REPORTED = 2000;

/** Copies a text, also on a page without TLS, where browsers have no clipboard for scripts. */
async function copy(text) {
  if (globalThis.navigator.clipboard) { await globalThis.navigator.clipboard.writeText(text); return; }
  const area = Object.assign(document.createElement("textarea"), { value: text, readOnly: true, className: "copied" });
  const focused = document.activeElement;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  focused?.focus();
  if (!isCopied) throw new Error("the browser refused to copy");
}

/** Makes a button copy a text, and report that in its own text for two seconds. */
export function copyFrom(button, text, key) {
  let timer;
  const report = (words) => {
    clearTimeout(timer);
    button.textContent = t(words);
    timer = setTimeout(() => { button.textContent = t(key); }, REPORTED);
  };
  button.addEventListener("click", () => copy(text() ?? "").then(() => report("copied"), () => report("not-copied")));
}

/** Returns an element with a command and a button that copies it. */
export function command(text) {
  const code = Object.assign(document.createElement("code"), { textContent: text });
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: t("copy") });
  copyFrom(button, () => text, "copy");
  const box = Object.assign(document.createElement("div"), { className: "command" });
  box.append(code, button);
  return box;
}
