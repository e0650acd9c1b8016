"""The default pipeline, from an imported graph to task streams: read it top to bottom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum

from graph_engine.errors import GraphEngineError
from graph_engine.pipelines.spec import PassSpec, nearest, parse_pipeline

DEFAULT_SOC = "Ascend310P3"


class Phase(Enum):
    """How far a module has come; every phase prints, parses and verifies. The values say what holds at its end."""

    IMPORTED = "the model in operators of `ge`"
    SIMPLIFIED = "all shapes inferred, constants folded, nothing dead or computed twice"
    FUSED = "each `ge.fused` or plain operator is one kernel to be"
    PRECISION = "every tensor has the element type it will be computed in"
    LAID_OUT = "every tensor has a format; layout.transdata wherever it changes"
    GROUPED = "kernels merged further where formats allow"
    KERNELS = "each distinct kernel is an ascend function: tiles, buffers, flags"
    SCHEDULED = "kernels are launched by tasks in streams, buffers still symbolic"
    PLANNED = "every buffer has its place in a segment"
    TASKS = "task arguments are (segment, offset): ready for the OM"

    @property
    def title(self) -> str:
        """The name on the command line, e.g. `laid-out`."""
        return self.name.lower().replace("_", "-")

    @property
    def index(self) -> int:
        return list(Phase).index(self)

    @staticmethod
    def named(title: str) -> Phase:
        """The phase of that name. Raises GraphEngineError with the nearest name."""
        by_title = {phase.title: phase for phase in Phase}
        if title not in by_title:
            hint = nearest(title, by_title) or f"; phases: {' '.join(by_title)}"
            raise GraphEngineError(f"unknown phase '{title}'{hint}")
        return by_title[title]


# $soc, alone as an option's value, stands for the pipeline's option of that name.
DEFAULT: list[tuple[Phase, str]] = [
    (Phase.SIMPLIFIED, "ge-infer-shapes"),
    (Phase.SIMPLIFIED, "widen-bf16{mode=$precision_mode}"),
    (Phase.SIMPLIFIED, "fold-empty"),
    (Phase.SIMPLIFIED, "fold-constants"),
    (Phase.SIMPLIFIED, "recognise-upsampling"),
    (Phase.SIMPLIFIED, "recognise-channel-shuffle"),
    (Phase.SIMPLIFIED, "recognise-depth-to-space"),
    (Phase.SIMPLIFIED, "propagate-transposes"),
    (Phase.SIMPLIFIED, "flatten-matmul-rows{soc=$soc}"),
    (Phase.SIMPLIFIED, "ge-canonicalize"),
    (Phase.SIMPLIFIED, "drop-dead-taps"),
    (Phase.SIMPLIFIED, "share-constants"),
    (Phase.SIMPLIFIED, "eliminate-common-subexpressions"),
    (Phase.FUSED, "simplify-quantized"),
    (Phase.FUSED, "sign-quantized{soc=$soc}"),
    (Phase.FUSED, "expand-requantized{soc=$soc}"),
    (Phase.FUSED, "fuse-quantized{soc=$soc}"),
    (Phase.FUSED, "fuse-integer-sums"),
    (Phase.FUSED, "expand-dynamic-quantized"),
    (Phase.FUSED, "expand-channel-scales"),
    (Phase.FUSED, "expand-resize"),
    (Phase.FUSED, "expand-sampling"),
    (Phase.FUSED, "expand-cum-sum"),
    (Phase.FUSED, "expand-columns"),
    (Phase.FUSED, "expand-pool-places"),
    (Phase.FUSED, "expand-recurrence{soc=$soc}"),
    (Phase.FUSED, "expand-linear-attention"),
    (Phase.FUSED, "expand-sequences"),
    (Phase.FUSED, "expand-indexing"),
    (Phase.FUSED, "expand-grouped-filters"),
    (Phase.FUSED, "split-operators"),
    (Phase.FUSED, "expand-by-halves"),
    (Phase.FUSED, "fuse-softplus"),
    (Phase.FUSED, "fuse-gelu"),
    (Phase.FUSED, "fuse-swish"),
    (Phase.FUSED, "fuse-softmax"),
    (Phase.FUSED, "fuse-layer-norm"),
    (Phase.FUSED, "fuse-rms-norm"),
    (Phase.FUSED, "fuse-group-norm"),
    (Phase.FUSED, "fuse-split-conv-concat"),
    (Phase.FUSED, "fuse-same-input-convs{soc=$soc}"),
    (Phase.FUSED, "fuse-conv-bn-relu{soc=$soc}"),
    (Phase.FUSED, "fuse-transpose-matmul"),
    (Phase.FUSED, "fuse-heads"),
    (Phase.FUSED, "fuse-rotary-mul"),
    (Phase.FUSED, "simplify-attention"),
    (Phase.FUSED, "fuse-attention"),
    (Phase.FUSED, "fuse-windows{soc=$soc}"),
    (Phase.FUSED, "fuse-matmul-elementwise{soc=$soc}"),
    (Phase.FUSED, "fuse-parallel-matmuls{soc=$soc}"),
    (Phase.FUSED, "fuse-parallel-rotary"),
    (Phase.FUSED, "fuse-reduction"),
    (Phase.FUSED, "expand-batch-norm"),
    (Phase.FUSED, "fuse-elementwise"),
    (Phase.PRECISION, "expand-dft"),
    (
        Phase.PRECISION,
        "mark-precision{mode=$precision_mode mixlist=$modify_mixlist"
        " keep_dtype=$keep_dtype keep_dtype_nodes=$keep_dtype_nodes}",
    ),
    (Phase.PRECISION, "check-fp16-range"),
    (Phase.PRECISION, "force-fp16"),
    (Phase.LAID_OUT, "cut-epilogues{soc=$soc}"),
    (Phase.LAID_OUT, "propagate-layout{soc=$soc inputs=$input_format outputs=$output_format}"),
    (Phase.LAID_OUT, "eliminate-transdata{soc=$soc}"),
    (Phase.LAID_OUT, "verify-layout{soc=$soc}"),
    (Phase.LAID_OUT, "adjust-borders{soc=$soc inputs=$input_format outputs=$output_format}"),
    (Phase.LAID_OUT, "split-batch{soc=$soc}"),
    (Phase.GROUPED, "join-vector-ops{soc=$soc}"),
    (Phase.KERNELS, "lower-to-kernels{soc=$soc}"),
    (Phase.KERNELS, "double-buffer{soc=$soc}"),
    (Phase.KERNELS, "plan-onchip-buffers{soc=$soc}"),
    (Phase.KERNELS, "insert-sync{soc=$soc}"),
    (Phase.SCHEDULED, "schedule-tasks{soc=$soc}"),
    (Phase.PLANNED, "plan-buffers{soc=$soc report=false}"),
    (Phase.TASKS, "assign-addresses{soc=$soc}"),
]

OPTIONS: dict[str, str] = {
    "soc": DEFAULT_SOC,
    "precision_mode": "force_fp16",
    "modify_mixlist": "",
    "keep_dtype": "",
    "keep_dtype_nodes": "",
    "input_format": "",
    "output_format": "",
}
"""Options of the default pipeline and their defaults; the command lines write them with dashes."""


def check_option_names(options: Mapping[str, str]) -> None:
    """Raises GraphEngineError for an option that the default pipeline does not have."""
    for key in options:
        if key not in OPTIONS:
            hint = nearest(key, OPTIONS) or f"; its options: {', '.join(OPTIONS)}"
            raise GraphEngineError(f"the default pipeline has no option '{key}'{hint}")


def default_pipeline(
    options: Mapping[str, str], *, after: Phase = Phase.IMPORTED, until: Phase = Phase.TASKS
) -> list[tuple[Phase, PassSpec]]:
    """The passes of the phases behind `after` up to and with `until`. Raises GraphEngineError on unknown options."""
    check_option_names(options)
    values = {f"${key}": value for key, value in (OPTIONS | dict(options)).items()}
    steps: list[tuple[Phase, PassSpec]] = []
    for phase, text in DEFAULT:
        if after.index < phase.index <= until.index:
            for spec in parse_pipeline(text, "<default-pipeline>"):
                given = {name: values.get(value, value) for name, value in spec.options.items()}
                steps.append((phase, replace(spec, options=given)))
    return steps
