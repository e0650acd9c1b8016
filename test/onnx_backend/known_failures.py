"""Cases of the ONNX Backend Test Suite that do not pass, by name or pattern, with the reason.

The lane fails on a case that fails and stands not here, and on one that stands here and passes.
"""

from fnmatch import fnmatchcase

REFERENCE: dict[str, str] = {}
"""Through import, passes and reference."""

CHIP: dict[str, str] = {}
"""Through the modelled chip, of the cases that pass the reference."""


def reason(table: dict[str, str], name: str) -> str | None:
    """Why the case fails, None if it has to pass."""
    if name in table:
        return table[name]
    return next((why for pattern, why in table.items() if fnmatchcase(name, pattern)), None)
