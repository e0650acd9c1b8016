"""The chip description: values against published figures, and every way a file can be wrong."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.isa.model import MOVE_PIPES, Space
from graph_engine.target_ascend.isa.specs import SPECS
from graph_engine.target_ascend.soc import soc as soc_module
from graph_engine.target_ascend.soc.soc import available_socs, load_soc

PACKAGE = Path(soc_module.__file__).parent
FILE = PACKAGE / "Ascend310P3.yaml"
FAMILY = PACKAGE / "families" / "dav-2002.yaml"
VECTOR_GROUPS = ("binary", "scalar", "unary", "reduce", "convert", "fill", "transpose")


@pytest.fixture
def chip():
    return load_soc("Ascend310P3")


def test_published_peaks(chip: soc_module.Soc):
    """Derived by hand: 8 cores x 4096 MACs x 2 x 1.06 GHz = 69.5 TFLOPS fp16, twice that in int8; DDR 8 x 21 B/cycle."""
    m, k, n = chip.cube.tile["f16"]
    assert round(chip.cores.aic * 2 * m * k * n * chip.freq_mhz.cube * 1e6 / 1e12, 1) == 69.5
    m, k, n = chip.cube.tile["i8"]
    assert round(chip.cores.aic * 2 * m * k * n * chip.freq_mhz.cube * 1e6 / 1e12, 1) == 138.9
    ddr = chip.path("gm", "l1", "ddr").bytes_per_cycle * chip.cores.aic * chip.freq_mhz.cube * 1e6
    assert round(ddr / 1e12, 3) == 0.178
    assert ddr < chip.ddr.total_bytes_per_s


def test_task_overhead_is_the_sum_of_its_parts(chip: soc_module.Soc):
    assert chip.overheads.kernel_task_us == pytest.approx(2.4)


def test_cube_constants(chip: soc_module.Soc):
    assert chip.cube.tile["f16"] == (16, 16, 16)
    assert chip.cube.fixed_cycles == 6
    assert chip.c0["f16"] == chip.cube.tile["f16"][1]
    assert chip.c0["i8"] == chip.cube.tile["i8"][1]


def test_instruction_set_is_covered(chip: soc_module.Soc):
    """Every move and vector instruction of the instruction set has a path or a cost, on the pipe the set says."""
    for (source, target), pipe in MOVE_PIPES.items():
        if target in (Space.BT, Space.FB):
            continue  # of chips with FixPipe
        for level in ("ddr", "l2"):
            assert chip.path(source.name.lower(), target.name.lower(), level).pipe == pipe.name
    for spec in SPECS.values():
        if spec.group in VECTOR_GROUPS:
            intrinsic = "conv" if spec.group == "convert" else spec.mnemonic  # vconv with any rounding
            repeat, fixed = chip.vector_cost(intrinsic)
            assert repeat > 0
            assert fixed > 0
            assert f"v{intrinsic}" in chip.instructions
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


@pytest.mark.parametrize("name", available_socs())
def test_reports_say_what_times_have_been_compared_with(name: str):
    chip = load_soc(name)
    compared = {"Ascend310P3": "whole networks", "Ascend910B1": "single operators", "Ascend310P1": "extrapolated"}
    assert compared.get(name, "") in chip.trust()
    assert chip.trust().startswith("modelled, not run on a chip; ")


@pytest.mark.parametrize("name", available_socs())
def test_validity_counts_what_is_assumed(name: str):
    """Every assumption names the line that it stands in: marked there, or borrowed from the family it says."""
    chip = load_soc(name)
    assert chip.validity.note().startswith(
        f"{len(chip.validity.assumptions)} of {chip.validity.values} chip values are assumed ("
    )
    for assumption in chip.validity.assumptions:
        file, _, line = assumption.place.rpartition(":")
        text = Path(file).read_text().splitlines()[int(line) - 1]
        assert assumption.key.rpartition(".")[2] in text or "value" in text
        assert "assumed" in text or Path(file).stem == assumption.assumed_from
        assert assumption.source or assumption.reason
    assert "ddr.total_bytes_per_s" in {a.key for a in chip.validity.assumptions} or chip.has("split") or "B4" in name


def test_same_object_for_the_same_file(chip: soc_module.Soc):
    assert load_soc("Ascend310P3") is chip
    assert load_soc(str(FILE)) is chip
    assert len({chip, load_soc(str(FILE))}) == 1


def test_unknown_names():
    assert {"Ascend310", "Ascend310B1", "Ascend310B4", "Ascend310P1", "Ascend310P3", "Ascend910A"} <= set(
        available_socs()
    )
    assert {"Ascend910B1", "Ascend910B2", "Ascend910B3", "Ascend910B4", "Ascend910_9391"} <= set(available_socs())
    assert load_soc("Ascend950PR") is load_soc("Ascend950PR_9599")
    with pytest.raises(GraphEngineError, match="did you mean Ascend310P3"):
        load_soc("ascend310p")
    with pytest.raises(GraphEngineError, match="known: Ascend310, "):
        load_soc("H100")
    with pytest.raises(GraphEngineError, match=r"nowhere\.yaml: no such chip description"):
        load_soc("nowhere.yaml")


BREAKS = {
    "typo": ("  aiv: {", "  aiw: {", "cores.aiw: unknown key; did you mean aiv?"),
    "missing": ("  aicpu: {value: 7", "  # {value: 7", "cores.aicpu: is missing; an integer from 1 to 256"),
    "type": ("  aic: {value: 8", "  aic: {value: eight", "cores.aic: expected an integer, found 'eight'"),
    "float-for-int": ("  aic: {value: 8", "  aic: {value: 8.5", "cores.aic: expected an integer, found '8.5'"),
    "negative": ("  aic: {value: 8", "  aic: {value: -8", "cores.aic: -8 is out of range: 1 to 1024"),
    "zero": ("  aic: {value: 8", "  aic: {value: 0", "cores.aic: 0 is out of range: 1 to 1024"),
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
    "pipe": ("    pipe: {value: MTE1,", "    pipe: {value: MTE9,", "'MTE9' is not one of S, V, M"),
    "level": ("  gm->l1@ddr:", "  gm->l1@dram:", "a path to device memory ends in @l2 or @ddr"),
    "ub-above-l2": ("  ub: {value: 262144", "  ub: {value: 33554432", "33554432 bytes are more than the L2's 16777216"),
    "no-bandwidth": (
        "    bytes_per_cycle: {value: 114",
        "    bytes_per_cycle: {value: 0",
        "paths.gm->l1@l2.bytes_per_cycle: 0 is out of range: 1 to 65536",
    ),
    "ddr-above-l2": (
        "    bytes_per_cycle: {value: 21",
        "    bytes_per_cycle: {value: 999",
        "999 bytes from device memory are more than the 114 from L2",
    ),
    "l2-above-ddr": ("  l2: {value: 16777216", "  l2: {value: 24000000001", "are more than the device memory's"),
    "both": ("value: [coupled]", "value: [coupled, split]", "a chip is either coupled or split"),
    "no-fix": ("value: [coupled]", "value: [coupled, fixpipe]", "there is a pipe FIX where, and only where"),
    "behaviour": ("value: [coupled]", "value: [joined]", "'joined' is not one of coupled, split, fixpipe, direct"),
    "cube-type": ("    i4: {value: [16", "    i5: {value: [16", "i4 is missing, which instructions.mmad multiplies"),
    "c0": (
        "  f16: {value: 16, source: docs81}",
        "  f16: {value: 8, source: docs81}",
        "8 is not the Cube's K of f16, 16",
    ),
    "img2col": (
        "  slowed: {}",
        '  slowed: {several_tap: {value: 2, assumed: "a name that is wrong"}}',
        "load3d.slowed: has several_taps and least, or nothing; found several_tap",
    ),
    "extends": ("extends: dav-2002", "extends: dav-2020", "no chip or family is called 'dav-2020'; did you mean dav-2"),
    "borrows": ("cube.fixed_cycles, ", "cube.fixed_cycle, ", "borrows: dav-2201 has no cube.fixed_cycle"),
    "syntax": ("  aic: {value: 8, source: rt}", "  aic: {value: 8, source: rt", ":"),
}


def copied(folder: Path) -> dict[str, Path]:
    """The chip's and its family's file in another folder; the family is found beside the chip."""
    files = {"chip": folder / "chip.yaml", "family": folder / "dav-2002.yaml"}
    for name, source in (("chip", FILE), ("family", FAMILY)):
        files[name].write_text(source.read_text())
    return files


@pytest.mark.parametrize("case", BREAKS)
def test_wrong_files_are_refused_with_their_line(case: str, tmp_path: Path):
    before, after, message = BREAKS[case]
    files = copied(tmp_path)
    broken = next(file for file in files.values() if before in file.read_text())
    text = broken.read_text()
    line = text[: text.index(before)].count("\n") + 1
    broken.write_text(text.replace(before, after, 1))
    with pytest.raises(GraphEngineError) as caught:
        load_soc(str(files["chip"]))
    told = next(line for line in str(caught.value).splitlines() if message in line)
    reported = int(told.removeprefix(f"{broken}:").partition(":")[0])
    assert abs(reported - line) <= 4


def test_all_problems_are_told_at_once(tmp_path: Path):
    files = copied(tmp_path)
    text = FILE.read_text().replace("aic: {value: 8", "aic: {value: 0").replace("  aiv: {", "  aiw: {")
    files["chip"].write_text(text)
    family = FAMILY.read_text().replace("repeat_bytes: {value: 256", "repeat_bytes: {value: fast")
    files["family"].write_text(family)
    with pytest.raises(GraphEngineError) as caught:
        load_soc(str(files["chip"]))
    told = str(caught.value).splitlines()
    assert len(told) == 4
    for key in ("cores.aic: 0 is out", "cores.aiw: unknown", "cores.aiv: is missing", "vector.repeat_bytes: expected"):
        assert any(key in line for line in told)


def test_a_what_if_chip_is_a_few_lines(tmp_path: Path, chip: soc_module.Soc):
    """A file that extends a chip of the package needs no more than what it changes."""
    file = tmp_path / "wide.yaml"
    file.write_text(
        "extends: Ascend310P3\nname: {value: Wide, assumed: what if}\nbuffers:\n  l1: {value: 2097152, assumed: what if}\n"
        "sources: {}\n"
    )
    wide = load_soc(str(file))
    assert (wide.name, wide.buffers["l1"]) == ("Wide", 2097152)
    assert (wide.buffers["ub"], wide.cube, wide.paths) == (chip.buffers["ub"], chip.cube, chip.paths)
    assert len(wide.validity.assumptions) == len(chip.validity.assumptions) + 2


def test_a_file_cannot_extend_itself(tmp_path: Path):
    (tmp_path / "a.yaml").write_text("extends: b\n")
    (tmp_path / "b.yaml").write_text("extends: a\n")
    with pytest.raises(GraphEngineError, match="extends itself"):
        load_soc(str(tmp_path / "a.yaml"))


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


PUBLISHED_PEAKS = {
    "Ascend310": (11.1, 22.3),
    "Ascend310B1": (10.0, 20.1),
    "Ascend310B4": (4.1, 8.2),
    "Ascend310P1": (86.8, 173.7),
    "Ascend910A": (262.1, 524.3),
    "Ascend910B1": (363.7, 727.4),
    "Ascend910B2": (353.9, 707.8),
    "Ascend910B3": (294.9, 589.8),
    "Ascend910B4": (245.8, 491.5),
    "Ascend910_9391": (363.7, 727.4),
    "Ascend950PR_9599": (530.8, 1061.7),
}
"""TFLOPS fp16 and TOPS int8: cores x 2 x tile x clock, by hand from the published configuration."""


@pytest.mark.parametrize("name", PUBLISHED_PEAKS)
def test_peaks_of_every_chip(name: str):
    soc = load_soc(name)
    peaks = [
        soc.cores.aic * 2 * m * k * n * soc.freq_mhz.cube * 1e6 / 1e12
        for m, k, n in (soc.cube.tile["f16"], soc.cube.tile["i8"])
    ]
    assert peaks == pytest.approx(PUBLISHED_PEAKS[name], abs=0.06)


CODE = ("dialects", "frontend_onnx", "lowering", "pipelines", "planning", "target_ascend", "tools", "transforms")


def test_no_code_compares_the_name_or_the_family_of_a_chip():
    """Behaviour comes from values and named behaviours: `name`, `short_name` and `family` are read for texts alone."""
    root, found = PACKAGE.parents[1], list[str]()
    for file in (file for folder in CODE for file in (root / folder).rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare):
                parts = [node.left, *node.comparators]
                names = [p.value for c in parts for p in ast.walk(c) if isinstance(p, ast.Constant)]
                fields = [p.attr for c in parts for p in ast.walk(c) if isinstance(p, ast.Attribute)]
                if any(isinstance(n, str) and re.match(r"(Ascend|dav-)\w", n) for n in names) or {
                    "short_name", "npu_arch", "aic_version"
                } & set(fields):  # fmt: skip
                    found.append(f"{file}:{node.lineno}")
            if isinstance(node, ast.match_case | ast.Dict):
                keys = node.keys if isinstance(node, ast.Dict) else [node.pattern]
                texts = [p.value for k in keys if k for p in ast.walk(k) if isinstance(p, ast.Constant)]
                if any(isinstance(t, str) and re.match(r"(Ascend|dav-)\d", t) for t in texts):
                    found.append(f"{file}:{node.pattern if isinstance(node, ast.match_case) else node.lineno}")
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "startswith":
                texts = [p.value for a in node.args for p in ast.walk(a) if isinstance(p, ast.Constant)]
                if any(isinstance(t, str) and re.match(r"(Ascend|dav-)", t) for t in texts):
                    found.append(f"{file}:{node.lineno}")
    assert not found
