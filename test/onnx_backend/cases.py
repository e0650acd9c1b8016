"""The cases of the ONNX Backend Test Suite, as they come with the onnx package: models, inputs, right outputs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.backend.test import loader, runner

DATA = Path(loader.DATA_DIR)


@dataclass(frozen=True)
class Case:
    """One case; `kind` is node, simple, pytorch-operator, pytorch-converted or real."""

    name: str
    kind: str
    rtol: float
    atol: float
    source: Any

    @cached_property
    def model(self) -> onnx.ModelProto:
        """The model."""
        if self.source.model is not None:
            return self.source.model
        path = DATA.parents[3] / self.source.url if self.kind == "real" else Path(self.source.model_dir, "model.onnx")
        return onnx.load(path)

    @property
    def operators(self) -> list[str]:
        """The types of the model's nodes, in order, each once."""
        return list(dict.fromkeys(node.op_type for node in self.model.graph.node))

    @property
    def operator(self) -> str:
        """The operator under test; of an expanded case, or a model of several, `""`."""
        single = len(self.model.graph.node) == 1 and self.kind != "real"
        return self.model.graph.node[0].op_type if single else ""

    @property
    def expanded(self) -> bool:
        """Whether the operator is replaced by the body of its function."""
        return "_expanded" in self.name

    def data_sets(self) -> Iterator[tuple[list[Any], list[Any]]]:
        """Inputs and right outputs."""
        if self.source.data_sets is not None:
            for inputs, outputs in self.source.data_sets:
                yield [_array(item) for item in inputs], [_array(item) for item in outputs]
        elif self.kind == "real":
            yield self._light_data()
        else:
            for folder in sorted(Path(self.source.model_dir).glob("test_data_set*")):
                graph = self.model.graph
                yield _read(folder, "input", graph.input), _read(folder, "output", graph.output)

    def _light_data(self) -> tuple[list[Any], list[Any]]:
        graph = self.model.graph
        weights = {tensor.name for tensor in graph.initializer}
        inputs = [
            runner.Runner.generate_dummy_data(value, name=self.name)
            for value in graph.input
            if value.name not in weights
        ]
        path = Path(DATA.parents[3], self.source.url)
        outputs = [
            onnx.numpy_helper.to_array(onnx.load_tensor(f"{path.with_suffix('')}_output_{i}.pb"))
            for i in range(len(graph.output))
        ]
        return inputs, outputs


def _array(item: Any) -> Any:
    return onnx.numpy_helper.to_array(item) if isinstance(item, onnx.TensorProto) else item


def _read(folder: Path, prefix: str, values: Any) -> list[Any]:
    count = len(list(folder.glob(f"{prefix}_*.pb")))
    return [_read_one(folder / f"{prefix}_{i}.pb", values[i].type) for i in range(count)]


def _read_one(path: Path, type_: onnx.TypeProto) -> Any:
    content = path.read_bytes()
    if type_.HasField("sequence_type"):
        return onnx.numpy_helper.to_list(onnx.SequenceProto.FromString(content))
    if type_.HasField("optional_type"):
        return onnx.numpy_helper.to_optional(onnx.OptionalProto.FromString(content))
    return onnx.numpy_helper.to_array(onnx.TensorProto.FromString(content))


@cache
def all_cases() -> Mapping[str, Case]:
    """Every case by name; takes ten seconds, most of it in computing the right outputs of the node cases."""
    found: dict[str, Case] = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for kind in ("node", "simple", "pytorch-operator", "pytorch-converted", "real"):
            for test in loader.load_model_tests(kind=kind):
                found[test.name] = Case(test.name, kind, test.rtol, test.atol, test)
    return found


def check_outputs(right: list[Any], found: list[Any], rtol: float, atol: float) -> None:
    """The suite's own comparison: shapes, types and values. Raises AssertionError."""
    runner.Runner.assert_similar_outputs(right, found, rtol, atol)
