// One episode turn by turn, or the same task in two runs side by side.

const REMARKS = {
  empty: "empty",
  endless_thinking: "thinking never ends",
  no_action: "no command marked",
  unclosed_action: "command never closed",
  cut_action: "cut inside the command",
  several_actions: "several commands, the first counts",
  no_thinking: "no thinking",
  chinese: "Chinese characters",
};

// The environment's text in paragraphs. Columns of words, as in the list of commands, keep their places.
function drawObservation(text) {
  const kind = (paragraph) => {
    if (/^-= .* =-$/.test(paragraph)) return "banner";
    if (paragraph.startsWith("Your task is to:")) return "goal-line";
    return /\S {3,}\S/.test(paragraph) ? "aligned" : null;
  };
  const paragraphs = text.split(/\n{2,}/).filter(Boolean);
  return make("div", { class: "observation" }, paragraphs.map((paragraph) => make("p", { class: kind(paragraph) }, paragraph)));
}

function promptPart(turn, body, number) {
  const { prompt, usage } = turn;
  if (!prompt && !usage) return null;
  const count = prompt ? prompt.count : usage[0];
  const cached = usage?.[1] ? `, ${usage[1].toLocaleString("en")} of them cached` : "";
  const label = `Prompt, ${counted(count, "token")}${cached}`;
  if (prompt?.text === undefined) return make("p", { class: "aside" }, label);
  const details = make("details", { class: "prompt" }, make("summary", {}, label));
  details.addEventListener("toggle", () => {
    if (!details.open || details.querySelector("pre")) return;
    if (prompt.from) {
      const whole = make("button", { type: "button", class: "quiet" }, "show them");
      const line = make("p", { class: "aside" }, `Goes on from the ${counted(prompt.from, "token")} before. `, whole);
      whole.addEventListener("click", () => line.replaceWith(make("pre", { class: "earlier" }, earlierText(body, number))));
      details.append(line);
    }
    details.append(make("pre", {}, prompt.text));
  });
  return details;
}

// What a prompt goes on from: prompts and replies back to the last one that began anew.
function earlierText(body, number) {
  const parts = [];
  for (let at = number - 1; at >= 0; at--) {
    const turn = body.turns[at];
    parts.unshift((turn.prompt?.text ?? "") + (turn.tokens?.said ?? turn.reply ?? ""));
    if (!turn.prompt?.from) break;
  }
  return parts.join("");
}

function replyPart(turn) {
  if (turn.tokens?.lengths) return drawTokens(turn);
  const plain = turn.reply !== undefined && make("div", { class: "reply" }, turn.reply || "(nothing)");
  return [plain, turn.tokens && drawTokens(turn)].flat();
}

function badges(turn) {
  const found = [];
  if (turn.unparsable) found.push(["bad", "no command found"]);
  else if (turn.invalid) found.push(["bad", "not admissible"]);
  if (turn.finish === "length") found.push(["bad", "cut"]);
  for (const remark of turn.remarks ?? []) found.push(["note", REMARKS[remark] ?? remark.replaceAll("_", " ")]);
  if (turn.reward) found.push(["good", `reward ${turn.reward}`]);
  return found.map(([kind, text]) => make("span", { class: `badge ${kind}` }, text));
}

function actionPart(turn) {
  const repeats = turn.reply !== undefined && turn.reply === turn.action && turn.action.length > 80;
  return make("div", { class: turn.invalid ? "action invalid" : "action" },
    make("span", { class: "caret", "aria-hidden": "true" }, ">"), make("span", { class: "hidden" }, "command: "),
    make("code", {}, repeats ? "(the reply as it is)" : turn.action || "(nothing)"),
    turn.snapped_from !== undefined && make("span", { class: "aside" }, ` nearest to “${turn.snapped_from}”`),
    badges(turn));
}

// What could have been done, folded away: which of it was done, or that what was done is not among it.
function offersPart(turn, commands) {
  if (!commands?.length) return null;
  const label = `${counted(commands.length, "command was", "commands were")} admissible`;
  const details = make("details", { class: "offers" }, make("summary", {}, label));
  details.addEventListener("toggle", () => {
    if (!details.open || details.querySelector("ul")) return;
    // Blanks around a command are forgiven by the game.
    const chosen = turn.invalid ? null : turn.action.trim();
    if (turn.unparsable) details.append(make("p", { class: "aside" }, "No command was found in the reply."));
    else if (turn.invalid) details.append(make("p", { class: "aside" }, make("code", {}, turn.action || "(nothing)"), " is not among them."));
    details.append(make("ul", {}, commands.map((command) => command === chosen
      ? make("li", { class: "chosen" }, make("span", { class: "hidden" }, "chosen: "), make("code", {}, command))
      : make("li", {}, make("code", {}, command)))));
  });
  return details;
}

