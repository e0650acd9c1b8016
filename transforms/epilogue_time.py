"""Whether an elementwise operator is faster as part of a product's epilogue or as a task of its own: estimated times.

Both do the same arithmetic. A task of its own costs its launch, and waits for memory where that takes longer than the
arithmetic. In an epilogue the accumulator, its fp32 copy and the result share the unified buffer with the temporaries,
twice each, so the chunks are smaller; an instruction starts once a chunk, which costs its fixed cycles. A long sequence of
instructions on a large tensor is therefore better off alone:

    own task:   launch + max(arithmetic + fixed cycles x tiles alone, bytes read and written / rate)
    epilogue:   arithmetic + fixed cycles x chunks in the epilogue

Exact GELU has 19 instructions, 579 fixed cycles with its conversions. On 197 x 3072 values (ViT-Base) a core has 6 tiles
alone and 11 chunks in the epilogue: 2.7 us more, a launch is 1.7 us. On 197 x 768 (DeiT-Tiny) it is 2 and 3: it leaves
with its product.
"""

from __future__ import annotations

from math import ceil

from graph_engine.dialects.ge.activation import GeluOp
from graph_engine.dialects.ge.core import GeOp, elements_of
from graph_engine.target_ascend.soc.soc import Soc
from graph_engine.transforms.task_time import HALF, moved_us

WIDE = 4
"""Bytes of an fp32 element: sequences are computed in fp32."""

SEQUENCES: dict[str, tuple[str, int]] = {
    "ge.elu": ("mins muls exp adds muls maxs muls add", 1),
    "ge.erf": ("maxs mins mul" + " muls adds mul adds mul adds mul adds mul" + " muls adds mul adds mul adds div", 2),
    "ge.gelu": ("abs maxs muls adds" + 6 * " mul adds" + " exp mul sub", 2),
    "ge.gelu tanh": ("mul muls adds mul exp adds div", 1),
    "ge.hard_sigmoid": ("muls adds maxs mins", 0),
    "ge.hard_swish": ("muls adds maxs mins mul", 1),
    "ge.mish": ("mins exp adds mul adds div mul", 2),
    "ge.sigmoid": ("muls exp adds rec", 0),
    "ge.softplus": ("abs muls exp adds ln maxs add", 1),
    "ge.swish": ("muls exp adds div", 1),
    "ge.tanh": ("muls exp adds rec muls adds", 0),
}
"""Vector instructions of the operators that need several, and their temporary buffers; a test holds the kernels to it."""


def leaving_gain_us(op: GeOp, soc: Soc) -> float:
    """Microseconds that `op` takes less in the epilogue of the product that it reads than as a task of its own."""
    sequence, temporaries = SEQUENCES.get(_key(op), ("adds", 0))
    costs = [soc.vector_cost(mnemonic) for mnemonic in ("conv", *sequence.split(), "conv")]
    share = ceil(elements_of(op.results[0]) / soc.cores.aic)
    room, scratch = soc.buffers["ub"], WIDE * (1 + temporaries)
    alone = ceil(share * (2 * (HALF + HALF) + scratch) / room)
    chunks = ceil(share * 2 * (WIDE + HALF + scratch) / room)
    starts = sum(fixed for _, fixed in costs) / soc.freq_mhz.cube
    arithmetic = sum(slope for slope, _ in costs) * ceil(share * WIDE / soc.vector.repeat_bytes) / soc.freq_mhz.cube
    own = soc.overheads.kernel_task_us + max(arithmetic + alone * starts, moved_us(soc, 2 * elements_of(op.results[0])))
    return own - (arithmetic + chunks * starts)


def _key(op: GeOp) -> str:
    return "ge.gelu tanh" if isinstance(op, GeluOp) and op.approximate.data == "tanh" else op.name
