"""What stands in the way of an import: gathered, grouped, told in one message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graph_engine.errors import GraphEngineError

if TYPE_CHECKING:
    from onnx import NodeProto

SHOWN = 20
"""How many nodes of a group, or lines of a list, a message names."""
MALFORMED = (ValueError, IndexError, KeyError, TypeError, ArithmeticError, MemoryError)
"""What converters run into at inputs and attributes that ONNX does not allow; onnx's schema says which."""


def below(head: str, lines: Sequence[str]) -> str:
    """Lines below a head, of many the first."""
    rest = [f"and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    return "\n  ".join([head, *lines[:SHOWN], *rest])


def listed(head: str, problems: Sequence[str]) -> str:
    """Problems as one message: a single one speaks for itself, several stand below `head`."""
    return problems[0] if len(problems) == 1 else below(head, problems)


@dataclass
class Problems:
    """What cannot be imported, gathered so that the user sees all of it at once."""

    unsupported: dict[tuple[str, str], list[str]] = field(default_factory=dict[tuple[str, str], list[str]])
    invalid: list[str] = field(default_factory=list[str])
    inputs: list[str] = field(default_factory=list[str])

    @property
    def count(self) -> int:
        """The number of problems."""
        return len(self.inputs) + len(self.invalid) + sum(map(len, self.unsupported.values()))

    def add(self, op_type: str, reason: str, node: str) -> None:
        """Reports a node that has no form in `ge`; an empty reason: its operator has none at all."""
        self.unsupported.setdefault((op_type, reason), []).append(node)

    def check(self) -> None:
        """Raises GraphEngineError if there is any problem."""
        lines: list[str] = []
        if self.inputs:
            lines += [*self.inputs, "only tensors of numbers are supported"]
        if self.unsupported:
            count = sum(map(len, self.unsupported.values()))
            lines.append(f"{count} node{'s' if count > 1 else ''} of the model cannot be imported:")
            for (op_type, reason), nodes in sorted(self.unsupported.items()):
                more = f" and {len(nodes) - SHOWN} more" if len(nodes) > SHOWN else ""
                why = f", {reason}" if reason else ""
                lines.append(f"  {op_type}{why} ({len(nodes)}): {', '.join(nodes[:SHOWN])}{more}")
            if any(not reason for _, reason in self.unsupported):
                lines.append("replace operators that docs/onnx_operators.md does not list by those that it lists")
        if self.invalid:
            lines.append(below("operands do not fit:", self.invalid))
        if lines:
            raise GraphEngineError("\n".join(lines))


def fault(proto: NodeProto, opset: int, error: Exception) -> str:
    """What is wrong with a node, by onnx's schema of its operator or else by the error that it led to."""
    from onnx.checker import C, ValidationError, check_node  # pyright: ignore[reportPrivateImportUsage]

    context = C.CheckerContext()
    context.ir_version = 8
    context.opset_imports = {"": opset, proto.domain: opset}
    try:
        check_node(proto, context)
    except (ValidationError, UnicodeDecodeError, ValueError) as broken:
        lines = str(broken).strip().splitlines()
        return lines[0] if lines else "it does not match its operator"
    return f"its inputs or attributes do not fit the operator ({type(error).__name__}: {error})"


def qualified(proto: NodeProto) -> str:
    """The operator type, with its domain unless that is ONNX's own."""
    return proto.op_type if proto.domain in ("", "ai.onnx") else f"{proto.domain}:{proto.op_type}"