function drawTurn(body, number, run, parted) {
  const turn = body?.turns[number];
  const attributes = { class: `turn${parted ? " parted" : ""}`, "data-turn": number, "data-run": run };
  if (!turn) {
    const final = body && number === body.turns.length ? drawFinal(body, run) : null;
    return make("div", attributes, final);
  }
  const line = turn.tokens ? "" : tokensLine(turn);
  return make("article", { ...attributes, tabindex: -1, "aria-label": `Turn ${number + 1}` },
    make("span", { class: "number", "aria-hidden": "true" }, number + 1),
    drawObservation(turn.observation),
    promptPart(turn, body, number), replyPart(turn), actionPart(turn), offersPart(turn, offersOf(body)[number]),
    line && make("p", { class: "aside" }, line));
}

function drawFinal(body, run) {
  const { name } = outcomeOf(body.outcome);
  return make("div", { class: "final" },
    drawObservation(body.final),
    body.answer && make("p", {}, "Answer: ", make("code", {}, body.answer)),
    body.verdict && make("p", { class: "aside" }, `Verdict: ${body.verdict}`),
    make("p", { class: `ending ${body.outcome}` }, `The end: ${name}`, body.reason ? `. ${body.reason}` : ""));
}

// Small cells, one a turn, to see and to jump to.
function strip(body, run) {
  const cells = body.turns.map((turn, number) => {
    const kind = turn.unparsable ? "unparsable" : turn.invalid ? "invalid" : "valid";
    return make("button", {
      type: "button", class: `cell ${kind}`, tabindex: -1, "aria-label": `Turn ${number + 1}, ${kind}`,
      onclick: () => showTurn(number, run),
    });
  });
  return make("div", { class: "strip", role: "group", "aria-label": "Turns" }, cells);
}

function sideHead(row, run) {
  if (!row) return make("div", { class: "side-head" }, runName(run), make("p", { class: "aside" }, "not played in this run"));
  const { sign, name } = outcomeOf(row.outcome);
  const facts = [stepsText(row)];
  if (row.shortest !== null) facts.push(`shortest plan ${row.shortest}`);
  if (row.outcome !== "won" && row.goals !== null && index.runs[run].env === "alfworld") facts.push(`${percent(row.goals, 0)} % of the goal conditions`);
  if (row.tokens !== null) facts.push(counted(row.tokens, "token"));
  return make("div", { class: "side-head" },
    comparing && runName(run),
    make("p", { class: "facts" },
      make("span", { class: `pill ${row.outcome}` }, make("span", { "aria-hidden": "true" }, sign), ` ${name}`), ` ${facts.join(" · ")}`),
    strip(bodyOf(row), run));
}

const runName = (run) =>
  make("p", { class: `run-name run-${RUN_MARKS[run]}` }, make("b", {}, RUN_MARKS[run]), ` ${index.runs[run].agent}`);

// The first turn in which two runs do not do the same.
function partingTurn(bodies) {
  if (bodies.length < 2 || bodies.some((body) => !body)) return -1;
  const [a, b] = bodies;
  for (let number = 0; number < Math.max(a.turns.length, b.turns.length); number++) {
    if (a.turns[number]?.action !== b.turns[number]?.action) return number;
  }
  return -1;
}

function drawEpisode(entry) {
  const bodies = entry.sides.map((row) => row && Object.assign(bodyOf(row), { outcome: row.outcome }));
  const parting = partingTurn(bodies);
  const length = Math.max(...bodies.map((body) => (body ? body.turns.length + 1 : 0)));
  const turns = make("div", { class: comparing ? "turns two" : "turns" });
  for (let number = 0; number < length; number++) {
    if (number === parting && number > 0) turns.append(make("p", { class: "parting" }, "Here the two runs part"));
    bodies.forEach((body, run) => turns.append(drawTurn(body, number, run, number === parting)));
  }
  const place = shown.indexOf(entry);
  return make("div", { class: "episode" },
    make("header", { class: "episode-head" },
      make("nav", { class: "trail", "aria-label": "Episodes" },
        make("button", { type: "button", class: "quiet back", onclick: goBack }, "← All episodes"),
        make("span", { class: "spread" }),
        make("button", { type: "button", class: "quiet", onclick: () => move(-1), disabled: place <= 0 }, "Previous"),
        make("button", { type: "button", class: "quiet", onclick: () => move(1), disabled: place >= shown.length - 1 }, "Next")),
      make("p", { class: "kicker" }, typeName(entry.type), entry.sample || index.runs.some((run) => run.samples > 1)
        ? ` · sample ${entry.sample}` : ""),
      make("h1", { class: entry.goal.length > 100 ? "long" : null }, entry.goal || entry.task),
      make("p", { class: "identity" }, entry.task),
      make("div", { class: comparing ? "sides two" : "sides" }, entry.sides.map(sideHead))),
    turns);
}
