// Pictures and tables of what a model computed.
import { apart, draw, make, percent, shown } from "./elements.js";

// [step][source] of one layer and head; 0, or a number that the model does not have, is the mean.
export function matrix(weights, layer, head) {
  const chosen = chosenOf(weights, layer, head);
  return chosen[0].map((_, step) => mean(chosen.map((one) => one[step])));
}
// The row of a step with one weight forced; in each layer and head that is chosen, the others keep their proportions.
export function forcedRow(weights, { layer, head }, { step, place, weight }) {
  return mean(chosenOf(weights, layer, head).map((one) => shared(one[step], place, weight)));
}
const chosenOf = (weights, layer, head) => of(weights, layer).flatMap((heads) => of(heads, head));
const of = (list, number) => (list[number - 1] ? [list[number - 1]] : list);
const mean = (rows) => rows[0].map((_, place) => rows.reduce((sum, row) => sum + row[place], 0) / rows.length);
function shared(row, place, weight) {
  const others = row.reduce((sum, one, at) => (at === place ? sum : sum + one), 0);
  const whole = others + row[place], left = Math.max(0, whole - weight);
  if (!whole) return row; // a head that is off
  return row.map((one, at) => (at === place ? weight : others ? one * left / others : left / (row.length - 1)));
}

// The words of both sentences, and lines between them as thick as the weights; of one word, or of all (-1).
export function links(source, targets, rows, { word, label }) {
  const [above, below] = [laid(source), laid(targets)];
  const width = Math.max(above.width, below.width);
  const x = (side, place) => side.centres[place] * width / side.width; // the shorter one is spread below the longer
  const svg = draw("svg", { viewBox: `0 0 ${width} 150`, role: "img", "aria-label": label });
  svg.style.setProperty("--natural", `${width}px`);
  rows.forEach((row, step) => row.forEach((weight, place) => {
    if (weight < 0.04 || (word >= 0 && word !== step)) return;
    const look = { "stroke-width": 1 + 6 * weight, "stroke-opacity": Math.min(1, 0.15 + weight) };
    svg.append(draw("line", { x1: x(above, place), y1: 32, x2: x(below, step), y2: 118, ...look }));
  }));
  const text = (piece, at, y, here) =>
    svg.append(draw("text", { x: at, y, "text-anchor": "middle", class: here ? "here" : "" }, shown(piece)));
  source.forEach((piece, place) => text(piece, x(above, place), 22, word >= 0 && rows[word]?.[place] > 0.3));
  targets.forEach((piece, step) => text(piece, x(below, step), 138, step === word));
  return svg;
}
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;
function laid(pieces) {
  const centres = [];
  let width = 0;
  for (const piece of pieces) {
    const room = 9 * Math.max(2, [...shown(piece)].length) + 22;
    centres.push(width + room / 2);
    width += room;
  }
  const first = pieces.find((piece) => /^[^<]*\p{L}/u.test(piece)) ?? "";
  return { centres: RIGHT_TO_LEFT.test(first) ? centres.map((one) => width - one) : centres, width };
}

