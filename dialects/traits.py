"""Traits that operators of several dialects share."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.traits import OpTrait


@dataclass(frozen=True)
class VerifiedByForm(OpTrait):
    """Whether the operator is valid depends on its class, operand types, result types and properties alone.

    Equal forms are verified once; `Operator.form` says what counts of the properties, and what else does. The form of an
    isolated operator is that of all that it holds.
    An operator must not have this trait if its verifier looks at users, at where it stands, at attributes or at a symbol.
    A terminator may look at where it stands: it counts only as a part of what holds it.
    """
