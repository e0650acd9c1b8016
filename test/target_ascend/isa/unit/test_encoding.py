"""The kernel encoding: inverse on random kernels, refuses what it does not understand, matches its document."""

import re
import struct
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.isa.encoding import Decoded, decode_kernel, encode_kernel
from graph_engine.target_ascend.isa.model import (
    FIRST_REGISTER,
    SLOTS,
    Affine,
    Blocks,
    Buffer,
    CoreKind,
    DType,
    Instr,
    Kernel,
    Loop,
    Opcode,
    Operand,
    Pipe,
    Rotate,
    Space,
)
from graph_engine.target_ascend.isa.specs import SPECS

DOCUMENT = Path(__file__).parents[4] / "docs" / "isa.md"

I64 = st.integers(-(2**63), 2**63 - 1)
U32 = st.integers(0, 2**32 - 1)


def affines(depth: int) -> st.SearchStrategy[Affine]:
    slots = st.integers(0, depth) | st.integers(FIRST_REGISTER, SLOTS - 1)
    terms = st.dictionaries(slots, I64.filter(bool), max_size=3)
    return st.builds(lambda const, sums: Affine(const, tuple(sorted(sums.items()))), I64, terms)


def rotations(depth: int) -> st.SearchStrategy[Rotate]:
    return st.builds(Rotate, st.integers(1, 2**16 - 1), affines(depth))


@st.composite
def operands(draw: st.DrawFn, buffers: int, depth: int) -> Operand:
    rank = draw(st.integers(0, 5))
    return Operand(
        draw(st.integers(0, buffers - 1)),
        draw(st.sampled_from(DType)),
        draw(affines(depth)),
        tuple(draw(st.lists(U32, min_size=rank, max_size=rank))),
        tuple(draw(st.lists(I64, min_size=rank, max_size=rank))),
        draw(st.none() | rotations(depth)),
    )


@st.composite
def instructions(draw: st.DrawFn, buffers: int, depth: int) -> Instr:
    opcode = draw(st.sampled_from(Opcode))
    spec = SPECS[opcode]
    return Instr(
        opcode,
        draw(st.sampled_from(Pipe)),
        tuple(draw(operands(buffers, depth)) for _ in range(spec.operands)),
        tuple(draw(affines(depth)) for _ in spec.params),
        draw(st.floats(allow_nan=False)),
        draw(st.none() | st.lists(st.integers(0, depth), max_size=3).map(tuple)),
        draw(st.none() | rotations(depth)),
    )


def bodies(buffers: int, depth: int) -> st.SearchStrategy[tuple]:
    node = instructions(buffers, depth)
    if depth < 3:
        loop = st.builds(Loop, U32, st.deferred(lambda: bodies(buffers, depth + 1)))
        node = node | loop
    return st.lists(node, max_size=3).map(tuple)


@st.composite
def kernels(draw: st.DrawFn) -> Kernel:
    table = draw(
        st.lists(
            st.builds(
                Buffer,
                st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
                st.sampled_from(Space),
                st.integers(0, 2**64 - 1),
                st.integers(0, 2**64 - 1),
                U32,
            ),
            min_size=1,
            max_size=3,
        )
    )
    body = draw(st.lists(st.builds(Blocks, U32, U32, bodies(len(table), 0)), max_size=2))
    return Kernel(
        draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=8)),
        draw(U32),
        tuple(table),
        tuple(body),
        tuple(draw(st.lists(st.sampled_from(["r", "w", "rw"]), max_size=4))),
        draw(st.sampled_from(CoreKind)),
    )


@given(kernels())
@settings(max_examples=60, deadline=None)
def test_decode_is_the_inverse_of_encode(kernel: Kernel) -> None:
    data = encode_kernel(kernel)
    decoded = decode_kernel(data)
    assert decoded == kernel
    assert encode_kernel(decoded) == data


@given(st.lists(kernels(), min_size=2, max_size=4))
@settings(max_examples=30, deadline=None)
def test_kernels_that_share_instructions_are_those_that_do_not(group: list[Kernel]) -> None:
    decoded: Decoded = {}
    assert [decode_kernel(encode_kernel(kernel), decoded) for kernel in [*group, *group]] == [*group, *group]


NO_OFFSET = Affine()


def view(buffer: int, offset: Affine = NO_OFFSET) -> Operand:
    return Operand(buffer, DType.F16, offset, (16,), (1,))


ROW = Affine(0, ((1, 16),))
ADDS = Instr(Opcode.VADDS, Pipe.V, (view(1, ROW), view(1, ROW)), immediate=1.0)
KERNEL = Kernel(
    "add_row",
    2,
    (Buffer("x", Space.GM, 0, 256), Buffer("ub", Space.UB, 0, 256, 2)),
    (Blocks(0, 2, (Loop(8, (ADDS,)),)),),
    ("rw",),
)


