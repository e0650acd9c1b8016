"""The OM container: inverse on random programs, all-or-nothing writes, and a clear refusal of everything else."""

import hashlib
import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.isa.model import (
    Affine,
    Blocks,
    Buffer,
    DType,
    Instr,
    Kernel,
    Opcode,
    Operand,
    Pipe,
    Space,
)
from graph_engine.target_ascend.om import container
from graph_engine.target_ascend.om.program import (
    AicpuCall,
    Copy,
    EntryPoint,
    Launch,
    Location,
    Program,
    Record,
    Segment,
    SourceNode,
    Stream,
    TensorDesc,
    Wait,
)

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
COUNTS = st.integers(0, 2**63 - 1)
LOCATIONS = st.builds(Location, st.sampled_from(Segment), st.integers(0, 9), COUNTS)
DIMS = st.lists(st.integers(-1, 2**40), max_size=5).map(tuple)
TENSORS = st.builds(TensorDesc, NAMES, st.sampled_from(DType), DIMS, NAMES, DIMS, COUNTS, LOCATIONS)
SOURCES = st.builds(SourceNode, NAMES, NAMES, st.lists(NAMES, max_size=2).map(tuple))
SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | NAMES
ATTRIBUTES = st.dictionaries(
    NAMES.filter(lambda name: name != "float"), SCALARS | st.lists(SCALARS, max_size=3), max_size=3
)


def many(values: st.SearchStrategy, most: int = 2) -> st.SearchStrategy[tuple]:
    return st.lists(values, max_size=most).map(tuple)


WORK = {
    "inputs": many(TENSORS),
    "outputs": many(TENSORS),
    "source_nodes": many(SOURCES),
    "macs": COUNTS,
    "layout_bytes": COUNTS,
}
TASKS = st.one_of(
    st.builds(Launch, NAMES, NAMES, st.just("k"), st.integers(1, 32), many(LOCATIONS), **WORK),
    st.builds(AicpuCall, NAMES, NAMES, st.sampled_from(["ge.lrn", "ge.pad"]), ATTRIBUTES, **WORK),
    st.builds(Record, st.integers(0, 9)),
    st.builds(Wait, st.integers(0, 9)),
    st.builds(Copy, NAMES, LOCATIONS, LOCATIONS, COUNTS),
)
STREAMS = st.builds(Stream, NAMES, many(TASKS, 4), st.integers(0, 7))
ALIASES = many(st.tuples(st.integers(0, 3), st.integers(0, 3)))
ENTRIES = st.builds(EntryPoint, NAMES, many(TENSORS), many(TENSORS), many(STREAMS), COUNTS, COUNTS, ALIASES)

OPERAND = Operand(0, DType.F16, Affine(0, ((0, 16),)), (16,), (1,))
KERNEL = Kernel(
    "k",
    1,
    (Buffer("x", Space.GM, 0, 32),),
    (Blocks(0, 1, (Instr(Opcode.VRELU, Pipe.V, (OPERAND, OPERAND)),)),),
    ("rw",),
)
PROGRAMS = st.builds(
    Program,
    NAMES,
    st.just("Ascend310P3"),
    many(ENTRIES),
    st.just({"k": KERNEL}),
    st.binary(max_size=64),
    NAMES,
    ATTRIBUTES,
)

TENSOR = TensorDesc("x", DType.F16, (1, 16), "ND", (1, 16), 32, Location(Segment.INPUT, 0, 0))
LAUNCH = Launch("relu", "Relu", "k", 1, (TENSOR.location,), (TENSOR,), (TENSOR,), (SourceNode("relu", "Relu", ("y",)),))
ENTRY = EntryPoint("main", (TENSOR,), (TENSOR,), (Stream("s0", (LAUNCH,)),), 0, 0)
PROGRAM = Program("m", "Ascend310P3", (ENTRY,), {"k": KERNEL}, bytes(range(256)) * 40)


def same(loaded: Program, program: Program) -> bool:
    weights = bytes(loaded.weights[0 : len(loaded.weights)])
    loaded.weights = weights
    return loaded == program


@pytest.fixture
def om(tmp_path: Path) -> Path:
    path = tmp_path / "m.om"
    container.save(PROGRAM, path)
    return path


@given(PROGRAMS)
@settings(max_examples=80, deadline=None)
def test_load_is_the_inverse_of_save(tmp_path_factory: pytest.TempPathFactory, program: Program) -> None:
    path = tmp_path_factory.mktemp("om", numbered=True) / "p.om"
    container.save(program, path)
    first = path.read_bytes()
    assert same(container.load(path), program)
    container.save(program, path)
    assert path.read_bytes() == first


