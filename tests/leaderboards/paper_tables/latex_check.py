"""A strict reader of the LaTeX that tables are written in: an unknown command or an unbalanced brace is an error."""

import re

KNOWN = {
    "begin", "end", "centering", "footnotesize", "scriptsize", "setlength", "tabcolsep", "caption", "label",
    "toprule", "midrule", "bottomrule", "multicolumn", "textit", "textbf", "underline", "textsuperscript",
    "smallskip", "linewidth", "raggedright", "noindent", "par", "quad", "to", "pm", "times", "ge", "le", "alpha",
    "hookrightarrow", "dots", "textbackslash", "textasciicircum", "textasciitilde", "textasciigrave", "r", "c",
}  # fmt: skip
_TOKEN = re.compile(r"\\([a-zA-Z]+)|\\(.)|([{}$&#%_^~])|([^\\{}$&#%_^~]+)", re.DOTALL)
_ARGUMENT = re.compile(r"\\(begin|end)\{([a-z]+)\}")


def problems_of(latex: str) -> list[str]:
    """What a compiler would stumble over; nothing for a fragment of tables."""
    found: list[str] = []
    body = "\n".join(line for line in latex.splitlines() if not line.startswith("%"))
    if not body.isascii():
        found.append("characters that need more than ASCII")
    environments: list[str] = []
    for kind, name in _ARGUMENT.findall(body):
        if kind == "begin":
            environments.append(name)
        elif not environments or environments.pop() != name:
            found.append(f"\\end{{{name}}} without its beginning")
    found += [f"\\begin{{{name}}} without its end" for name in environments]
    depth, dollars = 0, 0
    for command, symbol, special, _ in _TOKEN.findall(body):
        if command and command not in KNOWN:
            found.append(f"unknown command \\{command}")
        if symbol and symbol not in "\\{}$&#%_\"'`^~\n":
            found.append(f"unknown command \\{symbol}")
        depth += {"{": 1, "}": -1}.get(special, 0)
        dollars += special == "$"
        if special in ("#", "%", "_", "^"):
            found.append(f"a bare {special}")
        if depth < 0:
            found.append("a closing brace too many")
            break
    if depth > 0:
        found.append("a brace that is not closed")
    if dollars % 2:
        found.append("a formula that is not closed")
    for columns, rows in re.findall(r"\\begin\{tabular\}\{([lr]+)\}(.*?)\\end\{tabular\}", body, re.DOTALL):
        for row in re.split(r"\\\\\n", rows):
            text = re.sub(r"\\(top|mid|bottom)rule", "", row).strip()
            cells = len(re.findall(r"(?<!\\)&", text)) + 1
            if text and not text.startswith("\\multicolumn") and cells != len(columns):
                found.append(f"{cells} cells in {len(columns)} columns: {text[:60]}")
    return found
