// A reply token by token: the less probable a token was, the stronger its shade.

// A probability of 5% or less has the full shade.
const shadeOf = (surprise) => surprise === null ? 1 : Math.min(1, surprise / 300);
const PROBABLE = 5; // Hundredths of a nat below which nothing is shaded: a probability above 95%.

function tokenText(tokens, number, hovered) {
  const surprise = tokens.surprise?.[number];
  const parts = [hovered === null ? `token ${tokens.ids[number]}` : `${JSON.stringify(hovered)} · token ${tokens.ids[number]}`];
  if (surprise === null) parts.push("no log-probability");
  else if (surprise !== undefined) {
    const probability = 100 * Math.exp(-surprise / 100);
    parts.push(`probability ${probability.toPrecision(probability < 1 ? 1 : 3)} %`, `log-prob ${(-surprise / 100).toFixed(2)}`);
  }
  return parts.join(" · ");
}

function tokenSpan(tokens, number, text, kind = "token") {
  const surprise = tokens.surprise?.[number];
  const span = make("span", { class: kind, "data-number": number }, text ?? String(tokens.ids[number]));
  if (surprise !== undefined && (surprise === null || surprise > PROBABLE)) {
    span.style.setProperty("--shade", shadeOf(surprise).toFixed(3));
    span.classList.add("shaded");
  }
  return span;
}

// The reply, and a line on its tokens, or on the one under the pointer.
function drawTokens(turn) {
  const { tokens } = turn;
  const readout = make("p", { class: "aside readout" }, tokensLine(turn));
  const box = make("div", {});
  const texts = [];
  if (tokens.lengths) {
    box.className = "reply";
    const said = tokens.said ?? turn.reply;
    const end = said.indexOf(turn.reply ?? "") + (turn.reply ?? "").length; // What follows ended the reply.
    let at = 0;
    tokens.lengths.forEach((length, number) => {
      const text = said.slice(at, at + length);
      if (length) box.append(tokenSpan(tokens, number, text, at >= end ? "token special" : "token"));
      at += length;
      texts.push(text);
    });
  } else {
    box.className = "blocks";
    tokens.ids.forEach((_, number) => box.append(tokenSpan(tokens, number, null)));
  }
  const tell = (event) => {
    const number = event.target.closest?.(".token")?.dataset.number;
    if (number === undefined) return;
    readout.replaceChildren();
    addText(readout, tokenText(tokens, Number(number), texts[number] ?? null));
  };
  box.addEventListener("pointerover", tell);
  box.addEventListener("click", tell);
  box.addEventListener("pointerleave", () => { readout.textContent = tokensLine(turn); });
  return [box, readout];
}

function tokensLine(turn) {
  const { tokens, usage } = turn;
  const parts = [];
  if (tokens) parts.push(counted(tokens.ids.length, "token"));
  else if (usage) parts.push(counted(usage[2], "token"));
  const known = tokens?.surprise?.filter((value) => value !== null);
  if (known?.length) {
    const mean = known.reduce((sum, value) => sum + value, 0) / known.length / 100;
    parts.push(`perplexity ${Math.exp(mean).toFixed(2)}`);
  }
  if (turn.finish === "length") parts.push("cut by the token limit");
  if (turn.seconds !== undefined) parts.push(`${fixed(turn.seconds, 1)} s`);
  return parts.join(" · ");
}
