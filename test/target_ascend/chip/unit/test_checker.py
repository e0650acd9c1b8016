"""Checking mode: silent on clean kernels, and one planted fault of each kind is found where it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models.kernel_builder import F16, F32, KernelBuilder, slot

from graph_engine.target_ascend.chip.checker import Checker, Finding
from graph_engine.target_ascend.chip.functional import FunctionalEngine
from graph_engine.target_ascend.chip.memory import GlobalMemory
from graph_engine.target_ascend.isa.model import Affine, DType, Kernel, Opcode, Pipe, Rotate, Space
from graph_engine.target_ascend.om.program import Location, Segment, SourceNode
from graph_engine.target_ascend.soc.soc import load_soc

NODES = (SourceNode("conv1", "Conv"),)
MTE1, MTE2, MTE3, V, M = Pipe.MTE1, Pipe.MTE2, Pipe.MTE3, Pipe.V, Pipe.M


class Bench:
    """Global memory with two inputs, two outputs and a workspace of 64 KiB each, an engine and a checker."""

    def __init__(self, **options: Any) -> None:
        soc = load_soc("Ascend310P3")
        self.gm = GlobalMemory()
        rng = np.random.default_rng(3)
        for i in range(2):
            self.gm.add(Segment.INPUT, i, rng.normal(size=32768).astype(np.float16))
            self.gm.add(Segment.OUTPUT, i, 65536)
        self.gm.add(Segment.WORKSPACE, 0, 65536)
        self.checker = Checker(soc, self.gm, **options)
        self.engine = FunctionalEngine(soc, self.gm, checker=self.checker)
        self.checker.declare_valid(Location(Segment.OUTPUT, 0, 0), 65536)

    def launch(self, kernel: Kernel, *args: tuple[Segment, int, int], task: str = "task0") -> list[Finding]:
        places = args or ((Segment.INPUT, 0, 0), (Segment.OUTPUT, 0, 0))
        self.engine.launch(kernel, tuple(Location(*place) for place in places), None, task, NODES)
        return self.checker.findings


def relu_kernel(
    *,
    drop: str = "",
    block_dim: int = 2,
    trips: int = 4,
    step: int = 512,
    event: int = 0,
    tile: int = 512,
    store: int | None = None,
    load: int | None = None,
    access: str = "w",
) -> Kernel:
    """Double-buffered load, relu, store of 512-element tiles with every flag it needs; `drop` leaves one out."""
    b = KernelBuilder("relu", block_dim)
    x, y = b.arg(block_dim * trips * step * 2, name="x"), b.arg(block_dim * trips * step * 2, access, name="y")
    u = b.alloc(Space.UB, tile * 2, 2, name="u")
    w = b.alloc(Space.UB, tile * 2, 2, name="w")
    turn = Rotate(2, slot(1))

    def flag(kind: str, src: Pipe, dst: Pipe, base: int, rotate: Rotate | None = turn) -> None:
        if f"{kind} {src.name}>{dst.name}" != drop:
            (b.set if kind == "set" else b.wait)(src, dst, base, rotate)

    for version in range(2):
        b.set(V, MTE2, event + version)
        b.set(MTE3, V, event + version)
    offset = slot(1, step) + slot(0, trips * step)
    with b.loop(trips):
        flag("wait", V, MTE2, event)
        b.copy(b.view(u, (load or tile,), rotate=turn), b.view(x, (load or tile,), offset=offset))
        flag("set", MTE2, V, event)
        flag("wait", MTE2, V, event)
        flag("wait", MTE3, V, event)
        b.emit(Opcode.VRELU, b.view(w, (tile,), rotate=turn), b.view(u, (tile,), rotate=turn))
        flag("set", V, MTE2, event)
        flag("set", V, MTE3, event)
        flag("wait", V, MTE3, event)
        b.copy(b.view(y, (store or tile,), offset=offset), b.view(w, (store or tile,), rotate=turn))
        flag("set", MTE3, V, event)
    for version in range(2):
        b.wait(V, MTE2, event + version)
        b.wait(MTE3, V, event + version)
    return b.build()


def test_clean_kernel_is_silent_and_right() -> None:
    bench = Bench()
    assert bench.launch(relu_kernel()) == []
    got = bench.gm.read(Location(Segment.OUTPUT, 0, 0), 8192).view(np.float16)
    x = bench.gm.read(Location(Segment.INPUT, 0, 0), 8192).view(np.float16)
    np.testing.assert_array_equal(got, np.maximum(x, 0))
    assert bench.checker.check_output(Location(Segment.OUTPUT, 0, 0), 8192)
    assert not bench.checker.findings


@pytest.mark.parametrize(
    ("drop", "instruction", "buffer", "other"),
    [
        ("MTE2>V", 9, "u", "instruction 5 (copy) on MTE2"),
        ("V>MTE3", 13, "w", "instruction 9 (relu) on V"),
        ("V>MTE2", 5, "u", "instruction 9 (relu) on V"),
        ("MTE3>V", 9, "w", "instruction 13 (copy) on MTE3"),
    ],
)
def test_missing_flags_are_pipe_races(drop: str, instruction: int, buffer: str, other: str) -> None:
    source, target = drop.split(">")
    clean = relu_kernel()
    # Keep the flags' places, but let them order other pipes than they should.
    kernel = _retarget(clean, Pipe[source], Pipe[target])
    findings = Bench().launch(kernel)
    races = [f for f in findings if f.kind == "pipe-race"]
    assert races
    (race,) = [f for f in races if f.instruction_index == instruction]
    assert (race.kernel, race.buffer, race.task, race.source_nodes) == ("relu", buffer, "task0", NODES)
    assert other in race.message
    assert "relu: instruction" in str(race)
    assert "conv1" in str(race)


def _retarget(kernel: Kernel, source: Pipe, target: Pipe) -> Kernel:
    """The kernel with the flags of one pair of pipes moved to the scalar pipe, where they order nothing."""
    from dataclasses import replace

    from graph_engine.target_ascend.isa.model import Blocks, Instr, Loop, Node

    def change(node: Node) -> Node:
        if isinstance(node, Instr):
            flag = node.opcode in (Opcode.SET_FLAG, Opcode.WAIT_FLAG)
            if flag and (node.params[0].const, node.params[1].const) == (source, target):
                return replace(node, params=(Affine(Pipe.FIX), Affine(Pipe.FIX), node.params[2]))
            return node
        if isinstance(node, Loop):
            return Loop(node.trip, tuple(change(n) for n in node.body))
        return Blocks(node.lo, node.hi, tuple(change(n) for n in node.body))

    return replace(kernel, body=tuple(change(n) for n in kernel.body))


def test_dropped_set_and_wait_are_unmatched() -> None:
    findings = Bench().launch(relu_kernel(drop="set V>MTE3"))
    assert ("unmatched-flag", 11, "wait_flag") in {(f.kind, f.instruction_index, f.mnemonic) for f in findings}
    findings = Bench().launch(relu_kernel(drop="wait MTE2>V"))
    assert ("unmatched-flag", 6, "set_flag") in {(f.kind, f.instruction_index, f.mnemonic) for f in findings}


def test_event_id_beyond_the_chips_range() -> None:
    assert Bench().launch(relu_kernel(event=6)) == []
    findings = Bench().launch(relu_kernel(event=7))
    assert {f.kind for f in findings} == {"event-id"}


def test_barrier_orders_all_pipes() -> None:
    b = KernelBuilder("barrier")
    x, y = b.arg(1024), b.arg(1024, "w")
    u = b.alloc(Space.UB, 1024)
    for step in (
        lambda: b.copy(b.view(u, (512,)), b.view(x, (512,))),
        lambda: b.copy(b.view(y, (512,)), b.view(u, (512,))),
    ):
        step()
        b.barrier()
    assert Bench().launch(b.build()) == []


def test_out_of_range_on_chip_buffer_and_argument() -> None:
    findings = Bench().launch(relu_kernel(load=1024, tile=512, block_dim=1, trips=1))
    assert [(f.kind, f.buffer) for f in findings][:1] == [("out-of-range", "u")]
    findings = Bench().launch(relu_kernel(step=256, trips=2, block_dim=2))
    assert {("out-of-range", "x"), ("out-of-range", "y")} <= {(f.kind, f.buffer) for f in findings}
    bench = Bench()
    findings = bench.launch(relu_kernel(), (Segment.INPUT, 0, 65536 - 4096), (Segment.OUTPUT, 0, 0))
    assert any(f.kind == "out-of-range" and "of input 0, which has 65536" in f.message for f in findings)


def test_out_of_range_space() -> None:
    b = KernelBuilder("leak")
    x = b.arg(64)
    u = b.alloc(Space.UB, 64, address=262144 - 32)
    b.copy(b.view(u, (32,)), b.view(x, (32,)))
    (finding,) = Bench().launch(b.build(), (Segment.INPUT, 0, 0))
    assert finding.kind == "out-of-range"
    assert "UB, which has 262144" in finding.message


def test_alignment() -> None:
    b = KernelBuilder("odd")
    u = b.alloc(Space.UB, 1024)
    b.emit(Opcode.VDUP, b.view(u, (16,), offset=4))
    (finding,) = Bench().launch(b.build(), (Segment.INPUT, 0, 0))
    assert (finding.kind, finding.mnemonic) == ("alignment", "dup")
    assert "byte 8 of UB is no multiple of 32" in finding.message


def test_write_to_a_read_argument() -> None:
    findings = Bench().launch(relu_kernel(access="r"))
    assert {(f.kind, f.buffer, f.instruction_index) for f in findings} == {("read-only", "y", 13)}


def test_block_race_on_overlapping_stores() -> None:
    findings = Bench().launch(relu_kernel(step=512, store=512, block_dim=2, trips=1))
    assert findings == []
    b = KernelBuilder("blocks", 2)
    x, y = b.arg(4096), b.arg(4096, "w", name="y")
    u = b.alloc(Space.UB, 1024)
    b.copy(b.view(u, (512,)), b.view(x, (512,)))
    b.sync(MTE2, MTE3)
    b.copy(b.view(y, (512,), offset=slot(0, 511)), b.view(u, (512,)))
    (finding,) = Bench().launch(b.build())
    assert (finding.kind, finding.instruction_index, finding.buffer) == ("block-race", 3, "y")
    assert "bytes 1022 to 1024 of output 0" in finding.message


def test_block_race_between_load_and_store() -> None:
    b = KernelBuilder("shift", 2)
    x = b.arg(4096, "rw")
    u = b.alloc(Space.UB, 1024)
    b.copy(b.view(u, (512,)), b.view(x, (512,), offset=slot(0, 512)))
    b.sync(MTE2, MTE3)
    b.copy(b.view(x, (512,), offset=slot(0, -512, 512)), b.view(u, (512,)))
    bench = Bench()
    bench.checker.set_valid(Location(Segment.WORKSPACE, 0, 0), 4096)
    findings = bench.launch(b.build(), (Segment.WORKSPACE, 0, 0))
    assert {f.kind for f in findings} == {"block-race"}


def test_pipe_race_through_global_memory() -> None:
    b = KernelBuilder("bounce")
    x, y = b.arg(1024), b.arg(1024, "rw", name="scratch")
    u, v = b.alloc(Space.UB, 1024), b.alloc(Space.UB, 1024)
    b.copy(b.view(u, (512,)), b.view(x, (512,)))
    b.sync(MTE2, MTE3)
    b.copy(b.view(y, (512,)), b.view(u, (512,)))
    b.copy(b.view(v, (512,)), b.view(y, (512,)))
    (finding,) = Bench().launch(b.build())
    assert (finding.kind, finding.instruction_index, finding.buffer) == ("pipe-race", 4, "scratch")
    assert "write of instruction 3 (copy) on MTE3" in finding.message


def test_concurrent_tasks() -> None:
    kernel = relu_kernel()
    first, second = (Segment.INPUT, 0, 0), (Segment.INPUT, 1, 0)
    for after, kinds in (((), {"task-race"}), (("a",), set[str]())):
        bench = Bench()
        bench.checker.begin_task("a", ())
        bench.launch(kernel, first, (Segment.OUTPUT, 0, 0), task="a")
        bench.checker.begin_task("b", after)
        findings = bench.launch(kernel, second, (Segment.OUTPUT, 0, 4096), task="b")
        assert {f.kind for f in findings} == kinds
        for finding in findings:
            assert finding.task == "b"
            assert "bytes 4096 to 8192 of output 0" in finding.message
            assert "concurrent task a writes" in finding.message


def test_transitive_order_of_tasks_and_host_access() -> None:
    bench = Bench()
    out = Location(Segment.OUTPUT, 0, 0)
    bench.checker.begin_task("a", ())
    bench.launch(relu_kernel(), task="a")
    bench.checker.begin_task("b", ["a"])
    bench.checker.begin_task("c", ["b"])
    bench.checker.host_access("c", [(out, 8192)], [])
    assert bench.checker.findings == []
    bench.checker.begin_task("d", ())
    bench.checker.host_access("d", [(out, 64)], [(Location(Segment.OUTPUT, 1, 0), 64)])
    assert [f.kind for f in bench.checker.findings] == ["task-race"]
    bench.checker.host_access("d", [(Location(Segment.WORKSPACE, 0, 0), 64)], [])
    assert [f.kind for f in bench.checker.findings] == ["task-race", "invalid-lane"]


def test_uninitialised_buffer_reaches_the_output() -> None:
    findings = Bench().launch(relu_kernel(load=480))
    assert {(f.kind, f.instruction_index, f.buffer) for f in findings} == {("invalid-lane", 13, "y")}
    bench = Bench()
    bench.checker.declare_valid(Location(Segment.OUTPUT, 0, 0), 65536, np.zeros(65536, np.uint8))
    assert bench.launch(relu_kernel(load=480)) == [], "invalid lanes are fine where nothing is declared"
    got = bench.gm.read(Location(Segment.OUTPUT, 0, 0), 1024).view(np.float16)
    assert np.isnan(got[480:]).all()
    assert not np.isnan(got[:480]).any()


def test_output_never_written() -> None:
    bench = Bench()
    assert bench.launch(relu_kernel(store=480)) == []
    assert not bench.checker.check_output(Location(Segment.OUTPUT, 0, 0), 8192, task_name="task0", source_nodes=NODES)
    (finding,) = bench.checker.findings
    assert (finding.kind, finding.task, finding.source_nodes) == ("invalid-lane", "task0", NODES)
    assert f"{8 * 64} of 8192 bytes" in finding.message


def test_undefined_padding_of_an_input() -> None:
    bench = Bench()
    mask = np.ones((512, 16, 2), np.uint8)
    mask[:, 12:] = 0
    place = Location(Segment.INPUT, 0, 0)
    bench.checker.set_valid(place, 16384, mask.reshape(-1))
    bench.checker.declare_valid(Location(Segment.OUTPUT, 0, 0), 16384, mask.reshape(-1))
    assert bench.launch(relu_kernel()) == [], "padding reaches padding only"
    bench.checker.declare_valid(Location(Segment.OUTPUT, 0, 0), 16384)
    assert {f.kind for f in bench.launch(relu_kernel())} == {"invalid-lane"}


def test_overlapping_placement_is_found_by_the_buffers_names() -> None:
    def kernel() -> Kernel:
        b = KernelBuilder("clobber")
        x, y = b.arg(2048), b.arg(1024, "w")
        u = b.alloc(Space.UB, 1024, address=0, name="u")
        w = b.alloc(Space.UB, 1024, address=512, name="w")
        b.copy(b.view(u, (512,)), b.view(x, (512,)))
        b.copy(b.view(w, (512,)), b.view(x, (512,)))
        b.sync(MTE2, MTE3)
        b.copy(b.view(y, (512,)), b.view(u, (512,)))
        return b.build()

    assert [f.kind for f in Bench().launch(kernel())] == ["invalid-lane"]
    assert Bench(strict_buffers=False).launch(kernel()) == []


def matmul_kernel(m: int = 20) -> Kernel:
    """(32, 32) x (32, 16) of which only `m` rows of the left matrix are loaded."""
    b = KernelBuilder("matmul")
    x, w, y = b.arg(4096, name="x"), b.arg(4096), b.arg(2048, "w", name="y")
    xl, wl = b.alloc(Space.L1, 2048, name="xl"), b.alloc(Space.L1, 1024)
    la, lb, lc = b.alloc(Space.L0A, 2048), b.alloc(Space.L0B, 1024), b.alloc(Space.L0C, 2048)
    ub = b.alloc(Space.UB, 1024)
    # L1 as (k1, m, 16): rows beyond m are never written.
    b.copy(b.view(xl, (2, m, 16), strides=(512, 16, 1)), b.view(x, (2, m, 16), strides=(512, 16, 1)))
    b.copy(b.view(wl, (2, 1, 16, 16)), b.view(w, (2, 1, 16, 16)))
    b.sync(MTE2, MTE1)
    b.emit(
        Opcode.LOAD2D, b.view(la, (2, 2, 16, 16)), b.view(xl, (2, 2, 16, 16), strides=(256, 512, 16, 1)), params=(0,)
    )
    b.emit(Opcode.LOAD2D, b.view(lb, (2, 1, 16, 16)), b.view(wl, (2, 1, 16, 16)), params=(0,))
    b.sync(MTE1, M)
    b.emit(
        Opcode.MMAD,
        b.view(lc, (1, 2, 16, 16), F32),
        b.view(la, (2, 2, 16, 16)),
        b.view(lb, (2, 1, 16, 16)),
        params=(m, 32, 16),
    )
    b.sync(M, V)
    b.emit(Opcode.VCONV, b.view(ub, (32, 16)), b.view(lc, (32, 16), F32))
    b.sync(V, MTE3)
    b.copy(b.view(y, (32, 16)), b.view(ub, (32, 16)))
    return b.build()


ARGS = ((Segment.INPUT, 0, 0), (Segment.INPUT, 1, 0), (Segment.OUTPUT, 0, 0))


def test_cube_keeps_invalid_rows_apart() -> None:
    bench = Bench()
    mask = np.zeros((32, 32), np.uint8)
    mask[:20] = 1
    bench.checker.declare_valid(Location(Segment.OUTPUT, 0, 0), 1024, mask.reshape(-1))
    assert bench.launch(matmul_kernel(), *ARGS) == []
    bench.checker.declare_valid(Location(Segment.OUTPUT, 0, 0), 1024)
    assert [(f.kind, f.buffer) for f in bench.launch(matmul_kernel(), *ARGS)] == [("invalid-lane", "y")]


def test_cube_spreads_an_invalid_column_of_the_reduction() -> None:
    bench = Bench()
    # One undefined lane in the padded K of row 3: only row 3 of the output suffers.
    bench.checker.set_valid(Location(Segment.INPUT, 0, 3 * 32), 2, False)
    mask = np.ones((32, 32), np.uint8)
    mask[3] = mask[20:] = 0
    bench.checker.declare_valid(Location(Segment.OUTPUT, 0, 0), 1024, mask.reshape(-1))
    assert bench.launch(matmul_kernel(), *ARGS) == []
    mask[3] = 1
    bench.checker.declare_valid(Location(Segment.OUTPUT, 0, 0), 1024, mask.reshape(-1))
    assert [f.kind for f in bench.launch(matmul_kernel(), *ARGS)] == ["invalid-lane"]


@pytest.mark.parametrize("c", [16, 12])
def test_img2col_padding_is_valid_zero(c: int) -> None:
    b = KernelBuilder("img2col")
    x, y = b.arg(512), b.arg(9 * 512, "w", name="y")
    xl, la, lb = b.alloc(Space.L1, 512), b.alloc(Space.L0A, 9 * 512), b.alloc(Space.L0B, 9 * 512)
    lc, ub, wl = b.alloc(Space.L0C, 1024), b.alloc(Space.UB, 512), b.alloc(Space.L1, 9 * 512)
    b.copy(b.view(xl, (1, 4, 4, 16)), b.view(x, (1, 4, 4, 16)))
    b.copy(b.view(wl, (256,)), b.view(x, (256,)))
    b.sync(MTE2, MTE1)
    b.emit(
        Opcode.LOAD3D,
        b.view(la, (1, 9, 16, 16)),
        b.view(xl, (1, 4, 4, 16)),
        params=(4, 4, 3, 3, 1, 1, 1, 1, 1, 1, 4, 0, 0),
    )
    b.emit(Opcode.LOAD2D, b.view(lb, (9, 1, 16, 16)), b.view(wl, (9, 1, 16, 16), strides=(0, 0, 16, 1)), params=(0,))
    b.sync(MTE1, M)
    operands = b.view(lc, (1, 1, 16, 16), F32), b.view(la, (1, 9, 16, 16)), b.view(lb, (9, 1, 16, 16))
    b.emit(Opcode.MMAD, *operands, params=(16, 144, 16))
    b.sync(M, V)
    b.emit(Opcode.VCONV, b.view(ub, (256,), F16), b.view(lc, (256,), F32))
    b.sync(V, MTE3)
    b.copy(b.view(y, (256,)), b.view(ub, (256,)))
    bench = Bench()
    mask = np.ones((16, 16, 2), np.uint8)
    mask[:, c:] = 0
    bench.checker.set_valid(Location(Segment.INPUT, 0, 0), 512, mask.reshape(-1))
    findings = bench.launch(b.build())
    assert [f.kind for f in findings] == ([] if c == 16 else ["invalid-lane"])


def test_fresh_tensor_forgets_the_old_one() -> None:
    bench = Bench()
    place = Location(Segment.WORKSPACE, 0, 0)
    bench.launch(relu_kernel(), (Segment.INPUT, 0, 0), (Segment.WORKSPACE, 0, 0), task="a")
    assert bench.checker.check_output(place, 8192)
    bench.checker.fresh(place, 8192)
    assert np.isnan(bench.gm.read(place, 8192).view(np.float16)).all()
    findings = bench.launch(relu_kernel(), (Segment.WORKSPACE, 0, 0), (Segment.OUTPUT, 0, 0), task="b")
    assert [(f.kind, f.task) for f in findings] == [("invalid-lane", "b")]


@pytest.mark.parametrize(
    ("target", "source", "found"),
    [
        ((F16, 0), (F16, 0), False),
        ((F16, 16), (F16, 0), True),
        ((F16, 0), (F16, 16), True),
        ((F16, 0), (F32, 0), False),
        ((F32, 0), (F16, 0), True),
        ((F16, 1024), (F32, 0), True),
        ((F32, 128), (F16, 0), False),
    ],
)
def test_a_result_on_elements_that_are_still_to_be_read(
    target: tuple[DType, int], source: tuple[DType, int], found: bool
) -> None:
    """In place, narrower from the front, or apart; each (element type, first byte in elements) of 64."""
    b = KernelBuilder("in_place")
    u = b.alloc(Space.UB, 4096)
    b.emit(Opcode.VDUP, b.view(u, (2048,)))
    (to, to_at), (of, of_at) = target, source
    count = 1024 if to_at == 1024 else 64
    b.emit(Opcode.VCONV, b.view(u, (count,), to, to_at), b.view(u, (count,), of, of_at))
    kinds = [(f.kind, f.instruction_index) for f in Bench().launch(b.build(), (Segment.INPUT, 0, 0))]
    assert kinds == ([("self-overlap", 1)] if found else [])


def test_padding_holds_what_the_format_promises() -> None:
    bench = Bench()
    place, values = Location(Segment.WORKSPACE, 0, 0), np.arange(8, dtype=np.float16)
    padding = np.array([True, False, False, False] * 2)
    bench.gm.write(place, values)
    bench.checker.check_padding(place, F16, padding, "finite", task_name="conv", buffer="y")
    assert bench.checker.findings == []
    bench.checker.check_padding(place, F16, padding, "zero", task_name="conv", buffer="y")
    (finding,) = bench.checker.findings
    assert (finding.kind, finding.buffer, finding.task) == ("padding", "y", "conv")
    assert "1 of 2 padding lanes are not zero" in finding.message
    values[4] = np.inf
    bench.gm.write(place, values)
    bench.checker.check_padding(place, F16, padding, "finite", task_name="conv", buffer="z")
    assert [f.buffer for f in bench.checker.findings] == ["y", "z"]
