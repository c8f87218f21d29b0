// What is shown of the list, and in which order.

const form = document.getElementById("filters");
const field = (id) => document.getElementById(id);
const chosen = new Set(); // Outcomes; none means all.

const SORTS = {
  panel: ["Panel order", () => 0],
  fewest: ["Fewest steps", (entry) => Math.min(...sidesOf(entry).map((row) => row.steps))],
  most: ["Most steps", (entry) => -Math.max(...sidesOf(entry).map((row) => row.steps))],
  invalid: ["Most invalid commands", (entry) => -Math.max(...sidesOf(entry).map((row) => row.invalid))],
  tokens: ["Most tokens", (entry) => -Math.max(...sidesOf(entry).map((row) => row.tokens ?? 0))],
  goals: ["Most goal conditions", (entry) => -Math.max(...sidesOf(entry).map((row) => row.goals ?? 0))],
};

const INVALID = {
  any: ["Any number", () => true],
  none: ["None", (row) => row.invalid === 0],
  some: ["At least one", (row) => row.invalid > 0],
  half: ["At least half", (row) => row.steps > 0 && row.invalid * 2 >= row.steps],
};

const REPLIES = {
  any: ["All", () => true],
  unparsable: ["Some without a command", (row) => row.unparsable > 0],
  cut: ["Some cut by the limit", (row) => row.cut > 0],
};

const won = (row) => row?.outcome === "won";
const VERSUS = {
  any: ["All", () => true],
  differ: ["Outcomes differ", ([a, b]) => a?.outcome !== b?.outcome],
  first: ["Only A won", ([a, b]) => won(a) && !won(b)],
  second: ["Only B won", ([a, b]) => won(b) && !won(a)],
  both: ["Both won", ([a, b]) => won(a) && won(b)],
  neither: ["Neither won", ([a, b]) => !won(a) && !won(b)],
};

// Words of the search; a phrase in quotation marks stays together.
function searchWords() {
  const words = field("query").value.toLowerCase().match(/"[^"]+"|\S+/g) ?? [];
  return words.map((word) => word.replaceAll('"', "")).filter(Boolean);
}

function filteredEntries() {
  const words = searchWords();
  const type = field("type").value;
  const [, invalid] = INVALID[field("invalid").value];
  const [, replies] = REPLIES[field("replies").value];
  const [, versus] = VERSUS[field("versus").value];
  const least = field("least").value === "" ? 0 : Number(field("least").value);
  const most = field("most").value === "" ? Infinity : Number(field("most").value);
  const [, rank] = SORTS[field("sort").value];
  const rowMatches = (row) =>
    (!chosen.size || chosen.has(row.outcome)) && invalid(row) && replies(row) && row.steps >= least && row.steps <= most;
  return entries
    .filter((entry) =>
      (!type || entry.type === type)
      && versus(entry.sides)
      && sidesOf(entry).some(rowMatches)
      && words.every((word) => haystackOf(entry).includes(word)))
    .map((entry) => [rank(entry), entry])
    .sort(([a, first], [b, second]) => a - b || first.order - second.order)
    .map(([, entry]) => entry);
}

// How many of the fields behind "Filter and sort" are set.
function activeFields() {
  const set = ["type", "least", "most"].filter((id) => field(id).value !== "");
  return set.length + ["sort", "invalid", "replies", "versus"].filter((id) => field(id).selectedIndex > 0).length;
}

function buildFilters(changed) {
  const options = (id, table) => {
    for (const [value, [label]] of Object.entries(table)) field(id).append(make("option", { value }, label));
  };
  field("type").append(make("option", { value: "" }, "All"));
  for (const type of [...new Set(entries.map((entry) => entry.type))].sort()) {
    field("type").append(make("option", { value: type }, typeName(type)));
  }
  options("sort", SORTS);
  options("invalid", INVALID);
  options("replies", REPLIES);
  options("versus", VERSUS);
  field("versus-field").hidden = !comparing;
  const rows = index.rows.flat();
  for (const name of Object.keys(OUTCOMES)) {
    const count = rows.filter((row) => row.outcome === name).length;
    if (!count) continue;
    const chip = make("button", { type: "button", class: `chip ${name}`, "aria-pressed": "false", "data-outcome": name },
      make("span", { "aria-hidden": "true" }, outcomeOf(name).sign), ` ${outcomeOf(name).name} `, make("b", {}, count));
    chip.addEventListener("click", () => {
      const on = !chosen.has(name);
      if (on) chosen.add(name); else chosen.delete(name);
      chip.setAttribute("aria-pressed", String(on));
      changed();
    });
    field("outcomes").append(chip);
  }
  let waiting = 0;
  form.addEventListener("input", (event) => {
    clearTimeout(waiting);
    waiting = setTimeout(changed, event.target === field("query") ? 120 : 0);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
}

// Takes all filters, the search and the order back.
function clearFilters() {
  form.reset();
  chosen.clear();
  for (const chip of field("outcomes").children) chip.setAttribute("aria-pressed", "false");
  refilter();
}
