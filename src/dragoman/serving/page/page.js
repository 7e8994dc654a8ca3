// The page: one state, which the address holds, and what follows from it.
import { apart, keepingFocus, languageTag, make, percent, shown } from "./elements.js";
import { panel } from "./panel.js";
import { complaint, download, get, post, setKey, stream, translateDocument, wantsKey } from "./service.js";
import { DEFAULTS, UNCHANGED, read, write } from "./state.js";
import { computation, matrix, reasons, tree } from "./views.js";
import { WORDS } from "./words.js";

const at = (id) => document.getElementById(id);
const words = () => WORDS[state.language];
let state = read();
let served = [];
const LONGEST = 500; // characters of a sentence: its table has a cell for each pair of tokens
let limits = { beam: 10, characters: LONGEST }; // those of the service, once it has told them
// Of the model and of the one beside it: what was asked, what was found, and what gives up asking.
const runs = [{}, {}];
const panels = [
  panel(0, { words, choose: set, force }),
  panel(1, { words, choose: (change) => set({ beside: { ...state.beside, ...change } }) }),
];
at("runs").append(...panels.map((one) => one.root));

const modelOf = (number) =>
  served.find((one) => one.name === (number ? state.beside?.model : state.model)) ?? (number ? undefined : served[0]);
const onlyTranslates = (number) => modelOf(number)?.explorable === false;
const targetsOf = (model) => [...new Set((model?.directions ?? []).map(([, target]) => target))];
const sourcesOf = (model, into = target()) => (model?.directions ?? []).filter(([, to]) => to === into).map(([from]) => from);
const among = (codes, code) => (codes.includes(code) ? code : codes[0] ?? null);
const target = () => among(targetsOf(modelOf(0)), state.target);
const source = () => among(sourcesOf(modelOf(0)), state.source);
// Models that translate between the same languages.
const others = () => served.filter((one) => one !== modelOf(0) && sourcesOf(one).includes(source()));

// What is asked of a model; the one beside it is changed in nothing but beam and temperature.
function body(number, more = {}) {
  const { text, model, prefix, forced, off, beam } = state;
  const temperature = onlyTranslates(number) ? 1 : state.temperature;
  const asIs = { ...UNCHANGED, model: number ? state.beside.model : model };
  const own = number || onlyTranslates(0) ? asIs : { model, prefix, forced, off };
  const from = sourcesOf(modelOf(number)).length > 1 ? { source: source() } : {};
  const into = targetsOf(modelOf(number)).length > 1 ? { target: target() } : {};
  return { text, ...own, ...from, ...into, temperature, beam, ...more };
}

function set(change) {
  at("answer").textContent = "";
  state = { ...state, ...change };
  write(state);
  return served.length ? update() : learn();
}
async function update() {
  show();
  if ((await Promise.all([ask(0), ask(1)])).includes(true)) say();
}
function giveUp(number) {
  runs[number].giving?.abort();
  runs[number].asked = null;
  at("said").textContent = "";
}

// Ask a model for what the state says, unless that is what was asked last; true if something new was found.
async function ask(number) {
  const run = runs[number];
  const wanted = state.text.trim() && (!number || state.beside) ? body(number) : null;
  const asked = JSON.stringify(wanted);
  if (run.asked === asked) return false;
  giveUp(number);
  run.asked = asked;
  run.giving = new AbortController();
  const { signal } = run.giving;
  const finish = (found, error) => {
    if (signal.aborted) return false;
    run.found = found;
    if (error) run.asked = null; // whatever is done next asks again
    if (wantsKey(error)) at("keys").hidden = false;
    panels[number].complain(error);
    show();
    return true;
  };
  if (!wanted) { finish(null); return false; }
  const most = Math.min(LONGEST, limits.characters);
  if (wanted.text.length > most) return finish(null, new Error(words().tooLong(wanted.text.length, most)));
  let written = null;
  try { written = await stepwise(number, wanted, signal); } catch (error) { if (onlyTranslates(number)) return finish(null, error); }
  if (signal.aborted) return false;
  if (onlyTranslates(number)) return finish({ text: written ?? "", wanted });
  try {
    const begun = performance.now();
    const found = { ...await post("/v1/explore", wanted, signal), wanted, usual: written };
    found.ms = Math.round(performance.now() - begun);
    finish(found);
    const { text, model, source: from, target: into } = wanted;
    const assessed = { text, model, source: from, target: into, translation: found.text };
    const assessment = await post("/v1/explore/assess", assessed, signal);
    return finish({ ...found, assessment });
  } catch (error) { return finish(run.found?.wanted === wanted ? run.found : written && { text: written }, error); }
}