def test_size_does_not_depend_on_the_trip_count() -> None:
    longer = Kernel("add_row", 2, KERNEL.buffers, (Blocks(0, 2, (Loop(8_000_000, (ADDS,)),)),), ("rw",))
    assert len(encode_kernel(longer)) == len(encode_kernel(KERNEL))


def test_negative_zero_survives() -> None:
    kernel = Kernel("k", 1, KERNEL.buffers, (Instr(Opcode.VDUP, Pipe.V, (view(1),), immediate=-0.0),))
    (instr,) = decode_kernel(encode_kernel(kernel)).body
    assert isinstance(instr, Instr)
    assert struct.pack("<d", instr.immediate) == struct.pack("<d", -0.0)


@pytest.mark.parametrize("length", range(0, len(encode_kernel(KERNEL)), 3))
def test_every_truncation_is_refused(length: int) -> None:
    with pytest.raises(GraphEngineError, match="damaged kernel at byte"):
        decode_kernel(encode_kernel(KERNEL)[:length])


def test_no_changed_byte_escapes_as_another_exception() -> None:
    data = encode_kernel(KERNEL)
    for at in range(len(data)):
        for value in (0x00, 0x7F, 0xFF):
            changed = bytearray(data)
            changed[at] = value
            with suppress(GraphEngineError):
                decode_kernel(changed)


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (0, 0, "expected b'GEKN'"),
        (4, 2, "newer than 1"),
        (12, 0, "declares"),
        (24 + 7 + 25 + 26 + 1, 0x99, "unknown opcode 0x99"),
    ],
)
def test_header_and_opcode_errors_say_what_is_wrong(at: int, value: int, message: str) -> None:
    data = bytearray(encode_kernel(KERNEL))
    data[at] = value
    with pytest.raises(GraphEngineError, match=re.escape(message)):
        decode_kernel(data)


@pytest.mark.parametrize(
    ("instr", "message"),
    [
        (Instr(Opcode.VADDS, Pipe.V, (view(1),)), "'adds' takes 2 operands"),
        (Instr(Opcode.VADDS, Pipe.V, (view(1), view(2))), "buffer 2 of 2"),
        (Instr(Opcode.VADDS, Pipe.V, (view(1), view(1, Affine(0, ((3, 1),))))), "counter 3 at loop depth 0"),
        (Instr(Opcode.VDUP, Pipe.V, (Operand(1, DType.F16, Affine(2**63), (1,), (1,)),)), "cannot be encoded"),
        (Instr(Opcode.VDUP, Pipe.V, (Operand(1, DType.F16, Affine(), (1, 2), (1,)),)), "2 sizes but 1 strides"),
        (Loop(1, (Blocks(0, 1, ()),)), "blocks below a loop"),
    ],
)
def test_wrong_kernels_are_not_encoded(instr: Instr | Loop, message: str) -> None:
    with pytest.raises(GraphEngineError, match=re.escape(message)):
        encode_kernel(Kernel("k", 1, KERNEL.buffers, (instr,)))


def test_the_example_of_the_document() -> None:
    example = DOCUMENT.read_text().split("## An example")[1]
    written = bytes(int(b, 16) for b in re.findall(r"(?<= )[0-9A-F]{2}(?= |$)", _columns(example), re.M))
    data = encode_kernel(KERNEL)
    start = data.index(written[:8])
    assert data[start : start + len(written)] == written
    assert data[start + len(written) :] == written[-35:]
    assert len(written) + 35 == written[4]


def _columns(text: str) -> str:
    """The byte columns of the indented lines: up to the first run of words."""
    lines = [line for line in text.splitlines() if re.match(r"    [0-9A-F]{2} ", line)]
    return "\n".join(
        " " + match.group(1) for line in lines if (match := re.match(r"    ((?:[0-9A-F]{2} ?)+)(?: |$)", line))
    )


def test_the_document_lists_every_opcode_with_its_parameters() -> None:
    table = DOCUMENT.read_text().split("## Opcodes")[1].split("## An example")[0]
    found: dict[int, tuple[str, int, list[str]]] = {}
    for codes, names, operands_text, params in re.findall(
        r"^\| ([0-9. ]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", table, re.M
    ):
        first = int(codes[:2], 16)
        for index, name in enumerate(names.split()):
            count = 0 if operands_text == "-" else operands_text.count(",") + 1
            listed = [] if params.startswith("-") else [p.strip() for p in params.split(",")]
            found[first + index] = (name, count, listed)
    assert found == {int(op): (spec.mnemonic, spec.operands, list(spec.params)) for op, spec in SPECS.items()}
