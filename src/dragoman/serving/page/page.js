import { WORDS, percent, shown } from "./words.js";
import { computation, heat, links, make, matrix, tree } from "./views.js";

const at = (id) => document.getElementById(id);
const DEFAULTS = { text: "", model: null, prefix: [], forced: [], off: [], temperature: 1, beam: null, layer: 0, head: 0, word: -1, language: navigator.language.startsWith("vi") ? "vi" : "en" };
let state = { ...DEFAULTS, ...read() };
let found = null;
let asked = 0;

function read() {
  try { return JSON.parse(decodeURIComponent(location.hash.slice(1))) ?? {}; } catch { return {}; }
}
const words = () => WORDS[state.language] ?? WORDS.en;
const body = (more = {}) => {
  const { text, model, prefix, forced, off, temperature, beam } = state;
  return { text, model, prefix, forced, off, temperature, beam, ...more };
};
async function post(path, content) {
  const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content) });
  const result = await answer.json();
  if (!answer.ok) throw new Error(result.error?.message ?? answer.statusText);
  return result;
}
function problem(error) { at("problem").hidden = !error; at("problem").textContent = error?.message ?? ""; }

function set(change) {
  at("answer").textContent = "";
  state = { ...state, ...change };
  history.replaceState(null, "", `#${encodeURIComponent(JSON.stringify(state))}`);
  return run();
}
async function run() {
  const number = ++asked;
  if (!state.text.trim()) { found = null; return show(); }
  const begun = performance.now();
  try {
    const result = await post("/v1/explore", body());
    if (number !== asked) return;
    found = { ...result, ms: Math.round(performance.now() - begun) };
    problem(null);
  } catch (error) { if (number === asked) problem(error); }
  show();
}

function choices(select, count, chosen) {
  select.replaceChildren(make("option", { value: 0 }, words().mean), ...Array.from({ length: count }, (_, one) => make("option", { value: one + 1 }, `${one + 1}`)));
  select.value = chosen;
  select.parentElement.hidden = count < 2;
}
function show() {
  document.documentElement.lang = state.language;
  document.querySelectorAll("[data-words]").forEach((element) => { element.textContent = words()[element.dataset.words]; });
  at("language").value = state.language;
  if (document.activeElement !== at("text")) at("text").value = state.text;
  at("temperature").value = state.temperature;
  at("degrees").textContent = state.temperature.toFixed(1);
  at("beam").value = state.beam ?? "";
  at("off").setAttribute("aria-pressed", state.off.length > 0);
  at("translation").replaceChildren(...(found?.steps ?? []).slice(0, -1).map((step, place) => make("button", {
    type: "button", class: `token${step.log_prob < Math.log(0.5) ? " doubtful" : ""}${place < state.prefix.length ? " given" : ""}`, title: percent(step.log_prob),
    "aria-pressed": place === state.word, onclick: () => { state.word = place; set({ word: place }); }, onpointerenter: () => look(place), onfocus: () => look(place), onpointerleave: () => look(state.word),
  }, shown(step.piece))));
  at("facts").textContent = found ? words().facts(found.score.toFixed(3), found.ms) : "";
  at("word").hidden = !found || state.word < 0 || state.word >= found.steps.length;
  at("tree").replaceChildren(...(found ? [tree(found)] : []));
  const weights = found?.weights;
  at("off").hidden = !weights;
  choices(at("layer"), weights?.length ?? 0, state.layer);
  choices(at("head"), weights?.[0].length ?? 0, state.head);
  if (!at("word").hidden) detail();
  look(state.word);
}
function look(word) {
  if (!found) { at("links").replaceChildren(); at("heat").replaceChildren(); return; }
  if (!found.weights) { at("links").textContent = words().none; at("heat").replaceChildren(); return; }
  const rows = matrix(found.weights, state.layer, state.head);
  const targets = found.steps.map((step) => step.piece);
  at("links").replaceChildren(links(found.source, targets, rows, word));
  const forced = (step, place) => state.forced.some((one) => one.step === step && one.weights.some(([where]) => where === place));
  if (word === state.word || !at("heat").firstChild) at("heat").replaceChildren(heat(found.source, targets, rows, { word, forced, press: (step, place) => force(step, place, 1) }));
}
function force(step, place, weight) {
  const before = found.steps.slice(0, step).map((one) => one.token);
  const layer = state.layer || null, head = state.head || null;
  const others = state.forced.filter((one) => one.step < step || (one.step === step && (one.layer !== layer || one.head !== head)));
  return set({ prefix: before, word: step, forced: [...others, { step, weights: [[place, weight]], layer, head }] });
}
function detail() {
  const step = found.steps[state.word];
  const before = found.steps.slice(0, state.word).map((one) => one.token);
  at("alternatives").replaceChildren(...step.alternatives.map((one) => make("li", {}, make("button", {
    type: "button", "aria-pressed": one.token === step.token, onclick: () => set({ prefix: [...before, one.token], forced: state.forced.filter((each) => each.step <= state.word) }),
  }, shown(one.piece), " ", make("small", {}, percent(one.log_prob))))));
  at("force").hidden = at("numbers").hidden = !found.weights;
  if (!found.weights) return;
  const row = matrix(found.weights, state.layer, state.head)[state.word];
  const forced = state.forced.find((one) => one.step === state.word)?.weights[0][0];
  at("place").replaceChildren(...found.source.map((piece, place) => make("option", { value: place }, shown(piece))));
  at("place").value = forced ?? row.indexOf(Math.max(...row));
  slide(row);
  if (at("numbers").open) compute();
}
function slide(row) {
  at("weight").value = row[at("place").value];
  at("share").textContent = Number(at("weight").value).toFixed(2);
}
async function compute() {
  const prefix = found.steps.slice(0, state.word + 1).map((one) => one.token);
  try {
    const result = await post("/v1/explore/computation", body({ prefix, layer: state.layer || 1, head: state.head || 1 }));
    at("computation").replaceChildren(...computation(result, found.source, words()));
  } catch (error) { problem(error); }
}

