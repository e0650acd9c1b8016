"""Input shapes that the user gives: `name:dims;name:dims`, dims separated by commas, -1 for an unknown one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from graph_engine.errors import GraphEngineError


def parse_input_shapes(text: str) -> dict[str, tuple[int, ...]]:
    """`"data:1,3,224,224;mask:1,16"` as a dictionary. A name may hold colons: its dims follow the last one."""
    shapes: dict[str, tuple[int, ...]] = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, colon, dims = part.rpartition(":")
        try:
            shape = tuple(int(dim) for dim in dims.split(",")) if dims.strip() else ()
        except ValueError:
            shape, colon = (), ""
        if not colon or not name or min(shape, default=0) < -1:
            raise GraphEngineError(
                f"input shape '{part}' is not of the form name:dim,dim,... (dims are numbers, -1 = unknown)"
            )
        if name in shapes:
            raise GraphEngineError(f"input '{name}' is given two shapes")
        shapes[name] = shape
    return shapes


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
