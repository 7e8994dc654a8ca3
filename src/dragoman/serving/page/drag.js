// A cell of a table of weights is dragged up or down: by mouse, by a finger that rests on it first, or with + and -.
const WHOLE = 150; // pixels from 0 to 1
const SLACK = 4; // pixels by which a press may move
const REST = 350; // milliseconds; a finger that moves sooner scrolls
const STRIDE = 0.05; // of a key

const bounded = (weight) => Math.round(100 * Math.min(1, Math.max(0, weight))) / 100;

// `on` has weight(step, place), try(step, place, weight) while it changes, take(step, place, weight) and giveUp() at its end.
export function draggable(table, on) {
  let drag = null;
  let spent = false; // a click that ends a drag presses nothing
  const cellOf = (event) => event.target.closest?.("td[data-step]");

  function start(cell, more) {
    giveUp();
    const [step, place] = [Number(cell.dataset.step), Number(cell.dataset.place)];
    const weight = on.weight(step, place);
    drag = { cell, step, place, first: weight, weight, moving: false, ...more };
  }
  function move(weight) {
    drag.moving = true;
    drag.weight = bounded(weight);
    drag.cell.classList.add("dragged");
    on.try(drag.step, drag.place, drag.weight);
  }
  function stop() {
    const was = drag;
    clearTimeout(was?.timer);
    was?.cell.classList.remove("dragged");
    drag = null;
    return was;
  }
  function giveUp() { if (stop()?.moving) on.giveUp(); }
  function take() {
    const { moving, step, place, weight, first } = stop();
    if (moving) weight === bounded(first) ? on.giveUp() : on.take(step, place, weight);
  }
  function grasp(pointer) {
    spent = true;
    drag.cell.setPointerCapture(pointer);
    move(drag.weight);
  }

  table.addEventListener("pointerdown", (event) => {
    const cell = cellOf(event);
    spent = false;
    if (!cell || event.button || !event.isPrimary) return;
    start(cell, { pointer: event.pointerId, y: event.clientY, rests: event.pointerType !== "mouse" });
    if (drag.rests) drag.timer = setTimeout(() => grasp(event.pointerId), REST);
  });
  table.addEventListener("pointermove", (event) => {
    if (drag?.pointer !== event.pointerId) return;
    const up = drag.y - event.clientY;
    if (!drag.moving && Math.abs(up) > SLACK) drag.rests ? stop() : grasp(event.pointerId);
    if (drag?.moving) move(drag.first + up / WHOLE);
  });
  table.addEventListener("pointerup", (event) => { if (drag?.pointer === event.pointerId) take(); });
  table.addEventListener("pointercancel", giveUp);
  table.addEventListener("touchmove", (event) => { if (drag?.moving) event.preventDefault(); }, { passive: false });
  table.addEventListener("contextmenu", (event) => { if (drag?.moving) event.preventDefault(); });
  table.addEventListener("click", (event) => { if (spent) event.stopPropagation(); }, true);
  table.addEventListener("focusout", giveUp);
  table.addEventListener("keydown", (event) => {
    const stride = { "+": STRIDE, "=": STRIDE, "-": -STRIDE }[event.key];
    const cell = cellOf(event);
    if (stride && cell && !event.ctrlKey && !event.metaKey && !event.altKey) {
      if (!drag?.moving) start(cell, {});
      move(drag.weight + stride);
    } else if (drag?.moving && event.key === "Escape") {
      giveUp();
    } else if (drag?.moving && (event.key === "Enter" || event.key === " ")) {
      take();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }, true);
  return { active: () => Boolean(drag?.moving), giveUp };
}