let waiting = 0;
at("text").addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => set({ text: at("text").value, prefix: [], forced: [], word: -1 }), 150);
});
at("language").addEventListener("change", () => set({ language: at("language").value }));
at("model").addEventListener("change", () => set({ model: at("model").value, prefix: [], forced: [], off: [], word: -1, layer: 0, head: 0 }));
at("layer").addEventListener("change", () => set({ layer: Number(at("layer").value) }));
at("head").addEventListener("change", () => set({ head: Number(at("head").value) }));
at("beam").addEventListener("change", () => set({ beam: Number(at("beam").value) || null }));
at("temperature").addEventListener("change", () => set({ temperature: Number(at("temperature").value) }));
at("temperature").addEventListener("input", () => { at("degrees").textContent = Number(at("temperature").value).toFixed(1); });
at("off").addEventListener("click", () => set({ off: state.off.length ? [] : [[state.layer || null, state.head || null]] }));
at("reset").addEventListener("click", () => set({ prefix: [], forced: [], off: [], temperature: 1, beam: null }));
at("place").addEventListener("change", () => slide(matrix(found.weights, state.layer, state.head)[state.word]));
at("weight").addEventListener("input", () => { at("share").textContent = Number(at("weight").value).toFixed(2); });
at("weight").addEventListener("change", () => force(state.word, Number(at("place").value), Number(at("weight").value)));
at("numbers").addEventListener("toggle", () => { if (at("numbers").open) compute(); });
at("ask").addEventListener("submit", async (event) => {
  event.preventDefault();
  const prefix = found.steps.slice(0, state.word).map((one) => one.token);
  try {
    const why = await post("/v1/explore/why-not", body({ prefix, word: at("wanted").value }));
    const because = why.chances.map((one, place) => words().because(shown(one.piece), one.rank, percent(one.log_prob), shown(why.likeliest[place].piece), percent(why.likeliest[place].log_prob)));
    at("answer").textContent = [...because, words().fates[why.fate ?? "unseen"], words().paths(why.forced.text, why.forced.score.toFixed(3), why.chosen.score.toFixed(3))].join(" ");
  } catch (error) { problem(error); }
});
window.addEventListener("hashchange", () => { state = { ...DEFAULTS, ...read() }; run(); });

const served = await fetch("/v1/languages").then((answer) => answer.json()).catch(() => ({ models: [] }));
at("model").replaceChildren(...(served.models ?? []).map((one) => make("option", { value: one.name }, one.name)));
if (state.model) at("model").value = state.model;
run();
