// Light, dark, or as the system says: kept in this browser, and set before anything is painted (so this is no module).
(() => {
  const KEY = "dragoman-theme";
  const root = document.documentElement;
  let theme = null;
  try { theme = localStorage.getItem(KEY); } catch { /* storage is forbidden here: the theme holds until the page is left */ }
  const set = (chosen) => {
    if (["light", "dark"].includes(chosen)) root.dataset.theme = chosen;
    else delete root.dataset.theme;
  };
  set(theme);
  document.addEventListener("DOMContentLoaded", () => {
    const select = document.getElementById("theme");
    select.value = root.dataset.theme ?? "system";
    select.addEventListener("change", () => {
      set(select.value);
      try { localStorage.setItem(KEY, select.value); } catch { /* as above */ }
    });
  });
})();
