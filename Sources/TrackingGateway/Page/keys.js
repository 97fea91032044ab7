// The keys of the page.

/** @param actions functions by key; they are called unless the user types into a field */
export function keepKeys(actions) {
  const search = document.getElementById("search");
  document.addEventListener("keydown", (event) => {
    if (event.target.matches("input, select") || event.ctrlKey || event.metaKey || event.altKey) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.key === "/") { search.focus(); event.preventDefault(); return; }
    actions[event.key.length === 1 ? event.key.toLowerCase() : event.key]?.();
  });
}
