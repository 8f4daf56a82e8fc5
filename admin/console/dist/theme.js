// Sets the theme before the first paint. It is a file of its own because the content
// security policy forbids inline scripts. src/lib/theme.ts changes the choice.
(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    let choice = null;
    try {
      choice = localStorage.getItem("sluice.theme");
    } catch {
      // Storage is off: the theme of the system.
    }
    const dark = choice === "dark" || (choice !== "light" && system.matches);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
  };
  apply();
  system.addEventListener("change", apply);
  addEventListener("sluice:theme", apply);
})();
