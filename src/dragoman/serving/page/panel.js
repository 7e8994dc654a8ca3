// The translation of one run, how far to trust it, and where it looked.
import { draggable } from "./drag.js";
import { choices, keepingFocus, languageTag, make, percent, shown } from "./elements.js";
import { complaint } from "./service.js";
import { forcedRow, heat, links, matrix, weigh } from "./views.js";

// As in the report: inspection/confidence.py::LEVELS.
const LEVELS = { likely: 0.75, fair: 0.5, doubtful: 0.25, unlikely: 0 };
const degree = (share) => Object.keys(LEVELS).find((name) => share >= LEVELS[name]);

// `on` has words(), choose(change), and force(step, place, weight) where cells of the table can be pressed and dragged.
export function panel(number, on) {
  const heading = make("h2", { id: `run${number}` });
  const translation = make("p", { class: "translation", dir: "auto" });
  const facts = make("p", { class: "quiet" }), legend = make("p", { class: "quiet legend" });
  const alarms = make("ul", { class: "alarms" }), terms = make("ul", { class: "terms" });
  const usual = make("p", { class: "usual" });
  const problem = make("p", { class: "problem", role: "alert", hidden: true });
  const pick = (name) => make("select", { onchange: (event) => on.choose({ [name]: Number(event.target.value) }) });
  const [layer, head] = [pick("layer"), pick("head")];
  const [layerName, headName, title, hint] = [make("span"), make("span"), make("h3"), make("p", { class: "quiet", id: `hint${number}` })];
  const which = make("div", { class: "controls" }, make("label", {}, layerName, " ", layer), make("label", {}, headName, " ", head));
  const drawn = make("div", { class: "scroll links", role: "group", tabindex: 0 });
  const table = make("div", { class: "scroll heat", ...(on.force ? {} : { role: "group", tabindex: 0 }) });
  const told = make("p", { class: "quiet told", role: "status", hidden: !on.force });
  const looked = make("div", { class: "looked" }, title, hint, which, drawn, table, told);
  const root = make("section", { class: "run", "aria-labelledby": `run${number}` },
    heading, translation, problem, usual, alarms, terms, facts, legend, looked);
  let found = null, view = {};
  let trial = null; // a row as it would be with a weight that is being changed: { step, row }
  let natural = null; // the row that was forced last, as it was before: { key, weights }
  let dragging = null;

  function show(result, chosen) {
    const other = result?.wanted !== found?.wanted, turned = chosen.layer !== view.layer || chosen.head !== view.head;
    if (other || turned) {
      dragging?.giveUp();
      trial = null;
    }
    [found, view] = [result, chosen];
    const words = on.words();
    heading.textContent = chosen.name ? `${words.translation} · ${chosen.name}` : words.translation;
    [layerName.textContent, headName.textContent, title.textContent] = [words.layer, words.head, words.attention];
    hint.textContent = on.force ? words.attentionHint : words.attentionOnlyHint;
    root.classList.remove("busy");
    translation.lang = languageTag(chosen.target);
    keepingFocus(() => translation.replaceChildren(...(found?.steps ? tokens(words) : [found?.text ?? ""])));
    const trust = found?.assessment?.confidence ?? null;
    const confidence = trust === null ? "" : ` · ${words.confidence(percent(trust))}`;
    const measured = found?.steps ? words.facts(Number(found.score.toFixed(3)), found.ms) + confidence : "";
    const differs = found?.steps && found.usual && found.usual.trim() !== found.text.trim();
    usual.textContent = differs ? words.usual(found.usual.trim()) : "";
    facts.textContent = chosen.plain ? words.plain : measured;
    legend.replaceChildren(...(found?.steps ? explained(words) : []));
    alarms.replaceChildren(...(found?.assessment?.alarms ?? []).map((one) => make("li", {}, words.alarm(one))));
    terms.replaceChildren(...(found?.terms ?? []).map((one) => make("li", { class: one.state }, words.term(one))));
    looked.hidden = !found?.steps;
    if (!found?.steps) { table.replaceChildren(); drawn.replaceChildren(); return; }
    choices(layer, found.weights?.length ?? 0, { chosen: view.layer, mean: words.mean });
    choices(head, found.weights?.[0].length ?? 0, { chosen: view.head, mean: words.mean });
    drawn.setAttribute("aria-label", words.linksLabel);
    if (!on.force) table.setAttribute("aria-label", words.heatLabel);
    hint.hidden = which.hidden = table.hidden = !found.weights;
    if (!dragging?.active()) keepingFocus(() => table.replaceChildren(...(found.weights ? [grid(words)] : [])));
    look(view.word);
  }

  // Colours by the calibrated confidence of the word, or by the model's own probability of the token.
  function trusted() {
    const given = found.assessment?.words ?? [];
    return given.length && given.length === found.words.length ? given : null;
  }
  function tokens() {
    const given = trusted();
    const places = reading();
    return places.flatMap((place, at) => {
      const step = found.steps[place];
      const share = given && found.owners[place] !== null ? given[found.owners[place]] : Math.exp(step.log_prob);
      const marks = { given: place < found.wanted.prefix.length, after: joined(places[at - 1], place), before: joined(place, places[at + 1]) };
      const names = ["token", degree(share), ...Object.keys(marks).filter((name) => marks[name])];
      const token = make("button", {
        type: "button", class: names.join(" "), title: percent(share), "data-key": `t${number}-${place}`,
        "aria-label": `${shown(step.piece)}, ${percent(share)}`, "aria-pressed": `${place === view.word}`,
        onclick: () => on.choose({ word: place === view.word ? -1 : place }), onpointerenter: () => look(place),
        onpointerleave: () => look(view.word), onfocus: () => look(place), onblur: () => look(view.word),
      }, shown(step.piece));
      return marks.before ? [token] : [token, " "];
    });
  }
  // The places of the tokens in the order of the text; some runs write its last word first.
  function reading() {
    const places = found.steps.slice(0, -1).map((_, place) => place);
    const owners = found.owners.filter((one) => one !== null);
    return owners[0] > owners.at(-1) ? places.reverse() : places;
  }
  // Whether two tokens belong to one word.
  const joined = (one, other) => typeof found.owners[one] === "number" && found.owners[one] === found.owners[other];
  function explained(words) {
    const keys = Object.entries(LEVELS).map(([name, least]) => make("span", { class: `token ${name}` }, least ? `≥ ${100 * least} %` : words.less));
    return [trusted() ? words.calibrated : words.uncalibrated, " ", ...keys];
  }

  const rows = () => matrix(found.weights, view.layer, view.head).map((row, step) => (step === trial?.step ? trial.row : row));
  const targets = () => found.steps.map((step) => step.piece);
  const isForced = (step, place) => found.wanted.forced.some((one) =>
    one.step === step && one.weights.some(([where]) => place === undefined || where === place));
  function grid(words) {
    const press = on.force && ((step, place) => take(step, place, 1));
    const options = { word: view.word, forced: isForced, label: words.heatLabel, press, key: `c${number}` };
    const made = heat(found.source, targets(), rows(), options);
    if (!on.force) return made;
    made.setAttribute("aria-describedby", hint.id);
    dragging = draggable(made, { weight: (step, place) => rows()[step][place], try: attempt, take, giveUp });
    return made;
  }

  // Show a row as it would be with one weight, before what follows is translated again.
  function attempt(step, place, weight) {
    trial = { step, row: forcedRow(naturally(step), view, { step, place, weight }) };
    rewrite(step, step);
    told.textContent = on.words().weightOf(shown(found.source[place]), shown(targets()[step]), weight.toFixed(2));
  }
  function giveUp() {
    const { step } = trial;
    trial = null;
    rewrite(step, view.word);
    told.textContent = on.words().asBefore;
  }
  function rewrite(step, word) {
    const cells = table.querySelectorAll(`td[data-step="${step}"]`);
    rows()[step].forEach((weight, place) => weigh(cells[place], weight));
    look(word);
  }
  function take(step, place, weight) {
    if (!isForced(step)) natural = { key: before(step), weights: found.weights };
    return on.force(step, place, weight);
  }
  // The weights from which a row is forced: a row that is forced already may have lost its proportions.
  const naturally = (step) => (natural?.key === before(step) ? natural.weights : found.weights);
  function before(step) {
    const { text, model, forced, off } = found.wanted;
    return JSON.stringify([text, model, off, forced.filter((one) => one.step < step), targets().slice(0, step)]);
  }
  function look(word) {
    if (!found?.steps) return;
    const words = on.words();
    if (!found.weights) { drawn.textContent = words.none; return; }
    drawn.replaceChildren(links(found.source, targets(), rows(), { word, label: words.linksLabel }));
    [...table.querySelectorAll("tbody tr")].forEach((row, step) => row.classList.toggle("here", step === word));
  }

  // Show a translation as it is written.
  function write(text) {
    root.classList.add("busy");
    translation.replaceChildren(make("span", { class: "writing" }, text));
  }
  function complain(error) {
    problem.hidden = !error;
    problem.textContent = error ? complaint(error, on.words()) : "";
  }
  return { root, show, write, complain, attempt };
}
