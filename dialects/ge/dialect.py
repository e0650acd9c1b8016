"""The `ge` dialect: all its operators and attributes."""

from __future__ import annotations

from xdsl.ir import Dialect

from graph_engine.dialects.ge.activation import ACTIVATION
from graph_engine.dialects.ge.channels import CHANNELS
from graph_engine.dialects.ge.constant import CONSTANT
from graph_engine.dialects.ge.control_flow import CONTROL_FLOW
from graph_engine.dialects.ge.convolution import CONVOLUTION
from graph_engine.dialects.ge.elementwise import ELEMENTWISE
from graph_engine.dialects.ge.fused import FUSED
from graph_engine.dialects.ge.heads import HEADS
from graph_engine.dialects.ge.indexing import INDEXING
from graph_engine.dialects.ge.linear_algebra import LINEAR_ALGEBRA
from graph_engine.dialects.ge.logic import LOGIC
from graph_engine.dialects.ge.matmul import MATMUL
from graph_engine.dialects.ge.normalization import NORMALIZATION
from graph_engine.dialects.ge.pooling import POOLING
from graph_engine.dialects.ge.quantization import QUANTIZATION
from graph_engine.dialects.ge.recurrence import RECURRENCE
from graph_engine.dialects.ge.recurrent_steps import RECURRENT_STEPS
from graph_engine.dialects.ge.reduction import REDUCTION
from graph_engine.dialects.ge.repetition import REPETITION
from graph_engine.dialects.ge.runtime_shape import RUNTIME_SHAPE
from graph_engine.dialects.ge.sampling import SAMPLING
from graph_engine.dialects.ge.selection import SELECTION
from graph_engine.dialects.ge.shape import SHAPE
from graph_engine.dialects.ge.signal import SIGNAL
from graph_engine.dialects.ge.unary_math import UNARY_MATH
from graph_engine.dialects.ge.weights import FoldAttr, WeightAttr
from graph_engine.dialects.ge.windows import WINDOWS

GE = Dialect(
    "ge",
    [
        *CONSTANT,
        *CONVOLUTION,
        *MATMUL,
        *LINEAR_ALGEBRA,
        *NORMALIZATION,
        *ELEMENTWISE,
        *UNARY_MATH,
        *ACTIVATION,
        *LOGIC,
        *REPETITION,
        *POOLING,
        *QUANTIZATION,
        *RECURRENCE,
        *RECURRENT_STEPS,
        *REDUCTION,
        *SHAPE,
        *HEADS,
        *WINDOWS,
        *CHANNELS,
        *INDEXING,
        *RUNTIME_SHAPE,
        *SELECTION,
        *SAMPLING,
        *SIGNAL,
        *FUSED,
        *CONTROL_FLOW,
    ],
    [WeightAttr, FoldAttr],
)