def test_weights_are_mapped_and_aligned(om: Path) -> None:
    loaded = container.load(om)
    assert isinstance(loaded.weights, memoryview)
    assert loaded.weights.readonly
    sections = container.read_sections(memoryview(om.read_bytes()), om)
    assert sections["WEIGHTS_DATA"].offset % 4096 == 0
    assert sections["WEIGHTS_DATA"].sha256 == hashlib.sha256(bytes(PROGRAM.weights[0:10240])).hexdigest()


def test_weights_are_streamed(tmp_path: Path) -> None:
    """A source larger than any slice that `save` may ask for."""

    class Source:
        longest = 0

        def __len__(self) -> int:
            return 20 << 20

        def __getitem__(self, key: slice, /) -> bytes:
            Source.longest = max(Source.longest, key.stop - key.start)
            return bytes(key.stop - key.start)

    container.save(Program("m", "s", (), {}, Source()), tmp_path / "m.om")
    assert Source.longest <= 4 << 20
    assert len(container.load(tmp_path / "m.om").weights) == 20 << 20


def test_every_truncation_is_refused(om: Path) -> None:
    data = om.read_bytes()
    for length in [*range(0, 700, 7), *range(700, len(data), 997), len(data) - 1]:
        om.write_bytes(data[:length])
        with pytest.raises(GraphEngineError, match="cut short|is empty"):
            container.load(om)


