"use strict";
(() => {
  const root = document.documentElement;
  const announce = (text) => { document.getElementById("announcer").textContent = text; };
  const spoken = (element) => {
    const copy = element.cloneNode(true);
    for (const silent of copy.querySelectorAll("[aria-hidden]")) silent.remove();
    return copy.textContent.trim();
  };
  root.classList.add("has-script");

  // ---- theme: auto, light, dark; remembered where the browser allows it
  const themes = ["auto", "light", "dark"];
  const remember = (value) => {
    try {
      if (value === undefined) return localStorage.getItem("fwkmeans-theme");
      localStorage.setItem("fwkmeans-theme", value);
    } catch { /* pages from files may have no storage */ }
    return null;
  };
  const setTheme = (name) => {
    if (name === "auto") delete root.dataset.theme;
    else root.dataset.theme = name;
    document.getElementById("theme-name").textContent = name;
  };
  const themeButton = document.getElementById("theme");
  const remembered = remember();
  if (themes.includes(remembered)) setTheme(remembered);
  themeButton.addEventListener("click", () => {
    const now = root.dataset.theme || "auto";
    const next = themes[(themes.indexOf(now) + 1) % themes.length];
    setTheme(next);
    remember(next);
    announce(`Theme: ${next}`);
  });

  // ---- sortable tables
  const valueOf = (row, column) => {
    const cell = row.cells[column];
    const given = cell.dataset.value;
    const text = given === undefined ? cell.textContent.trim() : given;
    const numeric = text === "" ? NaN : Number(text);
    return { text, numeric, missing: text === "" || text === "–" };
  };
  const sortBy = (table, column, descending) => {
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, (row, at) => ({ row, at, ...valueOf(row, column) }));
    const numeric = rows.every((one) => one.missing || !Number.isNaN(one.numeric));
    const sign = descending ? -1 : 1;
    rows.sort((a, b) => {
      if (a.missing !== b.missing) return a.missing ? 1 : -1;
      const order = numeric
        ? (a.numeric || 0) - (b.numeric || 0)
        : a.text.localeCompare(b.text, "en", { numeric: true });
      return sign * order || a.at - b.at;
    });
    body.append(...rows.map((one) => one.row));
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const headers = Array.from(table.tHead.rows[table.tHead.rows.length - 1].cells);
    headers.forEach((header, column) => {
      if (!header.hasAttribute("data-sort")) return;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...header.childNodes);
      header.append(button);
      if (!header.hasAttribute("aria-sort")) header.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const now = header.getAttribute("aria-sort");
        const first = header.dataset.sort === "text" ? "ascending" : "descending";
        const other = first === "ascending" ? "descending" : "ascending";
        const next = now === first ? other : first;
        for (const one of headers) {
          if (one.hasAttribute("aria-sort")) one.setAttribute("aria-sort", "none");
        }
        header.setAttribute("aria-sort", next);
        sortBy(table, column, next === "descending");
        announce(`Sorted by ${spoken(button)}, ${next}`);
      });
    });
  }

  // ---- parts that can be shown and hidden
  const toggles = Array.from(document.querySelectorAll("button[data-toggle]"));
  const setShown = (button, shown) => {
    const target = document.getElementById(button.dataset.toggle);
    target.classList.toggle("is-hidden", !shown);
    button.setAttribute("aria-expanded", String(shown));
    button.querySelector(".verb").textContent = shown ? "Hide" : "Show";
  };
  for (const button of toggles) {
    button.setAttribute("aria-controls", button.dataset.toggle);
    setShown(button, button.dataset.start !== "hidden");
    button.addEventListener("click", () => {
      setShown(button, button.getAttribute("aria-expanded") !== "true");
      updateAll();
    });
  }
  const masters = Array.from(document.querySelectorAll("button[data-toggle-all]"));
  const ofAll = (all) => toggles.filter((button) =>
    document.getElementById(button.dataset.toggle).classList.contains(all.dataset.toggleAll));
  const isOpen = (button) => button.getAttribute("aria-expanded") === "true";
  const updateAll = () => {
    for (const all of masters) {
      all.querySelector(".verb").textContent = ofAll(all).every(isOpen) ? "Hide" : "Show";
    }
  };
  for (const all of masters) {
    all.addEventListener("click", () => {
      const buttons = ofAll(all);
      const show = !buttons.every(isOpen);
      for (const button of buttons) setShown(button, show);
      updateAll();
    });
  }
  updateAll();

  // a link to something hidden shows it
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!target) return;
    for (const button of toggles) {
      const body = document.getElementById(button.dataset.toggle);
      if (body.contains(target) || (target.matches(".item") && target.contains(button))) setShown(button, true);
    }
    updateAll();
  };
  window.addEventListener("hashchange", reveal);
  reveal();

  // ---- layers of pictures
  for (const button of document.querySelectorAll("button[data-layer]")) {
    button.addEventListener("click", () => {
      const layer = document.getElementById(button.dataset.layer);
      const shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(shown));
      if (layer) layer.classList.toggle("is-hidden", !shown);
    });
  }
})();
