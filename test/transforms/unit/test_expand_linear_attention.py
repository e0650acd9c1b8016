"""Linear attention on the checked chip, beside numpy in fp64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.agreement import tasks_of
from xdsl.parser import Parser

from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import compile_module
from graph_engine.pipelines.context import make_context
from graph_engine.target_ascend.om.program import Launch
from graph_engine.target_ascend.runtime.device import run

BATCH, STEPS, HEADS, KV, KEYS, VALUES = 2, 5, 4, 2, 8, 24


def linear_attention(q: Any, k: Any, v: Any, state: Any, decay: Any, beta: Any = None) -> tuple[Any, Any]:
    """The recurrence as ONNX states it, head by head."""
    q, k, v = (x.reshape(BATCH, STEPS, count, -1) for x, count in ((q, HEADS), (k, KV), (v, KV)))
    decay, state, y = np.exp(decay.reshape(BATCH, STEPS, KV, -1)), state.copy(), np.zeros((BATCH, STEPS, HEADS, VALUES))
    for b in range(BATCH):
        for head in range(KV):
            s = state[b, head]
            for t in range(STEPS):
                s = decay[b, t, head][:, None] * s
                change = v[b, t, head]
                if beta is not None:
                    change = beta[b, t, head] * (change - s.T @ k[b, t, head])
                s = s + np.outer(k[b, t, head], change)
                for query in range(head * HEADS // KV, (head + 1) * HEADS // KV):
                    y[b, t, query] = 0.5 * s.T @ q[b, t, query]
            state[b, head] = s
    return y.reshape(BATCH, STEPS, -1), state


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910B3"])
@pytest.mark.parametrize("delta", [False, True])
@pytest.mark.parametrize("decays", [KV, KV * KEYS])
def test_linear_attention(decays: int, delta: bool, soc: str) -> None:
    shapes = {
        "q": (BATCH, STEPS, HEADS * KEYS),
        "k": (BATCH, STEPS, KV * KEYS),
        "v": (BATCH, STEPS, KV * VALUES),
        "s": (BATCH, KV, KEYS, VALUES),
        "d": (BATCH, STEPS, decays),
        **({"b": (BATCH, STEPS, KV)} if delta else {}),
    }
    types = {name: f"tensor<{'x'.join(map(str, shape))}xf32>" for name, shape in shapes.items()}
    results = f"tensor<{BATCH}x{STEPS}x{HEADS * VALUES}xf32>", types["s"]
    text = f"""
    func.func @main({", ".join(f'%{n}: {t} {{ge.name = "{n}"}}' for n, t in types.items())})
        -> ({results[0]} {{ge.name = "y"}}, {results[1]} {{ge.name = "last"}}) {{
      %0, %1 = ge.linear_attention {", ".join(f"%{n}" for n in types)} {{heads = {HEADS}, kv_heads = {KV}, scale = 0.5}}
        : ({", ".join(types.values())}) -> ({", ".join(results)})
      return %0, %1 : {", ".join(results)}
    }}"""
    module = Parser(make_context(), text).parse_module()
    compile_module(module, soc)
    program = emit_program(module, "program")
    assert all(isinstance(task, Launch) for task in tasks_of(program))
    random = np.random.default_rng(11)
    inputs = {name: (random.standard_normal(shape) / 2).astype(np.float16) for name, shape in shapes.items()}
    inputs["d"] = -np.abs(inputs["d"])
    done = run(program, [x.astype(np.float32) for x in inputs.values()], mode="functional", check=True)
    assert not done.findings, done.findings[:3]
    for found, right in zip(
        done.outputs, linear_attention(*(x.astype(np.float64) for x in inputs.values())), strict=True
    ):
        np.testing.assert_allclose(found, right, atol=1e-3 * np.abs(right).max())
