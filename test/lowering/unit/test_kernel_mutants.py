"""Faults planted in lowered kernels are seen by checking mode or by the numbers; a slice of bench/mutate_kernels.py."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from harness.kernel_mutants import KINDS, Mutant, drop_flag, mutants, nodes, with_nodes
from harness.mutation import CASES, CHECKED, ESCAPED, REFUSED, Subject, tight_chip
from harness.schedules import SCHEDULES

from graph_engine.target_ascend.isa.model import CoreKind

SLICE = [
    ("softmax", "Ascend310P3", 2),
    ("product", "Ascend910B3", 1),
    ("gathering", "Ascend310B1", 2),
    ("quantised", "Ascend910B3", 1),
]
"""Case, family, places a fault and kernel."""


@pytest.fixture(scope="module")
def chips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("chips")


@pytest.mark.parametrize(("case", "soc", "most"), SLICE)
def test_no_fault_escapes(case: str, soc: str, most: int, chips: Path) -> None:
    subject = Subject(*CASES[case](), tight_chip(soc, chips))
    seen: list[str] = []
    for name, kernel in subject.kernels.items():
        for kind, planted in KINDS.items():
            found = list(planted(kernel))
            for place, faulty in Random(f"{name} {kind}").sample(found, min(most, len(found))):
                verdict = subject.judge(Mutant(kind, place, faulty))
                assert verdict.name != ESCAPED, f"{name}: {kind} at {place}: {verdict.reason}"
                seen.append(verdict.name)
    assert seen.count(CHECKED) > len(seen) / 3


def test_no_fault_of_flags_between_cores_escapes(chips: Path) -> None:
    """A convolution whose residual two Vector cores add: without a flag its cores wait for ever, or race."""
    subject = Subject(*CASES["convolution"](), tight_chip("Ascend910B3", chips))
    (kernel,) = (kernel for kernel in subject.kernels.values() if kernel.core_kind is CoreKind.MIXED)
    for kind in ("drop_cross_flag", "wrong_cross_flag"):
        found = list(KINDS[kind](kernel))
        assert found
        for place, faulty in Random(kind).sample(found, min(6, len(found))):
            verdict = subject.judge(Mutant(kind, place, faulty))
            assert verdict.name in (CHECKED, REFUSED), f"{kind} at {place}: {verdict}"


def test_a_missing_flag_shows_in_an_adversarial_order_that_program_order_hides(chips: Path) -> None:
    """The judge of what escapes sees what the checker sees, without it."""
    subject = Subject(*CASES["softmax"](), tight_chip("Ascend310P3", chips))
    name = next(name for name in subject.kernels if name.startswith("softmax"))
    kernel = subject.kernels[name]
    planted = list(drop_flag(kernel))
    assert len(planted) > 1
    for place, faulty in planted:
        program = subject.program_with(faulty)
        assert subject.judge(Mutant("drop_flag", place, faulty)).name == CHECKED, place
        assert any(not subject.same(subject.run(program, schedule)[0]) for schedule in SCHEDULES), place


def test_mutants_are_other_kernels_and_nodes_keep_their_numbers(chips: Path) -> None:
    kernel = next(iter(Subject(*CASES["gathering"](), tight_chip("Ascend310P3", chips)).kernels.values()))
    assert with_nodes(kernel, {}) == kernel
    assert len(nodes(with_nodes(kernel, {1: ()}))) < len(nodes(kernel))
    assert all(mutant.kernel != kernel for mutant in mutants(kernel))
