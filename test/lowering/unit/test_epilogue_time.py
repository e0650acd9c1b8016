"""What the fusing passes believe of an operator's instructions is what its kernel emits, and their choice pays."""

from collections import defaultdict
from typing import Any

import pytest

from graph_engine.lowering.kernels.vector_steps import STEPS
from graph_engine.transforms.epilogue_time import SEQUENCES


class Listing:
    """A kernel builder that only writes mnemonics down."""

    def __init__(self) -> None:
        self.mnemonics: list[str] = []

    def vec(self, mnemonic: str, *operands: Any, **options: Any) -> None:
        self.mnemonics.append(mnemonic)


@pytest.mark.parametrize("key", SEQUENCES)
def test_sequences_are_those_of_the_kernels(key: str) -> None:
    name, *tanh = key.split()
    attributes: dict[str, float] = defaultdict(lambda: 1.0, {"tanh": float(bool(tanh))})
    spec, listing = STEPS[name], Listing()
    count = spec.temporaries(attributes)
    operands: list[Any] = [None] * (1 + count)
    spec.emit(listing, None, operands, attributes)  # type: ignore[arg-type]
    assert (" ".join(listing.mnemonics), count) == SEQUENCES[key]


def test_no_sequence_is_missing() -> None:
    """Operators of one operand with more than one instruction; a clip's two start like one."""
    several: set[str] = set()
    for name, spec in STEPS.items():
        attributes: dict[str, float] = defaultdict(float)
        listing = Listing()
        try:
            spec.emit(listing, None, [None] * (1 + spec.temporaries(attributes)), attributes)  # type: ignore
        except (IndexError, ValueError, AttributeError):
            continue  # it has two operands, or is no sequence
        if len(listing.mnemonics) > 2:
            several.add(name)
    assert several <= set(SEQUENCES)
