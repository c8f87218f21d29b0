"""How counts are written in messages and tables."""


def counted(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun: ``1 task``, ``134 tasks``, ``3,553 tasks``.

    Args:
        count: How many.
        one: The noun for one.
        many: The noun for any other number; None adds an s.
    """
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"