// Show an unchanged translation as it is written, and return it.
async function stepwise(number, wanted, signal) {
  const [from, into] = [source(), target()];
  const changed = wanted.prefix.length || wanted.forced.length || wanted.off.length || wanted.temperature !== 1;
  if (changed || !from || !modelOf(number)) return null;
  const { text, model, beam } = wanted;
  const asked = { text, model: model ?? modelOf(0).name, beam, source: from, target: into, split: "none" };
  return stream(asked, signal, (written) => { if (!signal.aborted) panels[number].write(written); });
}

function show() {
  const all = words();
  document.documentElement.lang = state.language;
  document.querySelectorAll("[data-words]").forEach((one) => { one.textContent = all[one.dataset.words]; });
  document.querySelectorAll("[data-label]").forEach((one) => { one.setAttribute("aria-label", all[one.dataset.label]); });
  at("language").value = state.language;
  at("text").lang = languageTag(source());
  at("temperature").value = state.temperature;
  at("degrees").textContent = state.temperature.toFixed(1);
  at("beam").value = state.beam ?? "";
  at("beam").max = limits.beam;
  at("beam").placeholder = runs[0].found?.beam ?? "";
  at("temperature").parentElement.hidden = onlyTranslates(0) && (!state.beside || onlyTranslates(1));
  const missing = served.length && state.model && modelOf(0).name !== state.model ? state.model : undefined; // of a link
  chosen("model", served.map((one) => one.name), missing ? "" : modelOf(0)?.name, missing);
  chosen("source", sourcesOf(modelOf(0)), source());
  chosen("target", targetsOf(modelOf(0)), target());
  const compared = new Set([...others().map((one) => one.name), ...(state.beside ? [state.beside.model] : [])]);
  chosen("beside", [...compared], state.beside?.model ?? "", all.alone);
  const found = runs[0].found, weights = found?.weights;
  at("off").setAttribute("aria-pressed", `${state.off.some(isShown)}`);
  at("heads").textContent = state.off.length ? all.heads(state.off.map(([layer, head]) => all.which(layer, head))) : "";
  at("off").hidden = at("save").hidden = !weights;
  at("runs").classList.toggle("two", Boolean(state.beside));
  panels[1].root.hidden = !state.beside;
  const names = [modelOf(0)?.name, state.beside?.model];
  const shownAs = (number) => ({ target: target(), name: state.beside ? names[number] : "", plain: onlyTranslates(number) });
  panels[0].show(found, { ...state, ...shownAs(0) });
  panels[1].show(state.beside ? runs[1].found : null, { layer: 0, head: 0, word: -1, ...state.beside, ...shownAs(1) });
  at("searched").hidden = !found?.tree;
  at("tree").replaceChildren(...(found?.tree ? [tree(found, all.treeLabel(found.tree.length, found.text))] : []));
  at("word").hidden = !found?.steps || state.word < 0 || state.word >= found.steps.length;
  if (!at("word").hidden) detail(found);
}
// Fill a choice of names, hidden if there is nothing to choose.
function chosen(id, names, value, none) {
  const first = none === undefined ? [] : [make("option", { value: "" }, none)];
  at(id).replaceChildren(...first, ...names.map((name) => make("option", { value: name }, labelled(name))));
  at(id).value = value ?? "";
  at(id).parentElement.hidden = first.length + names.length < 2;
}
// A model that only translates says so in its choice.
function labelled(name) {
  return served.some((one) => one.name === name && one.explorable === false) ? `${name} (${words().onlyTranslates})` : name;
}
// Tell those who hear the page what it has come to.
function say() {
  const alarms = runs.flatMap((run) => run.found?.assessment?.alarms ?? []).map((one) => words().alarm(one));
  const texts = [0, 1].filter((number) => runs[number].found).map((number) => runs[number].found.text);
  at("said").textContent = texts.length ? [`${words().translation}: ${texts.join(" / ")}`, ...alarms].join(" ") : "";
}

