"""Input shapes that the user gives in place of the declared ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from graph_engine.errors import GraphEngineError


def check_input_shapes(given: Mapping[str, Sequence[int]], declared: Mapping[str, Sequence[int] | None]) -> None:
    """Raises GraphEngineError for a shape of an input that the model lacks, or of another rank than declared."""
    problems: list[str] = []
    for name, shape in given.items():
        if name not in declared:
            near = get_close_matches(name, declared, 1)
            hint = f"did you mean '{near[0]}'?" if near else f"the model has {', '.join(map(repr, declared)) or 'none'}"
            problems.append(f"the model has no input '{name}'; {hint}")
        elif (own := declared[name]) is not None and len(own) != len(shape):
            problems.append(f"input '{name}' has rank {len(own)}, the given shape {list(shape)} has rank {len(shape)}")
        elif any(dim < -1 for dim in shape):
            problems.append(f"input '{name}' is given shape {list(shape)}; dims are 0 or more, or -1 if unknown")
    if problems:
        raise GraphEngineError(
            "\n  ".join(["input shapes do not fit the model:", *problems] if problems[1:] else problems)
        )
