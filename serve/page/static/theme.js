// Before the page is drawn: the chosen theme, so that nothing flashes; and that scripts run.
"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  let chosen = null;
  try {
    chosen = localStorage.getItem("relume-theme");
  } catch {
    // Storage is off: the system's theme it is.
  }
  if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;
})();