// Whether a layer and a head, of which null is every one, are those that are shown.
const isShown = ([layer, head]) => layer === (state.layer || null) && head === (state.head || null);
function force(step, place, weight) {
  const before = runs[0].found.steps.slice(0, step).map((one) => one.token);
  const layer = state.layer || null, head = state.head || null;
  const stays = (one) => one.step < step || (one.step === step && (one.layer !== layer || one.head !== head));
  const forced = [...state.forced.filter(stays), { step, weights: [[place, weight]], layer, head }];
  return set({ prefix: before, word: step, forced });
}
function detail(found) {
  const step = found.steps[state.word];
  const before = found.steps.slice(0, state.word).map((one) => one.token);
  const goOn = (token) => set({ prefix: [...before, token], forced: state.forced.filter((one) => one.step <= state.word) });
  at("chosen").textContent = shown(step.piece);
  keepingFocus(() => at("alternatives").replaceChildren(...step.alternatives.map((one, place) => make("li", {}, make("button", {
    type: "button", "aria-pressed": `${one.token === step.token}`, "data-key": `a-${place}`, onclick: () => goOn(one.token),
  }, apart(shown(one.piece)), " ", make("small", {}, percent(Math.exp(one.log_prob))))))));
  at("force").hidden = at("numbers").hidden = !found.weights;
  if (!found.weights) return;
  const row = matrix(found.weights, state.layer, state.head)[state.word];
  const forced = state.forced.find((one) => one.step === state.word)?.weights[0][0];
  at("place").replaceChildren(...found.source.map((piece, place) => make("option", { value: place }, shown(piece))));
  at("place").value = forced ?? row.indexOf(Math.max(...row));
  slide();
  if (at("numbers").open) compute(found);
}
function slide() {
  const row = matrix(runs[0].found.weights, state.layer, state.head)[state.word];
  at("weight").value = row[at("place").value];
  at("share").textContent = Number(at("weight").value).toFixed(2);
}
async function compute(found) {
  const place = at("computation");
  const prefix = found.steps.slice(0, state.word + 1).map((one) => one.token);
  const [layer, head] = [state.layer || 1, state.head || 1];
  const asked = body(0, { prefix, layer, head });
  const key = JSON.stringify(asked) + state.language;
  if (place.dataset.asked === key) return;
  place.dataset.asked = key;
  place.replaceChildren(); // the numbers of another word
  let result, problem;
  try { result = await post("/v1/explore/computation", asked); } catch (error) { problem = complaint(error, words()); }
  if (place.dataset.asked !== key) return;
  if (problem) delete place.dataset.asked;
  const several = found.weights.length * found.weights[0].length > 1;
  place.replaceChildren(...(several ? [make("p", { class: "quiet" }, words().which(layer, head))] : []),
    ...(problem ? [problem] : computation(result, found.source, words())));
}

// Translate a document; choosing another one, or none, gives this one up.
let translating = new AbortController();
async function upload() {
  translating.abort();
  translating = new AbortController();
  const { signal } = translating;
  const [file] = at("document").files;
  const told = (text, { done, total } = {}) => {
    if (signal.aborted) return;
    at("far").textContent = text;
    at("bar").hidden = total === undefined;
    if (total) [at("bar").max, at("bar").value] = [total, done];
  };
  at("fetch").hidden = true;
  told("");
  if (!file) return;
  const { source: from } = body(0);
  const asked = { source: from, target: target(), model: modelOf(0)?.name };
  try {
    let total = 0;
    const tell = (progress) => {
      total = progress.total;
      told(words().progress(progress.done, total), progress);
    };
    const { name, url } = await translateDocument(file, asked, { signal, tell });
    told(total ? words().ready : words().nothing);
    [at("fetch").href, at("fetch").textContent, at("fetch").hidden] = [url, name, false];
  } catch (error) {
    if (wantsKey(error)) at("keys").hidden = false;
    told(complaint(error, words()));
  }
}

