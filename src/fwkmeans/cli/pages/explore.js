"use strict";
(() => {
  const token = new URLSearchParams(location.search).get("token") || "";
  const at = (path) => `${path}?token=${encodeURIComponent(token)}`;
  const find = (id) => document.getElementById(id);
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

  let table = null;
  const boxes = () => Array.from(document.querySelectorAll("#columns input"));
  const settings = () => ({
    columns: boxes().filter((box) => box.checked).map((box) => box.value),
    clusters: find("auto").checked ? "auto" : Number(find("clusters").value),
    algorithm: find("algorithm").value,
  });
  const setUp = (given) => {
    table = given;
    document.title = `${table.name}: fwkmeans explore`;
    find("name").textContent = table.name;
    find("about").textContent = `${table.rows.toLocaleString("en")} rows, ${table.columns.length} columns.`;
    find("notes").hidden = !table.notes.length;
    for (const note of table.notes) {
      const item = document.createElement("li");
      item.textContent = note;
      find("notes").querySelector("ul").append(item);
    }
    find("clusters").max = table.most_clusters;
    find("clusters").value = table.clusters === "auto" ? 3 : table.clusters;
    find("auto").checked = table.clusters === "auto";
    for (const name of table.algorithms) {
      const option = new Option(name === "AutoKMeans" ? "AutoKMeans (chooses by itself, takes longer)" : name, name);
      option.selected = name === table.algorithm;
      find("algorithm").append(option);
    }
    for (const column of table.columns) {
      const label = document.createElement("label");
      const box = Object.assign(document.createElement("input"), { type: "checkbox", value: column.name, checked: true });
      const about = document.createElement("span");
      about.className = "muted small";
      about.textContent = ` ${column.kind}${column.missing ? `, ${column.missing} missing` : ""}`;
      label.append(box, ` ${column.name}`, about);
      const item = document.createElement("li");
      item.append(label);
      find("columns").append(item);
    }
  };
  const show = (number) => {
    find("report").src = at(`/report/${number}`);
    for (const kind of ["report", "labels", "model"]) find(`save-${kind}`).href = at(`/save-${kind}/${number}`);
    for (const row of document.querySelectorAll("#tries tbody tr")) {
      row.setAttribute("aria-current", String(row.dataset.number === String(number)));
    }
  };
  const list = (result) => {
    find("tries-part").hidden = false;
    const body = find("tries").tBodies[0];
    if (!body.querySelector(`tr[data-number="${result.number}"]`)) {
      const row = body.insertRow(0);
      row.dataset.number = result.number;
      const open = Object.assign(document.createElement("button"), { type: "button", textContent: String(result.n_clusters), ariaLabel: `Show the try with ${result.n_clusters} clusters by ${result.settings.algorithm}` });
      row.insertCell().append(open);
      row.insertCell().textContent = result.settings.algorithm;
      const columns = row.insertCell();
      columns.textContent = `${result.settings.columns.length} of ${table.columns.length}`;
      columns.title = result.settings.columns.join(", ");
      for (const value of [result.stability, result.silhouette]) row.insertCell().textContent = two(value);
      if (result.agreement !== null) {
        find("agreement-title").hidden = false;
        row.insertCell().textContent = two(result.agreement);
      }
      for (const cell of Array.from(row.cells).slice(2)) cell.className = "number";
      row.addEventListener("click", () => show(result.number));
    }
    show(result.number);
  };
  const run = async () => {
    find("go").disabled = true;
    say("Working …");
    try {
      const result = await ask("/fit", settings());
      list(result);
      say([result.sentence, ...result.notes].join(" "));
    } catch (error) {
      say(error.message, true);
    }
    find("go").disabled = false;
  };
  find("settings").addEventListener("submit", (event) => { event.preventDefault(); run(); });
  find("all").addEventListener("click", () => boxes().forEach((box) => { box.checked = true; }));
  find("none").addEventListener("click", () => boxes().forEach((box) => { box.checked = false; }));
  find("auto").addEventListener("change", () => {
    if (find("auto").checked) find("algorithm").value = "AutoKMeans";
  });
  find("algorithm").addEventListener("change", () => {
    if (find("algorithm").value !== "AutoKMeans") find("auto").checked = false;
  });
  ask("/table").then((given) => { setUp(given); return run(); }).catch((error) => say(error.message, true));
})();
