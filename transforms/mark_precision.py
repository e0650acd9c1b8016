"""Mark the operators that stay in fp32, as the precision mode and the user's lists say, for `force-fp16` to obey.

    %y = ge.softmax %x : ...   // from node "attention/softmax", mark-precision{keep_dtype_nodes=attention/softmax}
    // becomes
    %y = ge.softmax %x {ge.precision = "fp32"} : ...

A mark that is there already is obeyed and not changed. Nodes are found through the locations of operators, which fusion
joins: a kernel with one kept node stays whole in fp32, and a remark names the others. In the mixed mode a kernel
that holds operators of the white and of the black list is split.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block, Operation

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import GeOp, Trait, element_of
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.locations import source_nodes
from graph_engine.dialects.ge.precision import FP32, precision_of, set_precision
from graph_engine.errors import GraphEngineError
from graph_engine.transforms.driver import RewriteContext
from graph_engine.transforms.force_fp16 import needs_halving, stays
from graph_engine.transforms.fusion import graphs, scatter
from graph_engine.transforms.pass_base import EXACT, GePass
from graph_engine.transforms.precision_modes import (
    CUBE_ONLY,
    FORCE_FP16,
    MIXED,
    MODES,
    ORIGIN,
    Mixlist,
    check_precision_options,
    mode_named,
    read_keep_dtype,
    read_mixlist,
)
from graph_engine.transforms.remarks import analysis

BLACK = frozenset(
    "ge." + name
    for name in (
        *("exp", "log", "pow", "softplus"),  # steep: small errors of the operand grow, large results overflow
        *("reduce_sum", "reduce_mean", "reduce_prod", "reduce_sum_square", "reduce_l2", "reduce_log_sum_exp"),
        *("cum_sum", "cum_prod", "layer_norm", "rms_norm", "group_norm"),  # sums of many terms
    )
)
"""The black list of the mixed mode; the white list holds the operators of the Cube, the gray list all others."""


def kept_nodes(module: ModuleOp, names: Sequence[str], types: Sequence[str]) -> set[str]:
    """The names of all nodes to keep. Raises GraphEngineError with all names and types that no operator has."""
    if not names and not types:
        return set()
    found = {node.name: node.op_type for op in module.walk() for node in source_nodes(op.location)}
    wrong = _wrong("node", names, found) + _wrong("operator type", types, set(found.values()))
    if wrong:
        raise GraphEngineError(f"keep-dtype: {'; '.join(wrong)} (a node that folding removed has no operator any more)")
    return {name for name, op_type in found.items() if name in names or op_type in types}


def _wrong(what: str, names: Iterable[str], known: Iterable[str]) -> list[str]:
    known = list(known)
    wrong: list[str] = []
    for name in dict.fromkeys(names):
        if name not in known:
            close = get_close_matches(name, known, n=1)
            wrong.append(f"no {what} is called '{name}'" + (f", did you mean '{close[0]}'?" if close else ""))
    return wrong


def check_operators(names: Sequence[str], module: ModuleOp, path: str) -> None:
    """Raises GraphEngineError for names in a mixlist that neither ONNX, the model nor `ge` knows."""
    if not names:
        return
    from onnx import defs

    from graph_engine.dialects.ge.dialect import GE

    known = {node.op_type for op in module.walk() for node in source_nodes(op.location)}
    known |= {schema.name for schema in defs.get_all_schemas()} | {op.name for op in GE.operations}
    if wrong := _wrong("operator", names, known):
        raise GraphEngineError(f"{path}: {'; '.join(wrong)}")


@dataclass(frozen=True)
class _Lists:
    """Which list an operator is in, as a user changed them: by its own name and the ONNX types that it came from."""

    changes: Mixlist

    def of(self, op: Operation) -> str:
        """`black-list`, `white-list` or `gray-list` of one operator."""
        names = {op.name} | {node.op_type for node in source_nodes(op.location)}
        for name, operators in self.changes.add.items():
            if operators & names:
                return name
        heavy = isinstance(op, GeOp) and op.has(Trait.HEAVY)
        default = "white-list" if heavy else "black-list" if op.name in BLACK else "gray-list"
        return "gray-list" if self.changes.remove.get(default, frozenset()) & names else default

    def within(self, op: Operation) -> set[str]:
        """The lists of all operators of a kernel."""
        return {self.of(inner) for inner in op.block.ops} if isinstance(op, FusedOp) else {self.of(op)}


def mark_mixed(block: Block, lists: _Lists) -> None:
    """Black list and what follows it in fp32; what follows the white list is left to be rounded."""
    context = RewriteContext.current()
    for op in tuple(block.ops):
        if isinstance(op, FusedOp) and precision_of(op) is None and {"white-list", "black-list"} <= lists.within(op):
            with context.rewrite("split-kernel", [op]) as rewriter:
                scatter(rewriter, op)
    halved: set[Operation] = set()
    for op in block.ops:
        if not needs_halving(op):
            continue
        if precision_of(op) is None:
            within = lists.within(op)
            producers = [
                value.owner
                for index, value in enumerate(op.operands)
                if element_of(value) == f32 and not stays(op, index) and not isinstance(value.owner, ConstantOp)
            ]
            follows = bool(producers) and all(producer in halved for producer in producers)
            if "black-list" in within or not ("white-list" in within or follows):
                why = "it is on the black list" if "black-list" in within else "so are its producers"
                analysis("StaysFp32", op, f"computes in fp32: {why}")
                set_precision(op, FP32)
        if precision_of(op) != FP32:
            halved.add(op)


def mark_kept(block: Block, kept: set[str]) -> None:
    """Every operator that does the work of a kept node."""
    for op in block.ops:
        names = [node.name for node in source_nodes(op.location)]
        asked = [name for name in names if name in kept]
        if asked and needs_halving(op):
            others = [name for name in names if name not in kept]
            along = f"; with it {', '.join(map(repr, others))} of the same kernel" if others else ""
            analysis("KeptFp32", op, f"computes in fp32, as asked for {', '.join(map(repr, asked))}{along}")
            set_precision(op, FP32)


def mark_all(block: Block, *, but_the_cube: bool) -> None:
    """Every operator that computes in fp32, or all but those of the Cube."""
    for op in block.ops:
        if needs_halving(op) and precision_of(op) is None:
            heavy = isinstance(op, GeOp | FusedOp) and Trait.HEAVY in op.traits_ge
            if not (but_the_cube and heavy):
                set_precision(op, FP32)


@dataclass(frozen=True)
class MarkPrecision(GePass):
    """Marks kept nodes first, then what the mode leaves in fp32."""

    name = "mark-precision"
    numerics = EXACT

    mode: str = field(default=FORCE_FP16, metadata={"help": f"one of {', '.join(MODES)}"})
    mixlist: str = field(default="", metadata={"help": "JSON file with changes to the lists of allow_mix_precision"})
    keep_dtype: str = field(default="", metadata={"help": "file of node names, one a line, that stay in fp32"})
    keep_dtype_nodes: tuple[str, ...] = field(default=(), metadata={"help": "names of nodes that stay in fp32"})

    def __post_init__(self) -> None:
        check_precision_options(self.mode, self.mixlist, self.keep_dtype)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        mode = mode_named(self.mode)
        names, types = read_keep_dtype(self.keep_dtype) if self.keep_dtype else ([], [])
        changes = read_mixlist(self.mixlist) if self.mixlist else Mixlist()
        kept = kept_nodes(op, [*names, *self.keep_dtype_nodes], types)
        check_operators(changes.names(), op, self.mixlist)
        for block in graphs(op):
            if kept:
                mark_kept(block, kept)
            if mode == MIXED:
                mark_mixed(block, _Lists(changes))
            elif mode in (ORIGIN, CUBE_ONLY):
                mark_all(block, but_the_cube=mode == CUBE_ONLY)
