// Elements of the page that scripts create.

import { t } from "./i18n.js";

/**
 * Creates an element. `options` are its properties; `key` is the key of its text, `label` that of its label for screen readers,
 * and `on` has its event listeners. The keys remain on the element, so that a change of the language changes the texts.
 */
export function make(name, { key, label, on = {}, ...options } = {}, ...children) {
  const element = Object.assign(document.createElement(name), options);
  if (key) { element.dataset.t = key; element.textContent = t(key); }
  if (label) { element.dataset.tLabel = label; element.setAttribute("aria-label", t(label)); }
  for (const [event, listener] of Object.entries(on)) element.addEventListener(event, listener);
  element.append(...children);
  return element;
}

export const button = (key, click, options = {}) => make("button", { type: "button", key, on: { click }, ...options });

/** Creates a label with its input. */
export const field = (key, input) => make("label", {}, make("span", { key }), " ", input);
