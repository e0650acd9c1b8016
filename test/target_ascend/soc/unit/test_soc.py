"""The chip description: values against published figures, and every way a file can be wrong."""

import subprocess
import sys
from pathlib import Path

import pytest

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.isa.model import MOVE_PIPES, SPECS, Space
from graph_engine.target_ascend.soc import soc as soc_module
from graph_engine.target_ascend.soc.soc import available_socs, load_soc

FILE = Path(soc_module.__file__).parent / "Ascend310P3.yaml"
VECTOR_GROUPS = ("binary", "scalar", "unary", "reduce", "convert", "fill", "transpose")


@pytest.fixture
def chip():
    return load_soc("Ascend310P3")


def test_published_peaks(chip: soc_module.Soc):
    """Derived by hand: 8 cores x 4096 MACs x 2 x 1.06 GHz = 69.5 TFLOPS fp16, twice that in int8; DDR 8 x 17 B/cycle."""
    m, k, n = chip.cube.tile["f16"]
    assert round(chip.cores.aic * 2 * m * k * n * chip.freq_mhz.cube * 1e6 / 1e12, 1) == 69.5
    m, k, n = chip.cube.tile["i8"]
    assert round(chip.cores.aic * 2 * m * k * n * chip.freq_mhz.cube * 1e6 / 1e12, 1) == 138.9
    ddr = chip.path("gm", "l1", "ddr").bytes_per_cycle * chip.cores.aic * chip.freq_mhz.cube * 1e6
    assert round(ddr / 1e12, 3) == 0.144
    assert ddr < chip.ddr.total_bytes_per_s


def test_task_overhead_is_the_sum_of_its_parts(chip: soc_module.Soc):
    assert chip.overheads.kernel_task_us == pytest.approx(1.7)


def test_cube_constants(chip: soc_module.Soc):
    assert chip.cube.tile["f16"] == (16, 16, 16)
    assert chip.cube.fixed_cycles == 6
    assert chip.c0["f16"] == chip.cube.tile["f16"][1]
    assert chip.c0["i8"] == chip.cube.tile["i8"][1]


def test_instruction_set_is_covered(chip: soc_module.Soc):
    """Every move and vector instruction of the instruction set has a path or a cost, on the pipe the set says."""
    for (source, target), pipe in MOVE_PIPES.items():
        for level in ("ddr", "l2"):
            assert chip.path(source.name.lower(), target.name.lower(), level).pipe == pipe.name
    for spec in SPECS.values():
        if spec.group in VECTOR_GROUPS:
            repeat, fixed = chip.vector_cost(spec.mnemonic)
            assert repeat > 0
            assert fixed > 0
            assert f"v{spec.mnemonic}" in chip.instructions
    for space in Space:
        if space not in (Space.BT, Space.FB):
            assert chip.alignment[space.name.lower()] >= 1


def test_supported_types(chip: soc_module.Soc):
    assert chip.supports("exp", "f16")
    assert chip.supports("add", "i32")
    assert not chip.supports("exp", "i32")
    assert not chip.supports("bogus", "f16")
    assert chip.supports("conv", "f32 -> f16")
    assert chip.supports_mmad("f16", "f16", "f32")
    assert not chip.supports_mmad("f32", "f32", "f32")


def test_missing_ways_are_named(chip: soc_module.Soc):
    with pytest.raises(GraphEngineError, match="has no way l0c->gm@ddr"):
        chip.path("l0c", "gm")
    with pytest.raises(GraphEngineError, match="gives no cost for vbogus"):
        chip.vector_cost("bogus")


def test_validity_counts_what_is_assumed(chip: soc_module.Soc):
    text = FILE.read_text()
    leaves = [line for line in text.splitlines() if "value:" in line and not line.startswith("#")]
    assert chip.validity.values == len(leaves)
    assert len(chip.validity.assumptions) == sum("assumed" in line for line in leaves)
    assert chip.validity.note().startswith(
        f"{len(chip.validity.assumptions)} of {chip.validity.values} chip values are assumed ("
    )
    for assumption in chip.validity.assumptions:
        line = text.splitlines()[assumption.line - 1]
        assert "assumed" in line
        assert assumption.key.rpartition(".")[2] in line or "value" in line
    assert {a.key for a in chip.validity.assumptions} >= {"cube.fixed_cycles", "ddr.total_bytes_per_s", "sync.cycles"}


