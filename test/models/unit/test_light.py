"""The networks that every other test leans on: seeded, well-conditioned, batch-free when asked."""

import numpy as np
import pytest
from models.light import (
    LIGHT_NAMES,
    graph_inputs,
    inner_names,
    light_model,
    logits_name,
    random_inputs,
    reference_outputs,
)
from models.small import SMALL
from onnx import numpy_helper


@pytest.mark.parametrize("name", ["resnet50", "squeezenet", "shufflenet", "inception_v2", "densenet121"])
def test_activations_suit_fp16(name: str) -> None:
    model = light_model(name)
    names = [*inner_names(model, 40), logits_name(model)]
    results = reference_outputs(model, random_inputs(model), names)
    for tensor in names:
        assert np.abs(results[tensor]).max() < 1000, tensor
        assert results[tensor].std() > 0.05, tensor
    output = reference_outputs(model, random_inputs(model))[model.graph.output[0].name]
    if logits_name(model) != model.graph.output[0].name:
        assert 1e-3 < output.max() < 0.9
    assert len(np.unique(output)) > 700


@pytest.mark.parametrize("name", ["resnet50", "shufflenet", "squeezenet"])
def test_batch_of_three_equals_three_runs(name: str) -> None:
    single, batched = light_model(name, seed=5), light_model(name, seed=5, batch=3)
    feeds = random_inputs(batched, 1)
    (key,) = feeds
    logits = logits_name(single)
    rows = [reference_outputs(single, {key: row[None]}, [logits])[logits] for row in feeds[key]]
    np.testing.assert_allclose(reference_outputs(batched, feeds, [logits])[logits], np.concatenate(rows), atol=1e-5)


def test_every_weight_is_random_and_seeded() -> None:
    first, again, other = light_model("squeezenet"), light_model("light_squeezenet"), light_model("squeezenet", seed=1)
    assert first.SerializeToString() == again.SerializeToString()
    for left, right in zip(first.graph.initializer, other.graph.initializer, strict=True):
        values = numpy_helper.to_array(left)
        assert len(np.unique(values)) > 0.9 * values.size
        assert not np.array_equal(values, numpy_helper.to_array(right))


@pytest.mark.parametrize("name", [name for name in LIGHT_NAMES if name not in ("bvlc_alexnet", "vgg19", "zfnet512")])
def test_only_the_data_is_an_input(name: str) -> None:
    model = light_model(name)
    assert len(model.graph.input) == len(graph_inputs(model)) == 1
    assert not any(node.op_type == "ConstantOfShape" for node in model.graph.node)


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match="resnet50"):
        light_model("resnet18")


@pytest.mark.parametrize("name", SMALL)
def test_small_graphs_run_and_vary(name: str) -> None:
    model = SMALL[name](seed=3, batch=2)
    for tensor, values in reference_outputs(model, random_inputs(model)).items():
        assert values.shape[0] == 2, tensor
        assert values.std() > (1e-3 if name == "gemm_head" else 0.05), tensor