// The weights as a table. With `press` its cells are a grid that arrow keys walk through, and Enter presses one.
export function heat(source, targets, rows, { word, forced, label, press, key }) {
  const head = make("tr", {}, make("td"), ...source.map((piece) => make("th", { scope: "col" }, shown(piece))));
  const body = rows.map((row, step) => make("tr", { class: step === word ? "here" : "" },
    make("th", { scope: "row" }, shown(targets[step])),
    ...row.map((weight, place) => cell(weight, { step, place, forced: forced(step, place), press, key }))));
  const table = make("table", { "aria-label": label, role: press && "grid" },
    make("thead", {}, head), make("tbody", {}, ...body));
  if (press) walkable(table, Math.max(0, word), press);
  return table;
}
function cell(weight, { step, place, forced, press, key }) {
  const roles = press ? { role: "gridcell", tabindex: -1, "aria-selected": `${forced}` } : {};
  const found = make("td", { ...roles, class: forced ? "forced" : "", "data-key": `${key}-${step}-${place}`,
    "data-step": step, "data-place": place });
  weigh(found, weight);
  return found;
}
// Write a weight into its cell.
export function weigh(cell, weight) {
  cell.textContent = weight.toFixed(2);
  cell.style.setProperty("--w", weight);
}
function walkable(table, row, press) {
  const cells = [...table.tBodies[0].rows].map((one) => [...one.querySelectorAll("td")]);
  const place = (one) => [Number(one.dataset.step), Number(one.dataset.place)];
  const tabbable = (one) => {
    table.querySelectorAll("td[tabindex='0']").forEach((other) => { other.tabIndex = -1; });
    one.tabIndex = 0;
  };
  tabbable(cells[Math.min(row, cells.length - 1)][0]);
  table.addEventListener("focusin", (event) => tabbable(event.target));
  table.addEventListener("click", (event) => { if (event.target.dataset.step) press(...place(event.target)); });
  table.addEventListener("keydown", (event) => {
    if (!event.target.dataset.step) return;
    const [step, at] = place(event.target);
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      press(step, at);
      return;
    }
    const last = cells[step].length - 1;
    const [down, across] = { ArrowLeft: [step, at - 1], ArrowRight: [step, at + 1], ArrowUp: [step - 1, at],
      ArrowDown: [step + 1, at], Home: [step, 0], End: [step, last] }[event.key] ?? [];
    const next = cells[down]?.[across];
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
}

// Every hypothesis that the search weighed: a column for each step.
export function tree(found, label) {
  const nodes = found.tree.map(([parent, step, token, , score, fate], index) =>
    ({ parent, step, piece: found.pieces[token], score, fate, best: found.best.includes(index) }));
  const columns = [];
  nodes.forEach((node) => { (columns[node.step] ??= []).push(node); node.row = columns[node.step].length; });
  const [wide, high] = [150, 24];
  const height = Math.max(...columns.map((one) => one.length)) * high + 12;
  const svg = draw("svg", { width: columns.length * wide, height, role: "img", "aria-label": label });
  nodes.forEach((node) => {
    const before = nodes[node.parent];
    const [x, y] = [node.step * wide + 16, node.row * high];
    if (before) {
      const [from, start] = [before.step * wide + 120, before.row * high - 4];
      const curve = `M${from} ${start}C${from + 22} ${start} ${x - 26} ${y - 4} ${x - 4} ${y - 4}`;
      svg.append(draw("path", { d: curve, class: node.best ? "best" : "" }));
    }
    svg.append(draw("text", { x, y, class: node.best ? "best" : node.fate }, `${apart(shown(node.piece))} ${node.score.toFixed(2)}`));
  });
  return svg;
}

// How one head came to its weights, in numbers.
export function computation(found, source, words) {
  const strongest = (place) => found.terms[place].map((term, feature) => [term, feature])
    .sort((a, b) => Math.abs(b[0]) - Math.abs(a[0])).slice(0, 3)
    .map(([term, feature]) => `${term.toFixed(2)} [${feature}]`).join(" + ") + (found.terms[place].length > 3 ? " + …" : "");
  const numbers = (list) => `(${list.slice(0, 6).map((one) => one.toFixed(3)).join(", ")}${list.length > 6 ? ", …" : ""})`;
  const rows = source.map((piece, place) => make("tr", {}, make("th", { scope: "row" }, shown(piece)),
    make("td", {}, `${strongest(place)} = ${found.scores[place].toFixed(3)}`),
    make("td", {}, found.mask[place] ? found.weights[place].toFixed(3) : "–"),
    make("td", {}, found.used[place].toFixed(3))));
  const how = found.kind.weights === "softmax" ? "αᵢ = exp(aᵢ) / Σⱼ exp(aⱼ)" : `α = ${found.kind.weights}(a)`;
  const heads = make("tr", {}, ...words.columns.map((one) => make("th", { scope: "col" }, one)));
  return [
    make("p", {}, make("code", {}, `${words.score} = ${found.formula}`), ` (${found.score}; ${words.where})`),
    make("p", {}, make("code", {}, how)),
    make("p", {}, `${words.query} ${numbers(found.query)}`),
    make("table", {}, make("thead", {}, heads), make("tbody", {}, ...rows)),
    make("p", {}, `${words.context} = ${numbers(found.context)}`),
  ];
}

// The answer to "why not this word", beside a translation in which the glossary may have forced terms.
export function reasons(why, words, terms) {
  const because = why.chances.map((one, place) => {
    const better = why.likeliest[place];
    const shares = [percent(Math.exp(one.log_prob)), shown(better.piece), percent(Math.exp(better.log_prob))];
    return words.because(shown(one.piece), one.rank, ...shares);
  });
  const paths = words.paths(why.forced.text, why.forced.score.toFixed(3), why.chosen.score.toFixed(3));
  return [...because, words.fates[why.fate ?? "unseen"], paths, ...(terms ? [words.withoutTerms] : [])].join(" ");
}
