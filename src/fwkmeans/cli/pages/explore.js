"use strict";
(() => {
  const token = new URLSearchParams(location.search).get("token") || "";
  const at = (path) => `${path}?token=${encodeURIComponent(token)}`;
  const find = (id) => document.getElementById(id);
  const make = (tag, properties = {}, ...inside) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...inside);
    return element;
  };
  const say = (text, wrong = false) => {
    find("status").textContent = text;
    find("status").classList.toggle("wrong", wrong);
  };
  const ask = async (path, request) => {
    const options = request === undefined ? {} : {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(request),
    };
    let response;
    try {
      response = await fetch(at(path), options);
    } catch {
      throw new Error("The command was ended: start fwkmeans explore again.");
    }
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error);
    return answer;
  };
  const two = (value) => (value === null ? "–" : value.toFixed(2).replace("-", "−"));
  const KINDS = { number: "numbers", categories: "categories", dates: "years before the latest" };

  let table = null, current = null;
  const results = new Map();

  // ---- the form
  const rows = () => Array.from(document.querySelectorAll("#columns li"));
  const box = (row) => row.querySelector("input");
  const kind = (row) => row.querySelector("select");
  const fields = () => Array.from(document.querySelectorAll("#parameters input"));
  const settings = () => ({
    columns: Object.fromEntries(rows().filter((row) => box(row).checked && !box(row).disabled).map((row) => [box(row).value, kind(row).value])),
    clusters: find("auto").checked ? "auto" : Number(find("clusters").value),
    algorithm: find("algorithm").value,
    parameters: Object.fromEntries(fields().filter((field) => field.value.trim() !== "").map((field) => [field.name, field.value])),
    labels: find("labels").value === "" ? null : find("labels").value,
  });
  const restore = (given) => {
    for (const row of rows()) {
      const name = box(row).value;
      box(row).checked = name in given.columns;
      if (name in given.columns) kind(row).value = given.columns[name];
    }
    find("auto").checked = given.clusters === "auto";
    if (given.clusters !== "auto") find("clusters").value = given.clusters;
    find("algorithm").value = given.algorithm;
    find("labels").value = given.labels === null ? "" : given.labels;
    offer();
    for (const field of fields()) field.value = given.parameters[field.name] || "";
    agree();
  };
  const offer = () => {  // what the chosen algorithm is, and its parameters
    const chosen = table.algorithms.find((one) => one.name === find("algorithm").value);
    find("sentence").textContent = chosen.about;
    const names = Object.entries(chosen.parameters);
    find("parameters").hidden = !names.length;
    find("parameters").querySelector("ul").replaceChildren(...names.map(([name, value]) => make("li", {}, make("label", {},
      make("code", { textContent: name }), " ", make("input", { className: "control", type: "text", name, placeholder: value })))));
  };
  const agree = () => {  // known classes take no part, and a number that is found is not given
    for (const row of rows()) {
      box(row).disabled = box(row).value === find("labels").value;
      kind(row).disabled = box(row).disabled || !box(row).checked || kind(row).length < 2;
    }
    find("clusters").disabled = find("auto").checked;
  };
  const setUp = (given) => {
    table = given;
    document.title = `${table.name}: fwkmeans explore`;
    find("name").textContent = table.name;
    find("about").textContent = `${table.rows.toLocaleString("en")} rows, ${table.columns.length} columns.`;
    find("notes").hidden = !table.notes.length;
    find("notes").querySelector("ul").append(...table.notes.map((note) => make("li", { textContent: note })));
    find("clusters").max = table.most_clusters;
    find("clusters").value = table.clusters === "auto" ? 3 : table.clusters;
    find("auto").checked = table.clusters === "auto";
    for (const one of table.algorithms) {
      find("algorithm").append(make("option", { value: one.name, textContent: one.name === "AutoKMeans" ? "AutoKMeans (chooses by itself, takes longer)" : one.name, selected: one.name === table.algorithm }));
    }
    for (const column of table.columns) {
      const missing = column.missing ? `, ${column.missing.toLocaleString("en")} missing` : "";
      find("columns").append(make("li", { title: column.why },
        make("label", {}, make("input", { type: "checkbox", value: column.name, checked: column.used }), ` ${column.name}`),
        make("span", { className: "muted small" },
          make("select", { className: "kind", ariaLabel: `What ${column.name} is taken as` }, ...column.kinds.map((value) => make("option", { value, textContent: KINDS[value], selected: value === column.kind }))),
          `${missing}${column.used ? "" : `; left out: ${column.why}`}`)));
      find("labels").append(make("option", { value: column.name, textContent: column.name, selected: column.name === table.labels }));
    }
    offer();
    agree();
  };

  // ---- tries
  const show = (number) => {
    current = results.get(number);
    find("report").src = `${at(`/report/${number}`)}&version=${Date.now()}`;
    for (const what of ["report", "labels", "model", "rules", "csv", "xlsx"]) find(`save-${what}`).href = at(`/save-${what}/${number}`);
    for (const row of document.querySelectorAll("#tries tbody tr")) {
      row.setAttribute("aria-current", String(row.dataset.number === String(number)));
    }
    restore(current.settings);
    find("names").replaceChildren(...current.names.map((name, k) => make("li", {}, make("input", { className: "control", type: "text", value: name, ariaLabel: `Name of ${current.unit} ${k + 1}` }))));
    find("merge").max = current.n_parts - 1;
    find("merge").value = current.merge === null ? "" : current.merge;
    find("naming").hidden = current.n_parts < 2;
    const coarser = current.coarser;
    find("coarser").textContent = coarser === null ? "" : `${coarser.n_groups} groups would keep ${Math.round(100 * coarser.kept)}% of what tells the clusters apart.`;
  };
  const list = (result) => {
    results.set(result.number, result);
    find("tries-part").hidden = false;
    const body = find("tries").tBodies[0];
    let row = body.querySelector(`tr[data-number="${result.number}"]`);
    if (!row) {
      row = body.insertRow(0);
      row.dataset.number = result.number;
      row.addEventListener("click", () => show(result.number));
    }
    const asked = result.settings, parameters = Object.entries(asked.parameters).map(([name, value]) => `${name}=${value}`);
    const many = result.merge === null ? String(result.n_clusters) : `${result.n_clusters} of ${result.n_parts}`;
    const columns = Object.keys(asked.columns);
    const cells = [
      make("td", {}, make("button", { type: "button", textContent: many, ariaLabel: `Show the try with ${many} clusters by ${asked.algorithm}` })),
      make("td", { textContent: [asked.algorithm, ...parameters].join(" ") }),
      make("td", { className: "number", textContent: `${columns.length} of ${table.columns.length}`, title: columns.join(", ") }),
      ...[result.stability, result.silhouette].map((value) => make("td", { className: "number", textContent: two(value) })),
    ];
    if (result.agreement !== null) find("agreement-title").hidden = false;
    cells.push(make("td", { className: "number", textContent: result.agreement === null ? "" : two(result.agreement), hidden: find("agreement-title").hidden }));
    row.replaceChildren(...cells);
    show(result.number);
  };

  // ---- work
  const work = async (path, request) => {
    find("go").disabled = find("keep").disabled = true;
    find("progress").hidden = false;
    say("Working …");
    const timer = setInterval(async () => {
      try {
        const now = await ask("/progress");
        if (now.seconds && timer) say(`Working for ${now.seconds} s${now.text ? `: ${now.text}` : " …"}`);
      } catch { /* the work itself says what is wrong */ }
    }, 1000);
    try {
      const result = await ask(path, request);
      clearInterval(timer);
      list(result);
      say([result.sentence, ...result.notes].join(" "));
    } catch (error) {
      clearInterval(timer);
      say(error.message, true);
    }
    find("go").disabled = find("keep").disabled = false;
    find("progress").hidden = true;
  };
  find("settings").addEventListener("submit", (event) => { event.preventDefault(); work("/fit", settings()); });
  find("naming").addEventListener("submit", (event) => {
    event.preventDefault();
    const merge = find("merge").value === "" ? null : Number(find("merge").value);
    const names = Array.from(document.querySelectorAll("#names input"), (field) => field.value);
    work(`/name/${current.number}`, merge === current.merge ? { merge, names } : { merge });
  });
  find("all").addEventListener("click", () => {
    const used = new Set(table.columns.filter((one) => one.used).map((one) => one.name));
    for (const row of rows()) box(row).checked = used.has(box(row).value);
    agree();
  });
  find("none").addEventListener("click", () => {
    for (const row of rows()) box(row).checked = false;
    agree();
  });
  find("settings").addEventListener("change", agree);
  find("algorithm").addEventListener("change", offer);
  ask("/table").then((given) => { setUp(given); return work("/fit", settings()); }).catch((error) => say(error.message, true));
})();
