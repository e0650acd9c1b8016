"""Questions about chips that differ in some numbers: names, units, ranges, and the chips that they make."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.soc.soc import Soc, available_socs, load_soc
from graph_engine.target_ascend.soc.what_if import ALIASES, change, numbers, parse_changes, write_chip

SOC = load_soc("Ascend310P3")


def changed(text: str, folder: Path, base: str = "Ascend310P3") -> Soc:
    return load_soc(write_chip(base, parse_changes(load_soc(base), text), folder))


def differing(one: Any, other: Any, path: str = "") -> dict[str, Any]:
    """Leaves of two chips that differ, with the value of the second."""
    if dataclasses.is_dataclass(one) and not isinstance(one, type):
        pairs = {f.name: (getattr(one, f.name), getattr(other, f.name)) for f in dataclasses.fields(one)}
        pairs.pop("validity", None)
    elif isinstance(one, dict):
        assert list(one) == list(other)
        pairs = {name: (one[name], other[name]) for name in one}
    else:
        return {} if one == other else {path: other}
    return {k: v for name, (a, b) in pairs.items() for k, v in differing(a, b, f"{path}.{name}".lstrip(".")).items()}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("ub_size=512K", {"buffers.ub": 512 * 1024}),
        ("ub_size=512KiB", {"buffers.ub": 512 * 1024}),
        ("ub_size=2x", {"buffers.ub": 512 * 1024}),
        ("buffers.ub=0.5x", {"buffers.ub": 128 * 1024}),
        ("queue_depth=64", {"sync.queue_depth": 64}),
        ("ddr.total_bytes_per_s=204.8G", {"ddr.total_bytes_per_s": 204.8e9}),
        ("ddr.total_bytes_per_s=204.8GB/s", {"ddr.total_bytes_per_s": 204.8e9}),
        ("frequency=1.59GHz", {"freq_mhz.cube": 1590.0, "freq_mhz.vec": 1500.0}),
        ("l0_bandwidth=1.5x", {"paths.l1->l0a.bytes_per_cycle": 768, "paths.l1->l0b.bytes_per_cycle": 384, "load3d.bytes_per_cycle": 768}),
        ("vector.ops.vadd.per_repeat=1", {"vector.ops.vadd": (1, 24)}),
        ("cores=4,ub_size=128K", {"cores.aic": 4, "cores.aiv": 4, "buffers.ub": 128 * 1024}),
    ],
)  # fmt: skip
def test_the_numbers_that_change(text: str, values: dict[str, Any], tmp_path: Path):
    assert differing(SOC, changed(text, tmp_path)) == values


def test_bandwidth_of_device_memory_is_the_chips_and_the_cores(tmp_path: Path):
    soc = changed("ddr_bandwidth=360GB/s", tmp_path)
    assert soc.ddr.total_bytes_per_s == 360e9
    assert soc.path("gm", "ub", "ddr").bytes_per_cycle == 42
    assert changed("hbm_bandwidth=100x", tmp_path).path("gm", "ub", "ddr").bytes_per_cycle == 114, "no more than its L2"


def test_launch_overhead_is_the_sum_of_its_parts(tmp_path: Path):
    assert changed("launch_overhead=0.85us", tmp_path).overheads.kernel_task_us == pytest.approx(0.85)
    assert changed("launch_overhead=850ns", tmp_path).overheads.kernel_task_us == pytest.approx(0.85)
    assert changed("launch_overhead=2x", tmp_path).overheads.kernel_task_us == pytest.approx(4.8)


def test_what_compiles_again():
    again = [name for name in ALIASES if change(SOC, name, "2x").recompiles]
    assert again == ["l1_size", "ub_size", "l0a_size", "l0b_size", "l0c_size", "cores"]


@pytest.mark.parametrize("soc", available_socs())
def test_every_number_of_every_chip_keeps_its_value_times_one(soc: str, tmp_path: Path):
    text = ",".join(f"{key}=1x" for key in numbers(load_soc(soc)))
    assert differing(load_soc(soc), changed(text, tmp_path, soc)) == {}


def test_a_changed_chip_counts_as_assumed(tmp_path: Path):
    assert [a.key for a in changed("buffers.ub=2x", tmp_path).validity.assumptions if a.reason == "what if"] == [
        "buffers.ub"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hbm_bandwith=2x", "Ascend310P3 has no number 'hbm_bandwith'; did you mean hbm_bandwidth?"),
        ("buffers.ubb=2x", "did you mean buffers.ub?"),
        ("name=2x", "has no number 'name'"),
        ("ub_size", "ub_size: write name=value, as in hbm_bandwidth=2x"),
        ("", "nothing to change: write name=value"),
        ("ub_size=2x,ub_size=3x", "ub_size is given twice"),
        ("ub_size=-1", "expected a factor as in 2x, or a number with one of K, KB"),
        ("ub_size=3Q", "unknown unit 'Q'; expected x (times) with one of K, KB"),
        ("queue_depth=1K", "unknown unit 'K'; expected x (times)"),
        ("queue_depth=0", "sync.queue_depth would be 0, which is out of range: 1 to 65536 (now 32)"),
        ("hbm_bandwidth=1000000x", "out of range: 1000000 to 1e+15 (now 180000000000)"),
        ("ub_size=100", "ub_size=100: buffers.ub: 100 bytes are no multiple of its alignment, 32"),
        ("ub_size=1G", "are more than the L2's"),
        ("paths.gm->ub@ddr.bytes_per_cycle=200", "200 bytes from device memory are more than the 114 from L2"),
    ],
)
def test_wrong_questions(text: str, message: str, tmp_path: Path):
    with pytest.raises(GraphEngineError) as error:
        changed(text, tmp_path)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
