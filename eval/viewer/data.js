// Reads the page's JSON blocks: the index at once, each episode when it is opened or searched for the first time.

const index = JSON.parse(document.getElementById("index").textContent);
const RUN_MARKS = ["A", "B"];
const comparing = index.runs.length > 1;

const OUTCOMES = {
  won: { sign: "✓", name: "won" },
  lost: { sign: "✕", name: "lost" },
  limit: { sign: "○", name: "step limit" },
  token_limit: { sign: "○", name: "token limit" },
  context_overflow: { sign: "○", name: "context full" },
  error: { sign: "!", name: "error" },
  timeout: { sign: "!", name: "timeout" },
};

const TYPES = {
  pick_and_place_simple: "Pick",
  look_at_obj_in_light: "Look",
  pick_clean_then_place_in_recep: "Clean",
  pick_heat_then_place_in_recep: "Heat",
  pick_cool_then_place_in_recep: "Cool",
  pick_two_obj_and_place: "Pick2",
};

const outcomeOf = (name) => OUTCOMES[name] ?? { sign: "?", name };
const typeName = (type) => Object.hasOwn(TYPES, type) ? TYPES[type] : type.replaceAll("_", " ");

// An entry is a line of the list: a task and a sample, with the row of each run, or null where a run lacks it.
const entries = [];
{
  const byKey = new Map();
  index.rows.forEach((rows, run) => rows.forEach((row, place) => {
    const key = JSON.stringify([row.task, row.sample]);
    let entry = byKey.get(key);
    if (!entry) {
      const task = index.tasks[row.task];
      entry = { task: row.task, sample: row.sample, type: task.type, goal: task.goal, sides: index.runs.map(() => null) };
      byKey.set(key, entry);
      entries.push(entry);
    }
    row.block = `episode-${run}-${place}`;
    entry.sides[run] = row;
  }));
  entries.forEach((entry, order) => { entry.order = order; });
}

const sidesOf = (entry) => entry.sides.filter(Boolean);
const bodyOf = (row) => row.body ??= JSON.parse(document.getElementById(row.block).textContent);

// The admissible commands of each turn; none where they were not kept or the environment lists none.
function offersOf(body) {
  if (!body.offers) {
    const { flips, commands, turns } = body.admissible ?? { turns: [] };
    const present = new Set();
    body.offers = turns.map((numbers) => {
      if (!flips) return numbers.map((number) => commands[number]);
      for (const number of numbers) if (!present.delete(number)) present.add(number);
      return [...present].sort((a, b) => a - b).map((number) => commands[number]);
    });
  }
  return body.offers;
}

// All that can be searched of an entry, in small letters.
function haystackOf(entry) {
  if (entry.haystack === undefined) {
    const parts = [entry.goal, entry.task, entry.type];
    for (const row of sidesOf(entry)) {
      const body = bodyOf(row);
      for (const turn of body.turns) parts.push(turn.observation, turn.action, turn.reply ?? "");
      parts.push(body.final, body.reason ?? "");
    }
    entry.haystack = parts.join("\n").toLowerCase();
  }
  return entry.haystack;
}
