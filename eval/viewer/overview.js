// The head of the page and what is said of a run where no episode is open.

function intervalBar(metrics, mark = "A") {
  const bar = make("span", { class: "interval", "aria-hidden": "true" });
  if (metrics.rate === null) return bar;
  if (metrics.low !== null) {
    const range = make("span", { class: `range run-${mark}` });
    range.style.setProperty("left", `${100 * metrics.low}%`);
    range.style.setProperty("width", `${100 * (metrics.high - metrics.low)}%`);
    bar.append(range);
  }
  const point = make("span", { class: `point run-${mark}` });
  point.style.setProperty("left", `${100 * metrics.rate}%`);
  bar.append(point);
  return bar;
}

const intervalText = (metrics) => metrics.low === null ? "" : `[${percent(metrics.low)}, ${percent(metrics.high)}]`;

function drawHead() {
  document.title = index.runs.map((run) => run.agent).join(" and ") + " · HölderGym run viewer";
  index.runs.forEach((run, number) => {
    const { overall } = run;
    const several = run.samples > 1 ? ` × ${run.samples} samples` : "";
    field("runs").append(make("div", { class: `run run-${RUN_MARKS[number]}` },
      make("div", { class: "who" },
        make("button", { type: "button", class: "agent", title: "About this run", onclick: () => { goBack(); openReader(); } },
          comparing && make("b", {}, RUN_MARKS[number]), run.agent),
        make("p", {}, `${run.panel} · ${counted(run.tasks, "task")}${several} · `, make("code", { title: "sha256 of the panel" }, run.panel_sha256.slice(0, 12)))),
      make("div", { class: "rate" },
        make("p", { class: "figure" }, percent(overall.rate), make("small", {}, overall.rate === null ? "" : " %")),
        make("div", {}, intervalBar(overall, RUN_MARKS[number]),
          make("p", { title: overall.cause || null }, `${overall.won} of ${overall.finished} won`,
            overall.low !== null && ` · ${Math.round(100 * run.level)}% ${intervalText(overall)}`)))));
  });
  if (index.pairing) field("runs").append(make("p", { class: "aside pairing" }, index.pairing));
}

const TYPE_ORDER = Object.keys(TYPES);
const typeRank = (type) => TYPE_ORDER.includes(type) ? TYPE_ORDER.indexOf(type) : TYPE_ORDER.length;
const NOT_PLAYED = { won: 0, finished: 0, rate: null, low: null, high: null, steps: null, invalid: null };

// A line for each task type; two runs share the line, so that they can be held against each other.
function typeTable() {
  const types = [...new Set(index.runs.flatMap((run) => run.types.map(({ type }) => type)))];
  types.sort((a, b) => typeRank(a) - typeRank(b) || (a < b ? -1 : 1));
  const columns = (name) => index.runs.map((_, run) => make("th", { scope: "col" },
    comparing && make("b", { class: `mark-${RUN_MARKS[run]}` }, `${RUN_MARKS[run]} `), name));
  const head = make("tr", {},
    make("th", { scope: "col" }, "Type"), columns("won"), columns("%"),
    make("th", { scope: "col", class: "wide" }, `${Math.round(100 * index.runs[0].level)}% interval, 0 to 100 %`),
    !comparing && make("th", { scope: "col" }, ""),
    columns("steps"), columns("invalid %"));
  const rows = types.map((type) => {
    const cells = index.runs.map((run) => run.types.find((metrics) => metrics.type === type) ?? NOT_PLAYED);
    return make("tr", {},
      make("th", { scope: "row" }, make("button", {
        type: "button", class: "quiet", onclick: () => { field("type").value = type; field("more").open = true; refilter(); },
      }, typeName(type))),
      cells.map((metrics) => make("td", {}, `${metrics.won}/${metrics.finished}`)),
      cells.map((metrics) => make("td", {}, percent(metrics.rate))),
      make("td", { class: "wide" }, cells.map((metrics, run) => intervalBar(metrics, RUN_MARKS[run]))),
      !comparing && make("td", {}, intervalText(cells[0])),
      cells.map((metrics) => make("td", {}, metrics.steps === null ? "–" : fixed(metrics.steps, 1))),
      cells.map((metrics) => make("td", {}, percent(metrics.invalid))));
  });
  return make("div", { class: "scroll" }, make("table", {}, make("caption", {}, "By task type"),
    make("thead", {}, head), make("tbody", {}, rows)));
}

const outcomesText = (run) => Object.entries(run.outcomes).map(([name, count]) => `${outcomeOf(name).name} ${count}`).join(", ");

// pass@k and its kin, where each task was played several times.
function atKTable(run, number) {
  if (!run.at_k.length) return null;
  const names = [...new Set(run.at_k.flatMap(({ estimates }) => Object.keys(estimates)))]; // Some are for one k only.
  const cell = (estimate) => {
    if (estimate === undefined) return make("td", {});
    const interval = estimate.low === null ? "" : ` [${percent(estimate.low)}, ${percent(estimate.high)}]`;
    return make("td", { title: estimate.cause || null }, percent(estimate.value), interval);
  };
  return make("div", { class: "scroll" }, make("table", { class: "narrow" },
    make("caption", {}, comparing && runName(number), "With several samples a task, in %"),
    make("thead", {}, make("tr", {}, ["k", ...names].map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, run.at_k.map(({ k, estimates }) => make("tr", {}, make("th", { scope: "row" }, k),
      names.map((name) => cell(estimates[name])))))));
}

function originList(run, number) {
  return make("details", { class: "origin", open: !comparing },
    make("summary", {}, comparing ? `Where run ${RUN_MARKS[number]} comes from` : "Where this comes from"),
    make("dl", {}, [["Outcomes", outcomesText(run)], ...run.origin].map(([name, text]) => make("div", {}, make("dt", {}, name), make("dd", {}, text)))));
}

function crossTable() {
  const pairs = entries.filter((entry) => entry.sides.every(Boolean));
  const count = (test) => pairs.filter(({ sides }) => test(sides)).length;
  const cell = (key) => make("td", {}, make("button", {
    type: "button", class: "quiet figure-cell",
    onclick: () => { field("versus").value = key; field("more").open = true; refilter(); },
  }, count(VERSUS[key][1])));
  return make("table", { class: "cross" },
    make("caption", {}, `The ${counted(pairs.length, "episode")} that both runs played`),
    make("thead", {}, make("tr", {}, make("td", {}), make("th", { scope: "col" }, "B won"), make("th", { scope: "col" }, "B did not"))),
    make("tbody", {},
      make("tr", {}, make("th", { scope: "row" }, "A won"), cell("both"), cell("first")),
      make("tr", {}, make("th", { scope: "row" }, "A did not"), cell("second"), cell("neither"))));
}

function drawOverview() {
  return make("div", { class: "overview" },
    make("nav", { class: "trail back-only", "aria-label": "Episodes" },
      make("button", { type: "button", class: "quiet back", onclick: goBack }, "← All episodes")),
    make("h1", {}, comparing ? "Two runs, task by task" : "About this run"),
    index.runs.flatMap((run, number) => run.notes.map((note) =>
      make("p", { class: "notice" }, comparing ? `${RUN_MARKS[number]}: ${note}` : note))),
    index.mismatches?.length > 0 && make("p", { class: "notice" },
      `Not the same conditions, so the two rates do not tell two agents apart. ${index.mismatches.join("; ")}`),
    comparing && crossTable(),
    typeTable(),
    index.runs.map(atKTable),
    index.runs.map(originList),
    make("p", { class: "aside" }, "Choose an episode to read it. Press ", make("kbd", {}, "?"), " for the keys."));
}
