"""The models of a folder with what a benchmark needs to run them: weights, shapes, values of inputs, onnxruntime beside.

A folder holds `*.onnx` or `*.onnx.xz`; if it has a `seeded.py`, that fills in stripped weights, and `input_shapes.json`
gives extents and values of inputs by model file.
"""

from __future__ import annotations

import importlib.util
import json
import lzma
import subprocess
from pathlib import Path
from typing import Any


def load(path: Path, folder: Path | None) -> Any:
    """The ModelProto, its stripped weights filled in as the folder says."""
    import onnx

    data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    model = onnx.load_model_from_string(data)
    recipe = folder / "seeded.py" if folder is not None else None
    if recipe is not None and recipe.exists():
        spec = importlib.util.spec_from_file_location("seeded", recipe)
        assert spec is not None and spec.loader is not None
        seeded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(seeded)
        model = seeded.fill(model)
    return model


def hints(path: Path, folder: Path) -> dict[str, Any]:
    """What `input_shapes.json` says of a model: "name:axis" or a symbol to an extent, "val:name" to a value, "max"."""
    table = folder / "input_shapes.json"
    known: dict[str, Any] = json.loads(table.read_text()) if table.exists() else {}
    full = path.name.removesuffix(".xz")
    for name in (full, full.replace("__", "/"), full.rpartition("__")[2]):
        if name in known:
            return known[name]
    return {}


def bindings(model: Any, known: dict[str, Any]) -> tuple[dict[str, tuple[int, ...]], dict[str, Any], int]:
    """Shapes of the inputs, values of some, and the bound of integers; an extent nobody gives is 1, then 16."""
    weights = {tensor.name for tensor in model.graph.initializer}
    shapes: dict[str, tuple[int, ...]] = {}
    for value in model.graph.input:
        if value.name not in weights and value.type.HasField("tensor_type"):
            shapes[value.name] = tuple(
                dim.dim_value
                if dim.dim_value > 0
                else int(known.get(f"{value.name}:{axis}", known.get(dim.dim_param, 16 if axis else 1)))
                for axis, dim in enumerate(value.type.tensor_type.shape.dim)
            )
    values = {key[4:]: value for key, value in known.items() if key.startswith("val:") and key[4:] in shapes}
    return shapes, values, int(known.get("max", 100))


def inputs(
    model: Any, shapes: dict[str, tuple[int, ...]], values: dict[str, Any], most: int, seed: int = 0
) -> dict[str, Any]:
    """Seeded inputs: floats around 0, integers below `most`, masks full, token types 0."""
    import numpy as np
    from onnx.helper import tensor_dtype_to_np_dtype

    random = np.random.default_rng(7 + seed)
    feeds: dict[str, Any] = {}
    for value in model.graph.input:
        if value.name not in shapes:
            continue
        dtype, shape = tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type), shapes[value.name]
        if value.name in values:
            feeds[value.name] = np.full(shape, values[value.name], dtype)
        elif "mask" in value.name or dtype.kind == "b":
            feeds[value.name] = np.ones(shape, dtype)
        elif "type_id" in value.name:
            feeds[value.name] = np.zeros(shape, dtype)
        elif dtype.kind in "iu":
            feeds[value.name] = random.integers(0, most, shape).astype(dtype)
        else:
            feeds[value.name] = random.standard_normal(shape).astype(dtype)
    return feeds


def in_half(model: Any) -> bool:
    """Whether weights, inputs or casts of the model are fp16."""
    half = 10
    return (
        any(tensor.data_type == half for tensor in model.graph.initializer)
        or any(value.type.tensor_type.elem_type == half for value in model.graph.input)
        or any(a.name == "to" and a.i == half for node in model.graph.node for a in node.attribute)
    )


def onnxruntime_outputs(model: Any, feeds: dict[str, Any], *, optimised: bool = False) -> list[Any]:
    """What onnxruntime gives, by default without graph optimisations."""
    return onnxruntime_session(model, optimised=optimised).run(None, feeds)


def onnxruntime_session(model: Any, *, optimised: bool = False) -> Any:
    """The model in onnxruntime, on one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimised else levels.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def commit() -> str:
    """The commit that is measured, with a plus if files differ from it."""
    done = subprocess.run(
        ["git", "describe", "--always", "--exclude=*", "--dirty=+"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "unknown"
