"""Where an operator comes from: the ONNX node's name, type and outputs, kept as MLIR locations.

A node is `loc("conv1"("Conv"("y0, y1")))`: name, operator type, output names, nested because xDSL cannot parse the
metadata of a fused location. What replaces several nodes carries `loc(fused[...])` of them, flat and in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    CallSiteLoc,
    FusedLoc,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute

from graph_engine.dialects.ge.interning import array_attr, string_attr, valid
from graph_engine.target_ascend.om.program import SourceNode

_SEPARATOR = ", "
_ESCAPE = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")


_NOTHING = NoneAttr()


def _escaped(name: str) -> str:
    """xDSL cannot read its own text of names beyond ASCII, so these are kept escaped as in Python."""
    return name if name.isascii() else name.encode("ascii", "backslashreplace").decode()


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[0][2:], 16)), text)


def node_location(name: str, op_type: str, outputs: Sequence[str]) -> NameLoc:
    """The location of the ONNX node called `name`."""
    made = _named(_SEPARATOR.join(outputs), _NOTHING)
    return _named(name, _of_type(string_attr(_escaped(op_type)), made))


def _named(name: str, child: Attribute) -> NameLoc:
    return _of_type(valid(StringAttr, data=_escaped(name)), child)


def _of_type(text: StringAttr, child: Attribute) -> NameLoc:
    return valid(NameLoc, desc=text, location=child)


def _parts(location: Attribute) -> Iterator[LocationAttr]:
    if isinstance(location, FusedLoc):
        for part in cast(ArrayAttr[Attribute], location.locations):
            yield from _parts(part)
    elif not isinstance(location, UnknownLoc):
        yield cast(LocationAttr, location)


def fuse(*locations: Attribute) -> LocationAttr:
    """One location for what replaces operators at `locations`: flat, in order, without repetition."""
    every = [part for location in locations for part in _parts(location)]
    parts = tuple(dict.fromkeys(every)) if len(every) > 1 else tuple(every)
    if not parts:
        return UNKNOWN_LOC
    if len(parts) == 1:
        return parts[0]
    return valid(FusedLoc, locations=array_attr(parts), metadata=_NOTHING)


def _name_and_child(location: Attribute) -> tuple[str, Attribute]:
    if isinstance(location, NameLoc):
        return _unescaped(location.desc.data), location.location
    return "", _NOTHING


def _nodes(locations: Iterable[LocationAttr]) -> Iterator[SourceNode]:
    for location in locations:
        if isinstance(location, CallSiteLoc):
            yield from _nodes(_parts(location.callee))
        elif isinstance(location, NameLoc):
            name, child = _name_and_child(location)
            op_type, child = _name_and_child(child)
            outputs, _ = _name_and_child(child)
            yield SourceNode(name, op_type, tuple(outputs.split(_SEPARATOR)) if outputs else ())


def source_nodes(location: Attribute) -> list[SourceNode]:
    """The ONNX nodes that `location` names, in order; file positions and unknown parts name none."""
    return list(dict.fromkeys(_nodes(_parts(location))))