def test_every_changed_byte_that_means_something_is_refused(om: Path) -> None:
    data = om.read_bytes()
    sections = container.read_sections(memoryview(data), om)
    meaning = [*range(96 * (1 + len(sections)))]
    for row in sections.values():
        meaning += range(row.offset, row.offset + row.bytes, max(1, row.bytes // 40))
    for at in meaning:
        changed = bytearray(data)
        changed[at] ^= 0x40
        om.write_bytes(changed)
        with pytest.raises(GraphEngineError):
            container.load(om)


def test_a_section_error_names_the_section(om: Path) -> None:
    data = bytearray(om.read_bytes())
    row = container.read_sections(memoryview(bytes(data)), om)["WEIGHTS_DATA"]
    data[row.offset] ^= 1
    om.write_bytes(data)
    with pytest.raises(GraphEngineError, match=r"section WEIGHTS_DATA does not match its SHA-256"):
        container.load(om)
    container.load(om, verify=False)


def test_longer_file_is_refused(om: Path) -> None:
    with open(om, "ab") as file:
        file.write(b"x")
    with pytest.raises(GraphEngineError, match="damaged"):
        container.load(om)


@pytest.mark.parametrize(
    ("at", "layout", "value", "message"),
    [
        (8, "<I", 2, "OM format 2 is newer than format 1"),
        (16, "<Q", 1 << 40, "needs features that this release lacks (bits 0x10000000000)"),
    ],
)
def test_newer_files_are_refused_before_anything_else_is_checked(
    om: Path, at: int, layout: str, value: int, message: str
) -> None:
    data = bytearray(om.read_bytes())
    struct.pack_into(layout, data, at, value)
    om.write_bytes(data)
    with pytest.raises(GraphEngineError, match=re.escape(message)):
        container.load(om)


@pytest.mark.parametrize("content", [b"\x7fELF\x02\x01\x01\0", b"\x08\x07\x12\x04", b"module {\n}\n", b"x"])
def test_foreign_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "f.om"
    path.write_bytes(content)
    with pytest.raises(GraphEngineError, match="is not an OM file: it starts with"):
        container.load(path)


def test_missing_file_and_directory(tmp_path: Path) -> None:
    with pytest.raises(GraphEngineError, match="cannot read .*No such file"):
        container.load(tmp_path / "none.om")
    with pytest.raises(GraphEngineError, match="cannot read"):
        container.load(tmp_path)


def rewrite(om: Path, section: str, content: bytes) -> None:
    """A file whose digests are right but whose `section` has another content."""
    data = om.read_bytes()
    sections = container.read_sections(memoryview(data), om)
    contents = [
        (name, [content if name == section else data[row.offset : row.offset + row.bytes]])
        for name, row in sections.items()
    ]
    with open(om, "wb") as file:
        container._write(file, contents)


@pytest.mark.parametrize(
    ("section", "content", "message"),
    [
        ("MODEL_DEF", b"{}", "inconsistent"),
        ("MODEL_DEF", b"\xff", "inconsistent"),
        ("MODEL_DEF", b"[" * 100_000, "inconsistent"),
        ("TASK_INFO", b'{"entry_points":[]}', "name other entry points"),
        (
            "TASK_INFO",
            b'{"entry_points":[{"name":"main","streams":[{"name":"s","device":0,"tasks":[{"task":"jump"}]}]}]}',
            "unknown task 'jump'",
        ),
        ("TBE_KERNELS", b"", "task 'relu' needs kernel 'k', which is missing"),
        ("TBE_KERNELS", b"garbage garbage garbage", "no item at byte 0"),
        ("TBE_KERNELS", b"GEKI\x01\0\0\0\x04\0\0\0\0\0\0\0kGEKN", "damaged kernel"),
    ],
)
def test_well_digested_nonsense_is_refused(om: Path, section: str, content: bytes, message: str) -> None:
    rewrite(om, section, content)
    with pytest.raises(GraphEngineError, match=re.escape(message)):
        container.load(om)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(om: Path) -> None:
    before = om.read_bytes()

    class Broken:
        def __len__(self) -> int:
            return 1 << 23

        def __getitem__(self, key: slice, /) -> bytes:
            if key.start:
                raise OSError(28, "No space left on device")
            return bytes(key.stop - key.start)

    with pytest.raises(GraphEngineError, match="No space left on device"):
        container.save(Program("m", "s", (), {}, Broken()), om)
    assert om.read_bytes() == before
    assert os.listdir(om.parent) == ["m.om"]


def test_writing_to_a_device_does_not_replace_it(tmp_path: Path) -> None:
    link = tmp_path / "null"
    link.symlink_to(os.devnull)
    container.save(PROGRAM, link)
    assert link.is_char_device()


def test_writing_to_a_directory_or_into_none(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no" / "m.om"):
        with pytest.raises(GraphEngineError, match="cannot write"):
            container.save(PROGRAM, path)


def vendor_om() -> bytes:
    header = bytearray(256)
    struct.pack_into("<4sII", header, 0, b"IMOD", 256, 0x20000000)
    struct.pack_into("<I", header, 76, 4096)
    header[82] = 1
    header[84:92] = b"resnet50"
    struct.pack_into("<II", header, 152, 3, 1)
    header[160:165] = b"1.0\0\0"
    table = struct.pack("<I", 2) + struct.pack("<III", 0, 0, 1000) + struct.pack("<III", 3, 1000, 3096)
    return bytes(header) + table + bytes(4096)


def test_a_vendor_om_is_recognised_and_its_header_printed(tmp_path: Path) -> None:
    path = tmp_path / "v.om"
    path.write_bytes(vendor_om())
    with pytest.raises(GraphEngineError) as caught:
        container.load(path)
    text = str(caught.value)
    for part in (
        "vendor OM",
        "name: resnet50",
        "0x20000000",
        "payload: 4096 bytes",
        "standard",
        "partition TBE_KERNELS: 3096",
    ):
        assert part in text
    path.write_bytes(vendor_om()[:100])
    with pytest.raises(GraphEngineError, match="vendor OM file"):
        container.load(path)


def test_json_sections_are_strict_json(om: Path) -> None:
    attributes = {"min": float("-inf"), "list": [float("inf"), 1]}
    call = AicpuCall("clip", "Clip", "ge.clip", attributes, (TENSOR,), (TENSOR,))
    container.save(Program("m", "s", (EntryPoint("main", (), (), (Stream("s", (call,)),), 0, 0),), {}, b""), om)
    data = om.read_bytes()
    row = container.read_sections(memoryview(data), om)["TASK_INFO"]

    def refuse(name: str) -> None:
        raise AssertionError(name)

    json.loads(data[row.offset : row.offset + row.bytes], parse_constant=refuse)
    (entry,) = container.load(om).entry_points
    assert entry.streams[0].tasks == (call,)
    assert b"ge.clip" in data[container.read_sections(memoryview(data), om)["CUST_AICPU_KERNELS"].offset :][:64]


def test_loading_imports_no_compiler(om: Path) -> None:
    code = (
        "import sys; from graph_engine.target_ascend.om.container import load; load(sys.argv[1]);"
        "print([m for m in ('xdsl', 'onnx', 'numpy', 'yaml') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(om)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
