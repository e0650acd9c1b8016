"""How many operators the light networks have after each phase, counted by hand from the networks' structure."""

from collections import Counter

import pytest
from models.light import light_model
from xdsl.dialects.func import FuncOp

from graph_engine.dialects.ge.convolution import Conv2dOp
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.locations import source_nodes
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.pipelines.compile import compile_module
from graph_engine.pipelines.default import Phase

FREE = {"ge.constant", "ge.reshape", "func.return"}


def laid_out(name: str, until: Phase = Phase.LAID_OUT):
    model = light_model(name, seed=3)
    module = import_onnx(model)
    compile_module(module, until=until)
    (function,) = module.body.block.ops
    assert isinstance(function, FuncOp)
    return model, list(function.body.block.ops)


def test_resnet50() -> None:
    """53 convolutions carry everything: 49 with a ReLU in a kernel, 4 projections plain, then pools and classifier."""
    model, ops = laid_out("resnet50")
    counts = Counter(op.name for op in ops if op.name not in FREE)
    assert counts == {
        "ge.fused": 49,
        "ge.conv2d": 4,
        "ge.max_pool": 1,
        "ge.avg_pool": 1,
        "ge.matmul": 1,
        "ge.softmax": 1,
        "ge.cast": 1,
        "layout.transdata": 3,
    }
    assert counts.total() <= 62
    added = [op for op in ops if isinstance(op, FusedOp) and any(inner.name == "ge.add" for inner in op.block.ops)]
    assert len(added) == 16
    assert all(isinstance(op.anchor_op, Conv2dOp) for op in added)
    at = [i for i, op in enumerate(op for op in ops if op.name not in FREE) if op.name == "layout.transdata"]
    assert at == [0, counts.total() - 5, counts.total() - 3]  # input, before and after the classifier
    # Every node of the model is named by some operator's location, in its order.
    named = [node.outputs[0] for op in ops if op.name != "layout.transdata" for node in source_nodes(op.location)]
    assert set(named) == {node.output[0] for node in model.graph.node}


@pytest.mark.parametrize(
    ("name", "convs", "transdata"),
    [("squeezenet", 26, 2), ("densenet121", 121, 2), ("inception_v2", 51, 3), ("vgg19", 16, 4)],
)
def test_feature_maps_stay_in_the_cubes_format(name: str, convs: int, transdata: int) -> None:
    """Input and output only; a flattened feature map before a classifier costs one conversion more.

    Of Inception v2's 69 convolutions, 3 of 1 x 1 in each of 8 blocks, and 2 in each of 2, become one.
    """
    _, ops = laid_out(name)
    anchors = [op.anchor_op if isinstance(op, FusedOp) else op for op in ops]
    assert sum(isinstance(op, Conv2dOp) for op in anchors) == convs
    assert sum(op.name == "layout.transdata" for op in ops) == transdata


def test_densenet_batch_norms_are_gone() -> None:
    """62 convolutions feed a concat, pool or the output plain; 59 take a BatchNorm, scales and a ReLU. The BatchNorms
    behind a concat or pool, 62 of them, become elementwise kernels of mul, add and relu."""
    _, ops = laid_out("densenet121", Phase.FUSED)
    kinds = Counter(op.anchor.data for op in ops if isinstance(op, FusedOp))
    assert kinds == {"ge.conv2d": 59, "ge.relu": 62}
    assert not any(op.name in ("ge.batch_norm", "ge.mul", "ge.add", "ge.relu") for op in ops)
