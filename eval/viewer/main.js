// Ties the parts together: what is selected, the address, the keys.

const reader = document.getElementById("reader");
let turnAt = -1;

function openReader() {
  document.body.dataset.view = "episode";
}

function draw() {
  reader.replaceChildren(selected ? drawEpisode(selected) : drawOverview());
  reader.scrollTop = 0;
  turnAt = -1;
  highlight(reader, searchWords());
}

function select(entry) {
  selected = entry;
  draw();
  showList();
  scrollToSelected();
  const address = new URLSearchParams({ task: entry.task, sample: entry.sample });
  history.replaceState(null, "", `#${address}`);
}

function goBack() {
  const wasOpen = selected;
  selected = null;
  document.body.dataset.view = "list";
  history.replaceState(null, "", "#");
  draw();
  showList();
  if (wasOpen) list.focus({ preventScroll: true });
}

function refilter() {
  list.scrollTop = 0;
  showList(filteredEntries());
  if (selected) scrollToSelected();
  highlight(reader, searchWords());
}

// Opens what the address names: #task=…&sample=0, and a turn from 1 with &turn=3.
function followAddress() {
  const address = new URLSearchParams(location.hash.slice(1));
  const task = address.get("task");
  if (task === null) return;
  const sample = Number(address.get("sample") ?? 0);
  const entry = entries.find((one) => one.task === task && one.sample === sample);
  if (!entry) {
    reader.prepend(make("p", { class: "notice", role: "alert" }, `There is no episode of ${task}, sample ${sample}, on this page.`));
    return;
  }
  if (!shown.includes(entry)) clearFilters();
  openReader();
  if (entry !== selected) select(entry);
  if (address.has("turn")) showTurn(Number(address.get("turn")) - 1, 0);
}

function showTurn(number, run) {
  const turns = [...reader.querySelectorAll("article.turn")];
  const found = turns.find((turn) => Number(turn.dataset.turn) === number && (run === undefined || Number(turn.dataset.run) === run));
  if (!found) return;
  turnAt = number;
  for (const turn of turns) turn.classList.toggle("current", Number(turn.dataset.turn) === number);
  found.focus({ preventScroll: true });
  found.scrollIntoView({ block: "start" });
}

function moveTurn(by) {
  const last = Math.max(-1, ...[...reader.querySelectorAll("article.turn")].map((turn) => Number(turn.dataset.turn)));
  showTurn(Math.min(last, Math.max(0, turnAt + by)));
}

function nextInvalid() {
  if (!selected) return;
  const turns = sidesOf(selected).flatMap((row) => bodyOf(row).turns.map((turn, number) => turn.invalid ? number : -1));
  const later = turns.filter((number) => number > turnAt).sort((a, b) => a - b);
  const first = turns.filter((number) => number >= 0).sort((a, b) => a - b);
  const next = later[0] ?? first[0];
  if (next !== undefined) showTurn(next);
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try { localStorage.setItem("holdergym-theme", theme); } catch { /* A page from disk may have no storage. */ }
}

function toggleTheme() {
  const now = document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  setTheme(now === "dark" ? "light" : "dark");
}

const help = document.getElementById("help");
const openHelp = () => { if (!help.open) help.showModal(); };

const KEYS = {
  j: () => move(1),
  k: () => move(-1),
  g: () => moveTo(0),
  G: () => moveTo(Infinity),
  n: () => moveTurn(1),
  p: () => moveTurn(-1),
  ArrowRight: () => moveTurn(1),
  ArrowLeft: () => moveTurn(-1),
  i: nextInvalid,
  t: () => document.body.classList.toggle("unshaded"),
  d: toggleTheme,
  x: () => clearFilters(),
  "/": () => { goToList(); field("query").focus(); field("query").select(); },
  "?": openHelp,
  Escape: () => goBack(),
};

function goToList() {
  document.body.dataset.view = "list";
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  const { target, key } = event;
  const typing = target.matches("input, select, textarea");
  if (typing) {
    if (key === "Escape") { target.blur(); list.focus(); event.preventDefault(); }
    else if (target === field("query") && (key === "Enter" || key === "ArrowDown")) {
      refilter();
      list.focus();
      if (shown.length) select(shown[0]);
      event.preventDefault();
    }
    return;
  }
  const inReader = reader.contains(target);
  if ((key === "ArrowDown" || key === "ArrowUp") && !inReader) {
    move(key === "ArrowDown" ? 1 : -1);
    event.preventDefault();
  } else if (key === "Enter" && !target.closest("button, a, summary")) {
    if (!selected && shown.length) select(shown[0]);
    openReader();
    reader.focus();
    event.preventDefault();
  } else if (Object.hasOwn(KEYS, key)) {
    KEYS[key]();
    event.preventDefault();
  }
}

try {
  const theme = localStorage.getItem("holdergym-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch { /* as above */ }
document.body.classList.toggle("comparing", comparing);
document.getElementById("theme").addEventListener("click", toggleTheme);
field("clear").addEventListener("click", clearFilters);
document.getElementById("help-open").addEventListener("click", openHelp);
document.addEventListener("keydown", onKey);
addEventListener("hashchange", followAddress);
buildFilters(refilter);
drawHead();
showList(filteredEntries());
draw();
followAddress();
performance.mark("ready");
