"""Which wording a game file speaks: its two dialects, recognised by hash and by command templates.

Every released game carries the whole PDDL domain and text grammar. The rules and texts of the native engine
are proven for one domain and one grammar only, so anything else is refused here rather than played wrongly.
"""

import hashlib
import json
import re
from enum import StrEnum
from typing import NamedTuple

from ..errors import GameError


class Dialect(StrEnum):
    """The wording of a game."""

    V04 = "0.4"
    """``move X to Y``, ``help``, a walkthrough in the file: data of release 0.4.0 and alfworld >= 0.4."""

    V03 = "0.3"
    """``put X in/on Y``, no ``help``, no walkthrough: data of release 0.2.2, used up to alfworld 0.3.5."""


class Wording(NamedTuple):
    """What a domain and a grammar say.

    Attributes:
        dialect: The dialect.
        sentence: The task line, ``Your task is to: ...``.
        rules: Empty for dialect 0.4, whose known texts all play alike. Else the sha256 of the domain and the grammar,
            as the game is played by what they say.
    """

    dialect: Dialect
    sentence: str
    rules: str = ""


_TASK = re.compile(r'"task"\s*:\s*\[\s*\{\s*"rhs"\s*:\s*"((?:[^"\\]|\\.)*)"')
_PUT_TEMPLATE = re.compile(r'template\s*::\s*"put \{o\} in/on \{r\}"')
_SENTENCE_START = "Your task is to: "
# The stock text generator expands, cuts at or chokes on these; no released task sentence has one.
_GRAMMAR_SIGNS = re.compile(r'[][{}<>#|;"\\\n\r\t]')

# sha256 of the grammars with the task sentence replaced by {TASK}, and of the domains that they go with. The packages
# alfworld 0.4.0 to 0.4.2 ship other texts than the released games carry: their domain does not clean in a SinkType
# receptacle (there is none) and their grammar writes the help text in another way. Both play the same:
# `alfworld-generate` puts them into games with human task sentences.
_OFFICIAL_GRAMMARS = {
    "239e9d5d949e3b44b272b9f61bbf2e0fb5d9db0794cf0c3f4d8b6cb22fa56a06": "released games",
    "e8a4dfcaaa239bcdbcd32c22c9ccbed270842be4d9cb78406db94704ec4cecb8": "package alfworld 0.4",
}
_OWN_GRAMMARS = {"b90833d6bac3d5a65571d54c2d941afcf471f443ab52ce6c967201dab3f543e7": "domain.py"}
_GRAMMARS_OF_DOMAIN = {
    "0af55e7f92d12b09d28515aa730e4d03fddd17228ef1fd7b18a3ee8ba49b27b9": _OFFICIAL_GRAMMARS,  # released games
    "f1473041ed01da514de1f87adfd7ef0804862361f83ccf63c75e43633b0eb280": _OFFICIAL_GRAMMARS,  # package alfworld 0.4
    "c0a26cc77e9577b66ec66506c41f1f25ac6a8cc10af3b62e37150e52f72c6728": _OWN_GRAMMARS,  # domain.py
}


def recognise(domain: str, grammar: str) -> Wording:
    """Finds the dialect and the task sentence of a game.

    Dialect 0.4 is known by the hashes of the domain and the grammar, because the native engine plays it; 0.3 by
    its command template ``put {o} in/on {r}``, because only the stock engine plays it, with the file's own rules.

    Raises:
        GameError: If the grammar has no task sentence, or the dialect is neither 0.4 nor 0.3.
    """
    task = _TASK.search(grammar)
    if task is None:
        raise GameError("the grammar has no task sentence")
    try:
        sentence = str(json.loads(f'"{task[1]}"'))
    except ValueError:
        raise GameError(f"the task sentence {task[1]!r} is not a JSON string") from None
    check_sentence(sentence)
    domain_hash = _sha256(domain)
    grammar_hash = _sha256(grammar[: task.start(1)] + "{TASK}" + grammar[task.end(1) :])
    grammars = _GRAMMARS_OF_DOMAIN.get(domain_hash)
    if grammars is not None and grammar_hash in grammars:
        return Wording(Dialect.V04, sentence)
    if _PUT_TEMPLATE.search(grammar):
        return Wording(Dialect.V03, sentence, _sha256(f"{domain_hash}\n{grammar_hash}"))
    part, found = ("domain", domain_hash) if grammars is None else ("grammar", grammar_hash)
    raise GameError(
        f"the {part} (sha256 {found[:12]}...) is not that of ALFWorld 0.4 or 0.3, so it would play by other "
        f"rules: take the released games (`alfworld-download`) or `holdergym games generate`"
    )


def check_sentence(sentence: str) -> None:
    """Checks that the stock engine shows a task sentence as it is.

    Raises:
        GameError: If it does not start with ``Your task is to: ``, or has a sign that the grammar interprets.
    """
    if not sentence.startswith(_SENTENCE_START):
        raise GameError(f"the task sentence {sentence!r} does not start with {_SENTENCE_START!r}")
    odd = _GRAMMAR_SIGNS.search(sentence)
    if odd:
        raise GameError(
            f"the task sentence {sentence!r} has {odd[0]!r}, which the text grammar would take as a command"
        )


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
