// Elements of the page, made of names, attributes and children; nothing is ever parsed as HTML.
const SVG = "http://www.w3.org/2000/svg";

export function make(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}
export function draw(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}
function filled(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== false && value !== undefined) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

// A choice between the mean (0) and each of `count` layers or heads, hidden if there is nothing to choose.
export function choices(select, count, { chosen, mean }) {
  const numbers = Array.from({ length: count }, (_, one) => make("option", { value: one + 1 }, `${one + 1}`));
  select.replaceChildren(make("option", { value: 0 }, mean), ...numbers);
  select.value = chosen <= count ? chosen : 0;
  select.parentElement.hidden = count < 2;
}

// Run what replaces elements, and give the focus back to the one in the same place.
export function keepingFocus(change) {
  const key = document.activeElement?.dataset.key;
  change();
  if (key && document.activeElement?.dataset.key !== key) {
    document.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
  }
}

export const shown = (piece) =>
  piece === "▁￭" ? "⇧" : piece.replaceAll("▁", " ").replaceAll("￭", "").trim() || "␣";
// Text of its own direction within another: its neighbours keep their places (Unicode's isolates).
export const apart = (text) => `\u2068${text}\u2069`;
// The code of a language as a browser knows it; some runs call their languages otherwise.
export const languageTag = (code) => (/^[a-z]{2,3}(-\w+)*$/.test(code ?? "") ? code : "");
export const percent = (share) => `${(100 * share).toFixed(1)} %`;
