import { shown } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}
function draw(name, attributes, text = "") {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
}

// [step][source] of one layer and head; 0 is the mean.
export function matrix(weights, layer, head) {
  const chosen = (layer ? [weights[layer - 1]] : weights).flatMap((heads) => (head ? [heads[head - 1]] : heads));
  return chosen[0].map((row, step) => row.map((_, place) => chosen.reduce((sum, one) => sum + one[step][place], 0) / chosen.length));
}

export function links(source, targets, rows, word) {
  const width = Math.max(source.length, targets.length) * 84;
  const x = (place, count) => ((place + 0.5) * width) / count;
  const svg = draw("svg", { viewBox: `0 0 ${width} 150`, role: "img", "aria-label": `${source.map(shown).join(" ")} / ${targets.map(shown).join(" ")}` });
  rows.forEach((row, step) => row.forEach((weight, place) => {
    if (weight < 0.04 || (word >= 0 && word !== step)) return;
    svg.append(draw("line", { x1: x(place, source.length), y1: 32, x2: x(step, targets.length), y2: 118, "stroke-width": 1 + 6 * weight, "stroke-opacity": Math.min(1, 0.15 + weight) }));
  }));
  const label = (piece, place, count, y, here) => svg.append(draw("text", { x: x(place, count), y, "text-anchor": "middle", class: here ? "here" : "" }, shown(piece)));
  source.forEach((piece, place) => label(piece, place, source.length, 22, word >= 0 && rows[word]?.[place] > 0.3));
  targets.forEach((piece, step) => label(piece, step, targets.length, 138, step === word));
  return svg;
}

export function heat(source, targets, rows, { word, forced, press }) {
  const head = make("tr", {}, make("td"), ...source.map((piece) => make("th", { scope: "col" }, shown(piece))));
  const body = rows.map((row, step) => make("tr", { class: step === word ? "here" : "" }, make("th", { scope: "row" }, shown(targets[step])),
    ...row.map((weight, place) => {
      const cell = make("td", { class: forced(step, place) ? "forced" : "", "data-step": step, "data-place": place, onclick: () => press(step, place) }, weight.toFixed(2));
      cell.style.setProperty("--w", weight);
      return cell;
    })));
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
}

export function tree(found) {
  const nodes = found.tree.map(([parent, step, token, , score, fate], index) => ({ parent, step, piece: found.pieces[token], score, fate, best: found.best.includes(index) }));
  const columns = [];
  nodes.forEach((node) => { (columns[node.step] ??= []).push(node); node.row = columns[node.step].length; });
  const [wide, high] = [150, 24];
  const svg = draw("svg", { width: columns.length * wide + 20, height: Math.max(...columns.map((one) => one.length)) * high + 20, role: "img", "aria-label": found.text });
  nodes.forEach((node) => {
    const before = nodes[node.parent];
    const [x, y] = [node.step * wide + 16, node.row * high];
    if (before) {
      const [from, height] = [before.step * wide + 120, before.row * high - 4];
      svg.append(draw("path", { d: `M${from} ${height}C${from + 22} ${height} ${x - 26} ${y - 4} ${x - 4} ${y - 4}`, class: node.best ? "best" : "" }));
    }
    svg.append(draw("text", { x, y, class: node.best ? "best" : node.fate }, `${shown(node.piece)} ${node.score.toFixed(2)}`));
  });
  return svg;
}

export function computation(found, source, words) {
  const strongest = (place) => found.terms[place].map((term, feature) => [term, feature]).sort((a, b) => Math.abs(b[0]) - Math.abs(a[0])).slice(0, 3)
    .map(([term, feature]) => `${term.toFixed(2)} [${feature}]`).join(" + ") + (found.terms[place].length > 3 ? " + …" : "");
  const numbers = (list) => `(${list.slice(0, 6).map((one) => one.toFixed(3)).join(", ")}${list.length > 6 ? ", …" : ""})`;
  const rows = source.map((piece, place) => make("tr", {}, make("th", { scope: "row" }, shown(piece)), make("td", {}, `${strongest(place)} = ${found.scores[place].toFixed(3)}`),
    make("td", {}, found.mask[place] ? found.weights[place].toFixed(3) : "–"), make("td", {}, found.used[place].toFixed(3))));
  return [
    make("p", {}, make("code", {}, `${words.score} = ${found.formula}`), ` (${found.score}; ${words.where})`),
    make("p", {}, make("code", {}, found.kind.weights === "softmax" ? "αᵢ = exp(aᵢ) / Σⱼ exp(aⱼ)" : `α = ${found.kind.weights}(a)`)),
    make("p", {}, `${words.query} ${numbers(found.query)}`),
    make("table", {}, make("thead", {}, make("tr", {}, ...words.columns.map((one) => make("th", { scope: "col" }, one)))), make("tbody", {}, ...rows)),
    make("p", {}, `${words.context} = ${numbers(found.context)}`),
  ];
}