def test_same_object_for_the_same_file(chip: soc_module.Soc):
    assert load_soc("Ascend310P3") is chip
    assert load_soc(str(FILE)) is chip
    assert len({chip, load_soc(str(FILE))}) == 1


def test_unknown_names():
    assert available_socs() == ("Ascend310P3",)
    with pytest.raises(GraphEngineError, match="did you mean Ascend310P3"):
        load_soc("ascend310p")
    with pytest.raises(GraphEngineError, match="known: Ascend310P3"):
        load_soc("H100")
    with pytest.raises(GraphEngineError, match=r"nowhere\.yaml: no such chip description"):
        load_soc("nowhere.yaml")


BREAKS = {
    "typo": ("  aiv: {", "  aiw: {", "cores.aiw: unknown key; did you mean aiv?"),
    "missing": ("  aicpu: {value: 7", "  # {value: 7", "cores.aicpu: is missing"),
    "type": ("  aic: {value: 8", "  aic: {value: eight", "cores.aic: expected an integer, found 'eight'"),
    "float-for-int": ("  aic: {value: 8", "  aic: {value: 8.5", "cores.aic: expected an integer, found '8.5'"),
    "negative": ("  aic: {value: 8", "  aic: {value: -8", "cores.aic: must not be negative, found -8"),
    "zero": ("  aic: {value: 8", "  aic: {value: 0", "cores: must be positive"),
    "bare": ("  aic: {value: 8, source: rt}", "  aic: 8", "cores.aic: a bare value; write {value: ..., source: ...}"),
    "no-source": ("  aic: {value: 8, source: rt}", "  aic: {value: 8}", "cores.aic: has neither a source nor a reason"),
    "foreign-source": (
        "  aic: {value: 8, source: rt}",
        "  aic: {value: 8, source: wiki}",
        "source 'wiki' is not listed",
    ),
    "leaf-key": ("  aic: {value: 8, source: rt}", "  aic: {value: 8, origin: rt}", "unknown key 'origin'"),
    "no-value": ("  aic: {value: 8, source: rt}", "  aic: {source: rt}", "cores.aic: has no value"),
    "twice": ("  aiv: {", "  aic: {", "cores.aic: is given twice"),
    "list": ("f16: {value: [16, 16, 16]", "f16: {value: [16, 16]", "cube.tile.f16: expected 3 values, found 2"),
    "pipe": ("    pipe: {value: MTE1,", "    pipe: {value: MTE9,", "MTE9 is not one of the pipes S, V, M"),
    "level": ("  gm->l1@ddr:", "  gm->l1@dram:", "a path to device memory ends in @l2 or @ddr"),
    "syntax": ("  aic: {value: 8, source: rt}", "  aic: {value: 8, source: rt", ":"),
}


@pytest.mark.parametrize("case", BREAKS)
def test_wrong_files_are_refused_with_their_line(case: str, tmp_path: Path):
    before, after, message = BREAKS[case]
    text = FILE.read_text()
    assert before in text
    line = text[: text.index(before)].count("\n") + 1
    broken = tmp_path / "chip.yaml"
    broken.write_text(text.replace(before, after, 1))
    with pytest.raises(GraphEngineError) as caught:
        load_soc(str(broken))
    assert message in str(caught.value)
    reported = int(str(caught.value).removeprefix(f"{broken}:").partition(":")[0])
    assert abs(reported - line) <= 4


@pytest.mark.parametrize("text", ["", "- 1\n", "name: 3\n", "a: [\n", "\x00"])
def test_files_of_another_kind(text: str, tmp_path: Path):
    broken = tmp_path / "chip.yaml"
    broken.write_text(text)
    with pytest.raises(GraphEngineError, match=r"chip\.yaml"):
        load_soc(str(broken))


def test_a_renamed_chip_behaves_alike(chip: soc_module.Soc, tmp_path: Path):
    """Names carry no behaviour: only the file's values do."""
    other = tmp_path / "other.yaml"
    other.write_text(FILE.read_text().replace("name: {value: Ascend310P3", "name: {value: Mine", 1))
    mine = load_soc(str(other))
    assert mine.name == "Mine"
    assert (mine.cube, mine.vector, mine.paths, mine.c0) == (chip.cube, chip.vector, chip.paths, chip.c0)


def test_module_imports_no_yaml_before_a_chip_is_read():
    code = (
        "import sys, graph_engine.target_ascend.soc.soc as s; assert 'yaml' not in sys.modules;"
        "s.load_soc('Ascend310P3'); assert not {'xdsl', 'onnx', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
