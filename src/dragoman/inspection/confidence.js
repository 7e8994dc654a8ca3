"use strict";
// Lets the reader choose the order of the sentences and which of them are shown.

for (const part of document.querySelectorAll("section.assessed")) {
  const list = part.querySelector("ol");
  const rows = [...list.children];
  const [order, show] = ["order", "show"].map((name) => part.querySelector(`select[name=${name}]`));
  const numbers = part.querySelector("input");
  const sure = (row) => (row.dataset.confidence === undefined ? Infinity : Number(row.dataset.confidence));
  const alarms = (row) => (row.dataset.alarms ? row.dataset.alarms.split("|") : []);
  const wanted = (row) => show.value === "" || (show.value === "*" ? alarms(row).length > 0 : alarms(row).includes(show.value));

  order.addEventListener("change", () => {
    const sorted = [...rows];
    if (order.value === "least") sorted.sort((one, other) => (sure(one) === sure(other) ? 0 : sure(one) - sure(other)));
    list.append(...sorted);
  });
  show.addEventListener("change", () => rows.forEach((row) => { row.hidden = !wanted(row); }));
  numbers.addEventListener("change", () => part.classList.toggle("numbers", numbers.checked));
  part.querySelector(".controls").hidden = false;
}
