"use strict";
// Brings the attention pictures to life. Without this script each is a table of mean weights, and nothing is lost but choice.

const readout = document.body.appendChild(document.createElement("output"));
readout.className = "readout";
readout.hidden = true;

for (const view of document.querySelectorAll("div.attention")) {
  const figures = [...view.querySelectorAll("figure")];
  figures.forEach(explore);
  const chooser = view.querySelector(".chooser");
  if (!chooser) continue;
  const choose = (chosen) => figures.forEach((figure, number) => { figure.hidden = number !== chosen; });
  chooser.hidden = false;
  chooser.addEventListener("change", (event) => choose(Number(event.target.value)));
  choose(0);
}

function explore(figure) {
  const weights = JSON.parse(figure.querySelector("script").textContent); // [layer][head][target][source], thousandths
  const rows = [...figure.querySelectorAll("tbody tr")];
  const cells = rows.map((row) => [...row.querySelectorAll("td")]);
  const [sources, targets] = ["source", "target"].map((side) => [...figure.querySelectorAll(`.${side} button`)]);
  const columnHeads = [...figure.querySelectorAll("thead th")];
  const rowHeads = rows.map((row) => row.querySelector("th"));
  const selects = ["layer", "head"].map((name) => figure.querySelector(`select[name=${name}]`));
  const heads = drawOverview(figure, weights, selects, show);
  let shown = []; // [target][source], from 0 to 1
  let word = targets[0];

  function show() {
    const [layer, head] = selects.map((select) => (select ? Number(select.value) : 0)); // 0 is the mean, 1 the first
    const chosen = pick(weights, layer).flatMap((matrices) => pick(matrices, head));
    shown = cells.map((row, target) => row.map((_, source) => mean(chosen.map((matrix) => matrix[target][source])) / 1000));
    cells.forEach((row, target) => row.forEach((cell, source) => paint(cell, shown[target][source])));
    heads.forEach(([button, ...place]) => button.setAttribute("aria-pressed", place[0] === layer && place[1] === head));
    figure.querySelector(".shown").textContent = describe(selects);
    shade();
  }

  function shade() {
    const [target, source] = [targets.indexOf(word), sources.indexOf(word)];
    sources.forEach((button, place) => tint(button, target >= 0 && shown[target][place]));
    targets.forEach((button, place) => tint(button, source >= 0 && shown[place][source]));
    [...sources, ...targets].forEach((button) => button.setAttribute("aria-pressed", button === word));
  }

  function point(event) {
    figure.querySelectorAll(".on").forEach((element) => element.classList.remove("on"));
    const [target, source] = placeOf(event.target);
    readout.hidden = target < 0;
    if (readout.hidden) return;
    [event.target, rowHeads[target], columnHeads[source]].forEach((element) => element.classList.add("on"));
    const names = [targets[target], sources[source]].map((button) => `\u2068${button.textContent}\u2069`); // words of any direction
    readout.textContent = `${names[0]} looks at ${names[1]}: ${shown[target][source].toFixed(3)}`;
    const box = event.target.getBoundingClientRect();
    const margin = readout.offsetWidth / 2 + 4;
    const center = box.left + box.width / 2;
    readout.style.left = `${Math.max(margin, Math.min(center, document.documentElement.clientWidth - margin))}px`;
    readout.style.top = `${box.top}px`;
  }

  function placeOf(cell) {
    const target = cells.findIndex((row) => row.includes(cell));
    return [target, target < 0 ? -1 : cells[target].indexOf(cell)];
  }

  function walk(event) {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const [target, source] = placeOf(event.target);
    const next = step && target >= 0 && cells[target + step[0]]?.[source + step[1]];
    if (!next) return;
    event.preventDefault();
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  function press(button) {
    word = button;
    shade();
  }

  const table = figure.querySelector("table");
  cells.flat().forEach((cell) => { cell.tabIndex = -1; });
  cells[0][0].tabIndex = 0;
  for (const name of ["pointerover", "pointerout", "focusin", "focusout"]) {
    table.addEventListener(name, (event) => point(name.endsWith("out") ? { target: table } : event));
  }
  table.addEventListener("keydown", walk);
  table.addEventListener("click", (event) => { const [target] = placeOf(event.target); if (target >= 0) press(targets[target]); });
  [...sources, ...targets].forEach((button) => button.addEventListener("click", () => press(button)));
  selects.forEach((select) => select?.addEventListener("change", show));
  const numbers = figure.querySelector("input[type=checkbox]");
  numbers.addEventListener("change", () => figure.classList.toggle("numbers", numbers.checked));
  figure.querySelectorAll(".controls, .sentences").forEach((element) => { element.hidden = false; });
  show();
}

// One thumbnail for each head of each layer; pressing one chooses it, pressing it again returns to the mean.
function drawOverview(figure, weights, selects, show) {
  const overview = figure.querySelector(".overview");
  if (weights.length * weights[0].length === 1) return [];
  overview.hidden = false;
  overview.style.gridTemplateColumns = `repeat(${weights[0].length}, minmax(0, 6rem))`;
  return weights.flatMap((matrices, layer) => matrices.map((matrix, head) => {
    const button = overview.appendChild(document.createElement("button"));
    const place = [layer, head].map((number, kind) => (selects[kind] ? number + 1 : 0));
    button.type = "button";
    button.title = `layer ${layer + 1}, head ${head + 1}`;
    button.setAttribute("aria-label", button.title);
    button.append(thumbnail(matrix));
    button.addEventListener("click", () => {
      const again = button.getAttribute("aria-pressed") === "true";
      selects.forEach((select, kind) => { if (select) select.value = again ? 0 : place[kind]; });
      show();
    });
    return [button, ...place];
  }));
}

function thumbnail(matrix) {
  const canvas = document.createElement("canvas");
  const dark = matchMedia("screen and (prefers-color-scheme: dark)");
  [canvas.width, canvas.height] = [matrix[0].length, matrix.length];
  const draw = () => {
    const context = canvas.getContext("2d");
    context.clearRect(0, 0, canvas.width, canvas.height);
    const colours = getComputedStyle(document.documentElement);
    ["--middle", "--high"].forEach((half, start) => matrix.forEach((row, target) => row.forEach((weight, source) => {
      context.fillStyle = colours.getPropertyValue(half);
      context.globalAlpha = Math.max(0, Math.min(1, weight / 500 - start));
      context.fillRect(source, target, 1, 1);
    })));
  };
  dark.addEventListener("change", draw);
  draw();
  return canvas;
}

function describe(selects) {
  const names = selects.map((select, kind) => {
    if (!select) return "";
    const name = ["layer", "head"][kind];
    return select.value === "0" ? `mean of ${select.length - 1} ${name}s` : `${name} ${select.value}`;
  });
  return names.filter(Boolean).join(", ");
}

function paint(cell, weight) {
  cell.style.setProperty("--w", weight.toFixed(3));
  cell.textContent = weight.toFixed(2);
}

function tint(button, weight) {
  if (weight === false) button.removeAttribute("style");
  else button.style.setProperty("--w", weight.toFixed(3));
}

function pick(list, choice) {
  return choice === 0 ? list : [list[choice - 1]];
}

function mean(numbers) {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}
