"""Traits that operators of several dialects share."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.traits import OpTrait


@dataclass(frozen=True)
class VerifiedByForm(OpTrait):
    """Whether the operator is valid depends on its class, operand types, result types and properties alone.

    Equal forms are verified once. An operator must not have this trait if its verifier looks at what defines an operand,
    at users, at where it stands, at attributes or at a symbol.
    """
