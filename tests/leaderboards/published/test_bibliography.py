import re

import pytest
from holdergym.leaderboards.published import TABLES
from holdergym.leaderboards.published.bibliography import bibliography, papers


def parse(text: str) -> dict[str, tuple[str, dict[str, str]]]:
    """A strict reader of BibTeX with braced values: anything else is an error."""
    entries: dict[str, tuple[str, dict[str, str]]] = {}
    position = 0

    def take(pattern: str) -> re.Match[str]:
        nonlocal position
        found = re.compile(pattern, re.DOTALL).match(text, position)
        assert found, f"at {text[position : position + 40]!r}"
        position = found.end()
        return found

    while text[position:].strip():
        head = take(r"\s*@(\w+)\{([A-Za-z0-9:+_-]+),\s*")
        fields: dict[str, str] = {}
        while text[position] != "}":
            name = take(r"([a-z]+) = \{")[1]
            depth, start = 1, position
            while depth:
                depth += {"{": 1, "}": -1}.get(text[position], 0)
                position += 1
            assert name not in fields
            fields[name] = text[start : position - 1]
            take(r",\s*")
        take(r"\}")
        assert head[2] not in entries
        entries[head[2]] = (head[1], fields)
    return entries


def test_it_is_bibtex_with_what_each_kind_of_entry_needs() -> None:
    entries = parse(bibliography())
    assert list(entries) == sorted(papers())
    for key, (kind, fields) in entries.items():
        assert kind in ("misc", "inproceedings"), key
        assert {"title", "author", "year"} <= set(fields), key
        assert ("booktitle" in fields) == (kind == "inproceedings"), key
        assert re.fullmatch(r"\d{4}", fields["year"])
        assert re.fullmatch(r"\d{4}\.\d{5}", fields.get("eprint", "0000.00000"))
        assert fields["title"].startswith("{")  # so that no style changes its capitals
        assert all(author.strip() for author in fields["author"].split(" and "))
        # A number at arXiv begins with its year and month.
        if "eprint" in fields and kind == "misc":
            assert fields["eprint"][:2] == fields["year"][2:], key


def test_an_author_has_a_family_name_and_a_given_one() -> None:
    for key, paper in papers().items():
        assert len(set(paper.authors)) == len(paper.authors), key
        assert "others" not in paper.authors[:-1], key
        for author in paper.authors:
            whole = author == "others" or re.fullmatch(r"\{.+\}", author) or re.fullmatch(r"[^,]+, [^,]+", author)
            assert whole, (key, author)


def test_it_has_every_paper_of_the_tables_and_the_benchmarks() -> None:
    known = set(papers())
    assert {table.paper for table in TABLES} <= known
    assert {"grpo", "dr-grpo", "gspo", "pmpo", "rloo", "reinforce-plus-plus"} <= known
    assert {"alfworld", "math", "math500", "gsm8k", "minerva", "olympiadbench", "aime-amc", "commonsenseqa"} <= known


@pytest.mark.parametrize(
    "text", ["@misc{a,\n  title = {x},\n", "@misc{a,\n  title = x,\n}\n", "rubbish", "@misc{a b,}"]
)
def test_the_check_is_strict(text: str) -> None:
    with pytest.raises((AssertionError, IndexError)):
        parse(text)
