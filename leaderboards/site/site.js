"use strict";
(() => {
  const all = (query, within = document) => [...within.querySelectorAll(query)];
  const find = (query, within = document) => within.querySelector(query);

  /* Filters of the first page. They hide rows and change no rank. */
  const filters = find("#filters");
  if (filters) {
    filters.hidden = false;
    const selects = all("select", filters);
    const output = find("output", filters);
    const read = () => {
      const wanted = new URLSearchParams(location.hash.slice(1));
      for (const select of selects) {
        const value = wanted.get(select.name) ?? "";
        select.value = [...select.options].some((option) => option.value === value) ? value : "";
      }
      apply();
    };
    const clear = document.createElement("button");
    clear.type = "button";
    clear.textContent = "Show all";
    clear.addEventListener("click", () => {
      for (const select of selects) select.value = "";
      changed();
      selects[0].focus();
    });
    const apply = () => {
      const value = Object.fromEntries(selects.map((select) => [select.name, select.value]));
      const fits = (name, found) => !value[name] || value[name] === found;
      let shown = 0, total = 0;
      for (const section of all("section[data-panel]")) {
        const here = fits("panel", section.dataset.panel) && fits("dialect", section.dataset.dialect);
        let any = false;
        for (const row of all("tr[data-key]", section)) {
          total += 1;
          row.hidden = !(here && fits("model", row.dataset.model) && fits("method", row.dataset.method));
          any ||= !row.hidden;
          shown += row.hidden ? 0 : 1;
        }
        section.hidden = !any;
      }
      find("#nothing").hidden = shown > 0;
      const filtered = selects.some((select) => select.value);
      output.textContent = filtered ? `${shown} of ${total} runs. Ranks stay those among all runs of a ranking.` : "";
      if (filtered) output.append(" ", clear);
    };
    const changed = () => {
      const wanted = new URLSearchParams();
      for (const select of selects) if (select.value) wanted.set(select.name, select.value);
      history.replaceState(null, "", wanted.size ? `#${wanted}` : location.pathname.split("/").pop() + location.search);
      apply();
    };
    filters.addEventListener("change", changed);
    addEventListener("hashchange", read);
    read();
  }

  /* Copies of tables. */
  for (const heading of all(".copies h4")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    const text = heading.nextElementSibling;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(text);
        button.textContent = "Selected: press Ctrl+C";
      }
    });
    heading.append(button);
  }

  /* Pictures: the library is loaded when the first of them comes near the screen. */
  const block = find("#charts");
  if (!block) return;
  const { library, charts } = JSON.parse(block.textContent);
  const chips = all("[data-chip]");
  for (const group of all(".chips")) group.hidden = false;
  const DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "6px,2px"];
  const on = (key) => chips.every((chip) => chip.dataset.chip !== key || chip.getAttribute("aria-pressed") === "true");
  const colour = (name) => {
    const probe = document.createElement("i");
    probe.style.color = `var(--${name})`;
    document.body.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  };
  const thin = (text, share) => {
    const [r, g, b] = text.match(/[\d.]+/g).map(Number);
    return `rgba(${r}, ${g}, ${b}, ${share})`;
  };
  const escaped = (text) => text.replace(/[&<>]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[sign]);
  const narrow = matchMedia("(max-width: 44rem)");

  const traces = (chart) => chart.series.flatMap((series) => {
    const own = chart.name + "/" + series.key;
    if (!on(series.key) || !on(own)) return [];
    const line = colour(`s${series.style % 8}`);
    const shape = series.stepped ? "hv" : "linear";
    const few = series.x.length < 30 && !series.stepped;
    const number = chart.percent ? "%{y:.1%}" : "%{y:.4g}";
    const curve = {
      type: "scatter", mode: few ? "lines+markers" : "lines", x: series.x, y: series.y, yaxis: series.right ? "y2" : "y",
      line: { color: line, width: 2, shape, dash: DASHES[Math.floor(series.style / 8) % DASHES.length] },
      marker: { size: 5 }, cliponaxis: false, name: escaped(series.label),
      hovertemplate: `%{fullData.name}: ${number}<extra></extra>`,
    };
    if (!series.low) return [curve];
    const edge = { type: "scatter", mode: "lines", x: series.x, line: { width: 0, shape }, hoverinfo: "skip" };
    return [
      { ...edge, y: series.low },
      { ...edge, y: series.high, fill: "tonexty", fillcolor: thin(line, 0.14) },
      curve,
    ];
  });

  const layout = (chart) => {
    const ink = colour("ink"), soft = colour("soft"), rule = colour("line"), raised = colour("raised");
    const axis = { color: soft, gridcolor: rule, zerolinecolor: rule, linecolor: rule, fixedrange: true, automargin: true };
    const title = (text) => ({ text, font: { size: 12.5, color: soft }, standoff: 8 });
    const made = {
      paper_bgcolor: raised, plot_bgcolor: raised, font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: soft },
      margin: { l: 52, r: 18, t: 14, b: 46 }, showlegend: false, dragmode: false, hovermode: "x unified",
      hoverlabel: { bgcolor: raised, bordercolor: rule, font: { color: ink, size: 12.5 }, align: "left" },
      xaxis: { ...axis, title: title(chart.across), rangemode: chart.doubling ? "normal" : "tozero", nticks: narrow.matches ? 5 : 9 },
      yaxis: { ...axis, title: title(chart.up), rangemode: "tozero", nticks: 8 },
    };
    if (chart.doubling) {
      const ticks = [...new Set(chart.series.flatMap((series) => series.x))].sort((a, b) => a - b)
        .filter((k) => Math.log2(k) % 1 === 0);
      Object.assign(made.xaxis, { type: "log", tickvals: ticks, ticktext: ticks.map(String) });
    }
    if (chart.percent) {
      const shown = chart.series.filter((series) => on(series.key)).flatMap((series) => series.high ?? series.y);
      const top = Math.min(1, Math.max(0.1, ...shown) * 1.12);
      Object.assign(made.yaxis, { tickformat: ".0%", range: [-0.02 * top, top * 1.04], nticks: 6 });
    }
    if (chart.right) {
      made.yaxis2 = { ...axis, title: title(chart.right), overlaying: "y", side: "right", showgrid: false, rangemode: "tozero", tickmode: "auto", nticks: 6 };
    }
    return made;
  };

  const drawn = new Map();
  const draw = (chart, place) => {
    if (!drawn.has(chart)) place.replaceChildren();
    drawn.set(chart, place);
    return Plotly.react(place, traces(chart), layout(chart), { displayModeBar: false, responsive: true, doubleClick: false });
  };
  const redraw = () => {
    for (const [chart, place] of drawn) draw(chart, place);
  };

  let loading;
  const load = () => (loading ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = library;
    script.onload = done;
    script.onerror = failed;
    document.head.append(script);
  }));
  const watcher = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) {
      if (!isIntersecting) continue;
      watcher.unobserve(target);
      const chart = charts.find((one) => one.name === target.id);
      load().then(() => draw(chart, target)).then(() => target.classList.add("drawn"), () => {
        target.textContent = "This picture could not be drawn; its numbers stand in the table below it.";
      });
    }
  }, { rootMargin: "400px" });
  for (const chart of charts) watcher.observe(document.getElementById(chart.name));

  for (const chip of chips) {
    chip.addEventListener("click", () => {
      chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
      redraw();
    });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  narrow.addEventListener("change", redraw);
})();
