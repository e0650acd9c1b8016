"""The registered dialect `ascend` (MLIR splits a name at its first dot, so cube, vec, mte, sync and task share it)."""

from xdsl.ir import Dialect

from graph_engine.dialects.ascend.cube import CUBE_OPS
from graph_engine.dialects.ascend.kernel import KERNEL_OPS
from graph_engine.dialects.ascend.memory import MEMORY_OPS
from graph_engine.dialects.ascend.mte import MTE_OPS
from graph_engine.dialects.ascend.program import PROGRAM_OPS
from graph_engine.dialects.ascend.scalar import SCALAR_OPS
from graph_engine.dialects.ascend.spaces import SPACES
from graph_engine.dialects.ascend.sync import SYNC_OPS
from graph_engine.dialects.ascend.task import TASK_OPS
from graph_engine.dialects.ascend.vec import VECTOR_OPS

ASCEND = Dialect(
    "ascend",
    [*KERNEL_OPS, *MEMORY_OPS, *MTE_OPS, *CUBE_OPS, *VECTOR_OPS, *SYNC_OPS, *SCALAR_OPS, *TASK_OPS, *PROGRAM_OPS],
    SPACES,
)
