"""Which passes there are: name -> where its class is. Importing this imports neither xDSL nor any pass."""

from __future__ import annotations

import importlib
import inspect
import sys
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph_engine.errors import GraphEngineError
from graph_engine.pipelines.spec import PassSpec, build_pass, nearest

if TYPE_CHECKING:
    from xdsl.ir import Dialect
    from xdsl.passes import ModulePass
    from xdsl.universe import Universe

PLUGIN_GROUP = "graph_engine.plugins"
"""Entry-point group of third parties; each entry is an `xdsl.universe.Universe` with passes and dialects."""

# In the order of the default pipeline. The one-line help is the first line of the file's docstring.
PASSES: dict[str, str] = {
    "ge-infer-shapes": "graph_engine.transforms.ge_infer_shapes:GeInferShapes",
    "widen-bf16": "graph_engine.transforms.widen_bf16:WidenBf16",
    "fold-constants": "graph_engine.transforms.fold_constants:FoldConstants",
    "fold-empty": "graph_engine.transforms.fold_empty:FoldEmpty",
    "recognise-upsampling": "graph_engine.transforms.recognise_upsampling:RecogniseUpsampling",
    "recognise-channel-shuffle": "graph_engine.transforms.recognise_channel_shuffle:RecogniseChannelShuffle",
    "recognise-depth-to-space": "graph_engine.transforms.recognise_depth_to_space:RecogniseDepthToSpace",
    "propagate-transposes": "graph_engine.transforms.propagate_transposes:PropagateTransposes",
    "flatten-matmul-rows": "graph_engine.transforms.flatten_matmul_rows:FlattenMatmulRowsPass",
    "ge-canonicalize": "graph_engine.transforms.ge_canonicalize:GeCanonicalize",
    "drop-dead-taps": "graph_engine.transforms.drop_dead_taps:DropDeadTaps",
    "share-constants": "graph_engine.transforms.share_constants:ShareConstants",
    "eliminate-common-subexpressions": (
        "graph_engine.transforms.eliminate_common_subexpressions:EliminateCommonSubexpressions"
    ),
    "simplify-quantized": "graph_engine.transforms.simplify_quantized:SimplifyQuantized",
    "sign-quantized": "graph_engine.transforms.sign_quantized:SignQuantized",
    "expand-requantized": "graph_engine.transforms.expand_requantized:ExpandRequantized",
    "fuse-quantized": "graph_engine.transforms.fuse_quantized:FuseQuantized",
    "fuse-integer-sums": "graph_engine.transforms.fuse_integer_sums:FuseIntegerSums",
    "expand-dynamic-quantized": "graph_engine.transforms.expand_dynamic_quantized:ExpandDynamicQuantized",
    "expand-cum-sum": "graph_engine.transforms.expand_cum_sum:ExpandCumSumPass",
    "expand-channel-scales": "graph_engine.transforms.expand_channel_scales:ExpandChannelScalesPass",
    "expand-dft": "graph_engine.transforms.expand_dft:ExpandDftPass",
    "expand-resize": "graph_engine.transforms.expand_resize:ExpandResizePass",
    "expand-grouped-filters": "graph_engine.transforms.expand_grouped_filters:ExpandGroupedFilters",
    "split-operators": "graph_engine.transforms.split_operators:SplitOperators",
    "expand-sampling": "graph_engine.transforms.expand_sampling:ExpandSampling",
    "expand-columns": "graph_engine.transforms.expand_columns:ExpandColumnsPass",
    "expand-pool-places": "graph_engine.transforms.expand_pool_places:ExpandPoolPlacesPass",
    "expand-linear-attention": "graph_engine.transforms.expand_linear_attention:ExpandLinearAttentionPass",
    "expand-sequences": "graph_engine.transforms.expand_sequences:ExpandSequences",
    "expand-recurrence": "graph_engine.transforms.expand_recurrence:ExpandRecurrencePass",
    "expand-indexing": "graph_engine.transforms.expand_indexing:ExpandIndexingPass",
    "expand-by-halves": "graph_engine.transforms.expand_by_halves:ExpandByHalves",
    "fuse-softplus": "graph_engine.transforms.fuse_softplus:FuseSoftplus",
    "fuse-gelu": "graph_engine.transforms.fuse_gelu:FuseGelu",
    "fuse-swish": "graph_engine.transforms.fuse_swish:FuseSwish",
    "fuse-softmax": "graph_engine.transforms.fuse_softmax:FuseSoftmax",
    "fuse-layer-norm": "graph_engine.transforms.fuse_layer_norm:FuseLayerNorm",
    "fuse-rms-norm": "graph_engine.transforms.fuse_rms_norm:FuseRmsNorm",
    "fuse-group-norm": "graph_engine.transforms.fuse_group_norm:FuseGroupNorm",
    "fuse-split-conv-concat": "graph_engine.transforms.fuse_split_conv_concat:FuseSplitConvConcat",
    "fuse-same-input-convs": "graph_engine.transforms.fuse_same_input_convs:FuseSameInputConvs",
    "fuse-conv-bn-relu": "graph_engine.transforms.fuse_conv_bn_relu:FuseConvBnRelu",
    "fuse-transpose-matmul": "graph_engine.transforms.fuse_transpose_matmul:FuseTransposeMatmulPass",
    "fuse-heads": "graph_engine.transforms.fuse_heads:FuseHeads",
    "fuse-rotary-mul": "graph_engine.transforms.fuse_rotary_mul:FuseRotaryMulPass",
    "simplify-attention": "graph_engine.transforms.simplify_attention:SimplifyAttention",
    "fuse-attention": "graph_engine.transforms.fuse_attention:FuseAttention",
    "fuse-windows": "graph_engine.transforms.fuse_windows:FuseWindows",
    "fuse-matmul-elementwise": "graph_engine.transforms.fuse_matmul_elementwise:FuseMatmulElementwise",
    "fuse-parallel-matmuls": "graph_engine.transforms.fuse_parallel_matmuls:FuseParallelMatmuls",
    "fuse-parallel-rotary": "graph_engine.transforms.fuse_parallel_rotary:FuseParallelRotary",
    "fuse-reduction": "graph_engine.transforms.fuse_reduction:FuseReduction",
    "expand-batch-norm": "graph_engine.transforms.expand_batch_norm:ExpandBatchNormPass",
    "fuse-elementwise": "graph_engine.transforms.fuse_elementwise:FuseElementwise",
    "narrow-int64": "graph_engine.transforms.narrow_int64:NarrowInt64",
    "mark-precision": "graph_engine.transforms.mark_precision:MarkPrecision",
    "check-fp16-range": "graph_engine.transforms.check_fp16_range:CheckFp16Range",
    "force-fp16": "graph_engine.transforms.force_fp16:ForceFp16",
    "cut-epilogues": "graph_engine.transforms.cut_epilogues:CutEpilogues",
    "propagate-layout": "graph_engine.transforms.propagate_layout:PropagateLayout",
    "eliminate-transdata": "graph_engine.transforms.eliminate_transdata:EliminateTransdata",
    "verify-layout": "graph_engine.transforms.verify_layout:VerifyLayout",
    "adjust-borders": "graph_engine.transforms.adjust_borders:AdjustBorders",
    "split-batch": "graph_engine.transforms.split_batch:SplitBatch",
    "join-vector-ops": "graph_engine.lowering.join_vector_ops:JoinVectorOps",
    "lower-to-kernels": "graph_engine.lowering.lower_to_kernels:LowerToKernels",
    "double-buffer": "graph_engine.lowering.double_buffer:DoubleBuffer",
    "plan-onchip-buffers": "graph_engine.lowering.plan_onchip_buffers:PlanOnchipBuffers",
    "insert-sync": "graph_engine.lowering.insert_sync:InsertSync",
    "schedule-tasks": "graph_engine.lowering.schedule_tasks:ScheduleTasks",
    "plan-buffers": "graph_engine.lowering.plan_buffers:PlanBuffers",
    "assign-addresses": "graph_engine.lowering.assign_addresses:AssignAddresses",
}

