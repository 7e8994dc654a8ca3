// All that a link holds: the sentence, the models, and everything that was chosen and changed.
import { WORDS } from "./words.js";

export const UNCHANGED = { prefix: [], forced: [], off: [], temperature: 1 };
export const DEFAULTS = {
  text: "", model: null, source: null, target: null, ...UNCHANGED, beam: null, layer: 0, head: 0, word: -1,
  beside: null, // a second model: { model, layer, head, word }
  language: navigator.language.startsWith("vi") ? "vi" : "en",
};

const text = (value) => typeof value === "string";
const index = (value) => Number.isInteger(value) && value >= 0;
const list = Array.isArray;
const filled = (value) => list(value) && value.length > 0 && value.every(list);
const orNull = (fits) => (value) => value === null || fits(value);
const FITS = {
  text, model: orNull(text), source: orNull(text), target: orNull(text), prefix: list, off: (value) => list(value) && value.every(list), temperature: Number.isFinite,
  forced: (value) => list(value) && value.every((one) => filled(one?.weights)),
  beam: orNull(index), layer: index, head: index, word: (value) => value === -1 || index(value),
  beside: orNull((value) => text(value.model)), language: (value) => Object.hasOwn(WORDS, value),
};

// Read the address; what is not of the kind that is expected is left out.
export function read() {
  let given;
  try { given = JSON.parse(decodeURIComponent(location.hash.slice(1))); } catch { return { ...DEFAULTS }; }
  const known = Object.entries(given ?? {}).filter(([key, value]) => Object.hasOwn(FITS, key) && FITS[key](value));
  return { ...DEFAULTS, ...Object.fromEntries(known) };
}

export function write(state) {
  const same = (key, value) => key !== "language" && JSON.stringify(value) === JSON.stringify(DEFAULTS[key]);
  const changed = Object.entries(state).filter(([key, value]) => !same(key, value));
  const address = `#${encodeURIComponent(JSON.stringify(Object.fromEntries(changed)))}`;
  try { history.replaceState(null, "", address); } catch { /* too many changes for this browser: the next one holds them all */ }
}