let waiting = 0;
at("document").addEventListener("click", () => { at("document").value = ""; }); // or the same one cannot be chosen again
at("document").addEventListener("change", upload);
at("text").addEventListener("input", () => {
  clearTimeout(waiting);
  [0, 1].forEach(giveUp);
  waiting = setTimeout(() => set({ text: at("text").value, prefix: [], forced: [], word: -1 }), 150);
});
const onChange = (id, change) => at(id).addEventListener("change", () => set(change(at(id).value)));
const afresh = { prefix: [], forced: [], off: [], word: -1, layer: 0, head: 0 };
onChange("language", (language) => ({ language }));
onChange("model", (model) => ({ model, ...afresh, beside: null }));
onChange("source", (from) => ({ source: from, ...afresh, beside: null }));
onChange("target", (into) => ({ target: into, ...afresh, beside: null }));
onChange("beside", (model) => ({ beside: model ? { model, layer: 0, head: 0, word: -1 } : null }));
onChange("beam", (beam) => ({ beam: Math.min(limits.beam, Math.max(0, Math.round(Number(beam)))) || null }));
onChange("temperature", (temperature) => ({ temperature: Number(temperature) }));
at("temperature").addEventListener("input", () => { at("degrees").textContent = Number(at("temperature").value).toFixed(1); });
at("off").addEventListener("click", () => set({
  off: state.off.some(isShown) ? state.off.filter((one) => !isShown(one)) : [...state.off, [state.layer || null, state.head || null]],
}));
at("reset").addEventListener("click", () => set({ ...UNCHANGED, beam: null }));
at("save").addEventListener("click", async () => {
  const both = { source: source(), target: target(), beside: runs[1].found?.weights ? state.beside.model : null };
  const asked = body(0, both);
  try { await download("/v1/explore/save", asked, "attention.html"); } catch (error) { panels[0].complain(error); }
});
at("keys").addEventListener("submit", (event) => {
  event.preventDefault();
  setKey(at("key").value.trim());
  at("key").value = "";
  at("keys").hidden = true;
  [0, 1].forEach(giveUp);
  learn();
  upload();
});
at("place").addEventListener("change", slide);
at("weight").addEventListener("input", () => {
  at("share").textContent = Number(at("weight").value).toFixed(2);
  panels[0].attempt(state.word, Number(at("place").value), Number(at("weight").value));
});
at("weight").addEventListener("change", () => force(state.word, Number(at("place").value), Number(at("weight").value)));
at("numbers").addEventListener("toggle", () => { if (at("numbers").open) compute(runs[0].found); });
at("ask").addEventListener("submit", async (event) => {
  event.preventDefault();
  const { word } = state, { steps, terms, wanted } = runs[0].found;
  const chosen = steps.map((one) => one.token);
  const asked = body(0, { prefix: chosen.slice(0, word), chosen, word: at("wanted").value });
  const answer = (said) => { if (state.word === word && runs[0].found?.wanted === wanted) at("answer").textContent = said; };
  try {
    answer(reasons(await post("/v1/explore/why-not", asked), words(), terms.some((one) => one.state === "forced")));
  } catch (error) { answer(complaint(error, words())); }
});
window.addEventListener("hashchange", () => { state = read(); at("text").value = state.text; update(); });

// Learn which models there are, and begin.
async function learn() {
  let problem;
  try { ({ models: served, limits } = await get("/v1/languages")); } catch (error) { problem = error; }
  at("keys").hidden = !wantsKey(problem);
  if (modelOf(1) && !others().includes(modelOf(1))) state.beside = DEFAULTS.beside;
  await update();
  const told = state.text.trim(); // what was asked has failed for the same reason
  if (problem && problem.code !== "missing_key" && !told) panels[0].complain(problem);
}
at("text").value = state.text;
learn();
