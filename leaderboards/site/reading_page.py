"""The page that says how the numbers are made and what they do not say."""

from collections.abc import Sequence

from ...eval.bootstrap import FEW
from ...eval.compare import ALPHA
from ...eval.metrics import FAILURE_RULE_TEXT
from .markup import safe
from .shell import page
from .standings import RULE

PATH = "reading.html"


def reading_page(extra: Sequence[tuple[str, str]]) -> str:
    """Makes the page."""
    parts = (
        (
            "Which runs stand in one ranking",
            "Those that played the very same tasks (by the panel's hash), in the same wording, on the same engine, "
            "with the "
            "same limit of steps and, in mathematics, the same grading. Two language models that were told other "
            "things, "
            "by another prompt or history, stand in one ranking and are not tested against each other; agents that are "
            "told nothing are tested against both.",
        ),
        ("How ranks are made", RULE),
        (
            "What a rank does not say",
            f"Cannot be told apart is not the same as equal: with few tasks, large differences go unseen "
            "(`holdergym power` says how large). Ranks depend on which runs are on the page, since Holm's correction "
            f"counts all pairs; one false claim among all of them has a chance below {ALPHA:.0%}. Filters hide rows "
            "and "
            "change no rank. Runs with other numbers of samples are compared by their rates per task.",
        ),
        (
            "Intervals",
            "They are 95% intervals: Wilson's where each task was played once, else a bootstrap of whole tasks, "
            "because "
            f"samples of one task are alike; where fewer than {FEW} tasks have a success, or a failure, Wilson's with "
            "each "
            "task as one attempt. Whether two runs differ is for the paired tests: two intervals that overlap may "
            "belong "
            "to runs that can be told apart.",
        ),
        ("Failed episodes", FAILURE_RULE_TEXT[:1].upper() + FAILURE_RULE_TEXT[1:] + "."),
        (
            "Curves",
            "Success against steps, and against tokens, counts the episodes that were won within a budget, of all "
            "that were "
            "finished. A model that stops early and one that needs long can reach the same rate by other ways. Tokens "
            "are "
            "those that a model said; what it read is in the table of tokens.",
        ),
        (
            "What this site can vouch for",
            "Every number was computed from the episodes when the site was built; summaries in run folders are not "
            "read. "
            "Episodes that contradict their turns, their seed or the panel's hash are refused. What happened outside "
            "of the "
            "folder cannot be seen: which of many runs was handed in, or whether a model was trained on the tasks.",
        ),
    )
    body = "<h1>How to read it</h1>\n" + "\n".join(
        f'<h2>{safe(title)}</h2>\n<p class="lead">{safe(text)}</p>' for title, text in parts
    )
    return page("How to read it", body, at=PATH, extra=extra)
