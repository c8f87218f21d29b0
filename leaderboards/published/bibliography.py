"""The papers of the tables, methods and benchmarks as BibTeX."""

import tomllib
from functools import cache
from importlib.resources import files

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

# TeX reads these as commands; the rest of what is not ASCII, every BibTeX of today reads as UTF-8.
_SPECIAL = str.maketrans({"&": "\\&", "%": "\\%", "#": "\\#", "_": "\\_", "$": "\\$"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A paper.

    Attributes:
        title: Its title.
        authors: ``Family, Given`` each; ``others`` last stands for more.
        year: Of the venue, or of the first version.
        arxiv: Its number at arXiv.
        venue: Where it appeared besides.
        url: Where it is, without a number at arXiv.
    """

    title: str
    authors: tuple[str, ...]
    year: int
    arxiv: str = ""
    venue: str = ""
    url: str = ""


@cache
def papers() -> dict[str, Paper]:
    """All papers by their short names, which are those of the tables where a paper has tables."""
    text = files(__package__).joinpath("papers.toml").read_text(encoding="utf-8")
    return TypeAdapter(dict[str, Paper]).validate_python(tomllib.loads(text))


def bibliography() -> str:
    """BibTeX with one entry a paper, in alphabetical order of the keys."""
    return "\n".join(_entry(key, paper) for key, paper in sorted(papers().items()))


def _entry(key: str, paper: Paper) -> str:
    kind = "inproceedings" if paper.venue else "misc"
    fields = {"title": f"{{{paper.title}}}", "author": " and ".join(paper.authors), "year": str(paper.year)}
    if paper.venue:
        fields["booktitle"] = paper.venue
    if paper.arxiv:
        fields |= {"eprint": paper.arxiv, "archiveprefix": "arXiv", "url": f"https://arxiv.org/abs/{paper.arxiv}"}
    elif paper.url:
        fields["url"] = paper.url
    lines = [
        f"  {name} = {{{value if name == 'url' else value.translate(_SPECIAL)}}}," for name, value in fields.items()
    ]
    return "\n".join([f"@{kind}{{{key},", *lines, "}", ""])
