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
    cut(table);
  };

  // ---- long tables begin short
  const cut = (table) => {
    const most = table.classList.contains("is-whole") ? Infinity : Number(table.dataset.most || Infinity);
    Array.from(table.tBodies[0].rows).forEach((row, at) => row.classList.toggle("beyond", at >= most));
  };
  for (const button of document.querySelectorAll("button[data-more]")) {
    const table = document.getElementById(button.dataset.more);
    cut(table);
    button.setAttribute("aria-expanded", "false");
    button.addEventListener("click", () => {
      const whole = table.classList.toggle("is-whole");
      button.setAttribute("aria-expanded", String(whole));
      button.textContent = whole ? "Show fewer" : button.dataset.text;
      cut(table);
    });
  }

  // ---- tables that do not fit say that they scroll
  const markScrolling = () => {
    for (const box of document.querySelectorAll(".scroll")) {
      box.classList.toggle("scrolls", box.scrollWidth > box.clientWidth + 1);
    }
  };
  window.addEventListener("resize", markScrolling);
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
    markScrolling();
  };
  const narrow = window.matchMedia("(max-width: 40rem)");
  const isFold = (button) => button.classList.contains("fold");
  narrow.addEventListener("change", () => {
    for (const button of toggles.filter(isFold)) setShown(button, !narrow.matches);
  });
  for (const button of toggles) {
    button.setAttribute("aria-controls", button.dataset.toggle);
    const start = button.dataset.start;
    setShown(button, start !== "hidden" && !(start === "narrow" && narrow.matches));
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
      const isOwn = target.matches(".item, section") && [target, target.parentElement].includes(button.closest(".heading")?.parentElement);
      const isItems = target.matches("section") && !isFold(button);
      if (body.contains(target) || (isOwn && !isItems && target.contains(button))) setShown(button, true);
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

  // ---- the map: which row a point is, and other axes
  const picture = document.getElementById("map-picture");
  const given = document.getElementById("map-data");
  if (picture && given) {
    const data = JSON.parse(given.textContent);
    const points = Array.from(picture.querySelectorAll("use"));
    const home = points.map((point) => [Number(point.getAttribute("x")), Number(point.getAttribute("y"))]);
    const box = picture.viewBox.baseVal;
    const tip = document.getElementById("map-tip");
    const shown = (column, value) => {
      if (value === null) return "–";
      return column.categories ? column.categories[value] : value.toLocaleString("en", { maximumSignificantDigits: 4, useGrouping: Math.abs(value) >= 10000 });
    };
    const tell = (point) => {
      const i = Number(point.dataset.i);
      const lines = [`${data.unit} ${data.labels[i] + 1}: ${data.clusters[data.labels[i]]}`];
      for (const column of data.columns.slice(0, 5)) lines.push(`${column.name}: ${shown(column, column.values[i])}`);
      if (data.silhouette[i] !== null && data.silhouette[i] < 0) lines.push("nearer to another cluster");
      const title = document.createElement("strong");
      title.textContent = data.names[i];
      tip.replaceChildren(title, ...lines.map((text) => {
        const line = document.createElement("span");
        line.textContent = text;
        return line;
      }));
      tip.hidden = false;
      const stage = tip.parentElement.getBoundingClientRect();
      const place = point.getBoundingClientRect();
      const right = place.right - stage.left + 10;
      tip.style.left = `${Math.max(0, right + tip.offsetWidth > stage.width ? place.left - stage.left - tip.offsetWidth - 10 : right)}px`;
      tip.style.top = `${Math.max(0, Math.min(place.top - stage.top - 10, stage.height - tip.offsetHeight))}px`;
    };
    picture.addEventListener("pointerover", (event) => {
      const point = event.target.closest("use");
      if (point) tell(point);
      else tip.hidden = true;
    });
    picture.addEventListener("pointerleave", () => { tip.hidden = true; });
    const margin = 44;
    const selects = Array.from(document.querySelectorAll("select[data-axis]"));
    const label = (id, text) => { document.getElementById(`map-${id}`).textContent = text; };
    const axisOf = (select) => {
      const axis = select.dataset.axis;
      const column = select.value === "" ? null : data.columns[Number(select.value)];
      const size = axis === "x" ? box.width : box.height;
      label(`${axis}-name`, column ? column.name.slice(0, 60) : "");
      if (!column) {
        label(`${axis}-low`, "");
        label(`${axis}-high`, "");
        return points.map((point, at) => home[at][axis === "x" ? 0 : 1]);
      }
      const values = points.map((point) => column.values[Number(point.dataset.i)]);
      const known = values.filter((value) => value !== null);
      let low = Infinity, high = -Infinity;
      for (const value of known) { low = Math.min(low, value); high = Math.max(high, value); }
      const loose = column.categories ? 0.5 : 0;  // points of a category lie side by side
      label(`${axis}-low`, known.length ? shown(column, low) : "");
      label(`${axis}-high`, known.length ? shown(column, high) : "");
      low -= loose; high += loose;
      const width = high > low ? high - low : 1;
      return values.map((value, at) => {
        if (value === null) return null;
        const shaken = column.categories ? value + (((at * 0.61803398875) % 1) - 0.5) * 0.6 : value;
        const share = (shaken - low) / width;
        return axis === "x" ? margin + share * (size - 2 * margin) : size - margin - share * (size - 2 * margin);
      });
    };
    const redraw = () => {
      const [x, y] = selects.map(axisOf);
      points.forEach((point, at) => {
        const missing = x[at] === null || y[at] === null;
        point.classList.toggle("is-hidden", missing);
        if (missing) return;
        point.setAttribute("x", x[at].toFixed(1));
        point.setAttribute("y", y[at].toFixed(1));
      });
      tip.hidden = true;
      announce("The map was redrawn.");
    };
    for (const select of selects) select.addEventListener("change", redraw);
  }
  markScrolling();
})();
