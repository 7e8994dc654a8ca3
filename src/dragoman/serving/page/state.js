// All that a link holds: the sentence, the models, and everything that was chosen and changed.
export const UNCHANGED = { prefix: [], forced: [], off: [], temperature: 1 };
export const DEFAULTS = {
  text: "", model: null, target: null, ...UNCHANGED, beam: null, layer: 0, head: 0, word: -1,
  beside: null, // a second model: { model, layer, head, word }
  language: navigator.language.startsWith("vi") ? "vi" : "en",
};

// Read the address; what is not of the kind that is expected is left out.
export function read() {
  let given;
  try { given = JSON.parse(decodeURIComponent(location.hash.slice(1))); } catch { return { ...DEFAULTS }; }
  const known = Object.entries(given ?? {}).filter(([key, value]) => key in DEFAULTS && fits(key, value));
  return { ...DEFAULTS, ...Object.fromEntries(known) };
}
function fits(key, value) {
  const usual = DEFAULTS[key];
  if (key === "beside") return value === null || typeof value?.model === "string";
  if (key === "forced") return Array.isArray(value) && value.every((one) => Array.isArray(one?.weights));
  if (Array.isArray(usual)) return Array.isArray(value);
  return usual === null || typeof value === typeof usual;
}

export function write(state) {
  const same = (key, value) => key !== "language" && JSON.stringify(value) === JSON.stringify(DEFAULTS[key]);
  const changed = Object.entries(state).filter(([key, value]) => !same(key, value));
  history.replaceState(null, "", `#${encodeURIComponent(JSON.stringify(Object.fromEntries(changed)))}`);
}