DIALECTS: dict[str, str] = {
    "builtin": "xdsl.dialects.builtin:Builtin",
    "func": "xdsl.dialects.func:Func",
    "arith": "xdsl.dialects.arith:Arith",
    "scf": "xdsl.dialects.scf:Scf",
    "memref": "xdsl.dialects.memref:MemRef",
    "ge": "graph_engine.dialects.ge.dialect:GE",
    "layout": "graph_engine.dialects.layout:LAYOUT",
    "ascend": "graph_engine.dialects.ascend.dialect:ASCEND",
}


def load_object(target: str) -> Any:
    """The object behind `module:Name`."""
    module, name = target.split(":")
    return getattr(importlib.import_module(module), name)


_FILES: dict[str, Universe] = {}
"""What `load_plugin` has loaded, by path."""


def load_plugin(path: str) -> None:
    """Make the passes of one Python file, and the `Universe`s in it, known under their names in this process.

    Raises GraphEngineError if the file cannot be run, or defines neither.
    """
    from xdsl.passes import ModulePass
    from xdsl.universe import Universe

    spec = spec_from_file_location(f"graph_engine_plugin_{Path(path).stem}", path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise GraphEngineError(f"--load-plugin: '{path}' is not a Python file")
    module = module_from_spec(spec)
    sys.modules[module.__name__] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever the user's file raises
        raise GraphEngineError(f"--load-plugin: '{path}' does not load: {type(error).__name__}: {error}") from error
    passes: dict[str, Any] = {}
    dialects: dict[str, Any] = {}
    for item in vars(module).values():
        if isinstance(item, Universe):
            passes |= item.all_passes
            dialects |= item.all_dialects
        elif (
            inspect.isclass(item)
            and issubclass(item, ModulePass)
            and item.__module__ == module.__name__
            and "name" in vars(item)
        ):
            passes[item.name] = lambda item=item: item
    if not passes and not dialects:
        raise GraphEngineError(f"--load-plugin: '{path}' defines no pass and no Universe")
    _FILES[path] = Universe(all_passes=passes, all_dialects=dialects)
    _list_anew()


def forget_plugins() -> None:
    """Undo every `load_plugin`."""
    _FILES.clear()
    _list_anew()


def _list_anew() -> None:
    for cached in (plugins, all_passes, all_dialects):
        cached.cache_clear()


def plugin_files() -> list[str]:
    """The files that `load_plugin` has loaded."""
    return list(_FILES)


@cache
def plugins() -> dict[str, Universe]:
    """Files loaded and plugins installed, by name; imports xDSL only if there is one. One that fails is a warning."""
    from importlib.metadata import entry_points

    found: dict[str, Universe] = dict(_FILES)
    for entry in sorted(entry_points(group=PLUGIN_GROUP), key=lambda entry: entry.name):
        from xdsl.universe import Universe

        try:
            universe = entry.load()
        except Exception as error:  # whatever a third party's import raises must not take the tool down
            print(f"warning: plugin '{entry.name}' does not load: {error}", file=sys.stderr)
            continue
        if isinstance(universe, Universe):
            found[entry.name] = universe
        else:
            print(f"warning: plugin '{entry.name}' is not an xdsl Universe and is ignored", file=sys.stderr)
    return found


def _merge(kind: str, own: dict[str, str], field: str) -> dict[str, str | Any]:
    """Our names and the plugins'; whoever comes first keeps a name, the clash is a warning that names both."""
    merged: dict[str, str | Any] = dict(own)
    owners = dict.fromkeys(own, "graph-engine")
    for plugin, universe in plugins().items():
        for name, factory in getattr(universe, field).items():
            if name in merged:
                print(
                    f"warning: {kind} '{name}' is defined by '{owners[name]}' and by plugin '{plugin}'; "
                    f"that of '{owners[name]}' is used",
                    file=sys.stderr,
                )
                continue
            merged[name], owners[name] = factory, plugin
    return merged


@cache
def all_passes() -> dict[str, str | Any]:
    """Pass name -> `module:Class`, or a plugin's function that returns the class."""
    return _merge("pass", PASSES, "all_passes")


@cache
def all_dialects() -> dict[str, str | Any]:
    """Dialect name -> `module:Object`, or a plugin's function that returns the dialect."""
    return _merge("dialect", DIALECTS, "all_dialects")


def load_dialect(name: str) -> Dialect:
    """Import and return a dialect."""
    target = all_dialects()[name]
    return load_object(target) if isinstance(target, str) else target()


def load_pass(name: str) -> type[ModulePass]:
    """Import and return a pass class. Raises GraphEngineError with the nearest name for an unknown one."""
    known = all_passes()
    if name not in known:
        raise GraphEngineError(f"unknown pass '{name}'{nearest(name, known)}")
    target = known[name]
    if not isinstance(target, str):
        return target()
    try:
        return load_object(target)
    except ModuleNotFoundError as error:
        if error.name != target.split(":")[0]:
            raise
        raise GraphEngineError(f"pass '{name}' is listed but its file is missing") from None


def instantiate(spec: PassSpec) -> ModulePass:
    """The pass that `spec` names with its options. Errors lead with where the user wrote it."""
    if spec.name not in all_passes():
        raise GraphEngineError(f"{spec.origin}: error: unknown pass '{spec.name}'{nearest(spec.name, all_passes())}")
    return build_pass(spec, load_pass(spec.name))


def help_line(name: str) -> str:
    """One line on what a pass does: the first docstring line of its file, read without importing it."""
    target = all_passes()[name]
    if not isinstance(target, str):
        return (target().__doc__ or "").strip().split("\n")[0]
    module = target.split(":")[0]
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return "(not built yet)"
    with Path(spec.origin).open(encoding="utf-8") as file:
        return next((line for line in file if line.strip()), "").strip().strip('"').strip()
