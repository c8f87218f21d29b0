// The list of episodes. Only the lines in sight are on the page, so ten thousand scroll as smoothly as ten.

const ROW_HEIGHT = 62;
const SPARE = 6;
const list = document.getElementById("rows");
const spacer = document.getElementById("spacer");
let shown = entries;
let selected = null;
const drawn = new Map();

const stepsText = (row) => {
  const parts = [counted(row.steps, "step")];
  if (row.invalid) parts.push(`${row.invalid} invalid`);
  if (row.unparsable) parts.push(`${row.unparsable} unparsable`);
  return parts.join(" · ");
};

function outcomeMark(row, run) {
  const { sign, name } = row ? outcomeOf(row.outcome) : { sign: "·", name: "not played" };
  return make("span", { class: `mark-of ${row?.outcome ?? "absent"}` },
    comparing && make("small", { "aria-hidden": "true" }, RUN_MARKS[run]),
    make("span", { "aria-hidden": "true" }, sign),
    make("span", { class: "hidden" }, `${comparing ? `run ${RUN_MARKS[run]} ` : ""}${name}, `));
}

function drawRow(entry, place) {
  const steps = comparing
    ? entry.sides.map((row) => row ? String(row.steps) : "–").join(" | ") + " steps"
    : stepsText(sidesOf(entry)[0]);
  const several = entry.sample > 0 || index.runs.some((run) => run.samples > 1);
  return make("div", {
    class: "row", role: "option", id: `row-${place}`, "aria-selected": String(entry === selected),
    "aria-posinset": place + 1, "aria-setsize": shown.length,
    onclick: () => { select(entry); openReader(); },
  },
  make("span", { class: "marks" }, entry.sides.map(outcomeMark)),
  make("span", { class: "goal" }, entry.goal || entry.task),
  make("span", { class: "meta" }, `${typeName(entry.type)} · ${steps}${several ? ` · sample ${entry.sample}` : ""}`));
}

function drawRows() {
  const first = Math.max(0, Math.floor(list.scrollTop / ROW_HEIGHT) - SPARE);
  const last = Math.min(shown.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW_HEIGHT) + SPARE);
  for (const [place, row] of drawn) {
    if (place < first || place >= last) {
      row.remove();
      drawn.delete(place);
    }
  }
  for (let place = first; place < last; place++) {
    if (drawn.has(place)) continue;
    const row = drawRow(shown[place], place);
    row.style.setProperty("transform", `translateY(${place * ROW_HEIGHT}px)`);
    list.append(row);
    drawn.set(place, row);
  }
  const place = shown.indexOf(selected);
  if (drawn.has(place)) list.setAttribute("aria-activedescendant", `row-${place}`);
  else list.removeAttribute("aria-activedescendant");
}

// Draws the list anew, after a filter or the selection has changed.
function showList(next = shown) {
  shown = next;
  for (const row of drawn.values()) row.remove();
  drawn.clear();
  spacer.style.setProperty("height", `${shown.length * ROW_HEIGHT}px`);
  drawRows();
  const all = entries.length;
  field("count").textContent =
    shown.length === all ? counted(all, "episode") : `${shown.length.toLocaleString("en")} of ${counted(all, "episode")}`;
  const active = activeFields();
  field("active").textContent = active ? `(${active})` : "";
  field("clear").hidden = !active && !chosen.size && !field("query").value;
  list.classList.toggle("empty", !shown.length);
}

function scrollToSelected() {
  const top = shown.indexOf(selected) * ROW_HEIGHT;
  if (top < 0) return;
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + ROW_HEIGHT > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW_HEIGHT - list.clientHeight;
}

function moveTo(place) {
  if (shown.length) select(shown[Math.min(shown.length - 1, Math.max(0, place))]);
}

function move(by) {
  const place = shown.indexOf(selected);
  moveTo(place >= 0 ? place + by : by > 0 ? 0 : Infinity);
}

list.addEventListener("scroll", drawRows, { passive: true });
new ResizeObserver(drawRows).observe(list);
