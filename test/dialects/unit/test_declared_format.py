"""Formats that a text declares: on the chip, in OM files, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

from graph_engine.dialects.ascend.task import DeviceTaskOp
from graph_engine.lowering.emit_program import emit_program
from graph_engine.lowering.import_program import import_program
from graph_engine.pipelines.compile import compile_module
from graph_engine.pipelines.context import make_context
from graph_engine.target_ascend.om.container import load, save
from graph_engine.target_ascend.runtime.device import run

TILES = '"n c (h1 h0) (w1 w0) -> n h1 w1 c h0 w0", h0 = 4, w0 = 8'


def text(declared: str, shape: str) -> str:
    """relu(x), which leaves in the declared format."""
    return f"""#own = #layout.map<{declared}>
func.func @main(%x: tensor<{shape}xf16>) -> tensor<{shape}xf16, #own> {{
  %0 = ge.relu %x : (tensor<{shape}xf16>) -> tensor<{shape}xf16>
  %1 = layout.transdata %0 : tensor<{shape}xf16> -> tensor<{shape}xf16, #own>
  return %1 : tensor<{shape}xf16, #own>
}}"""


@pytest.mark.parametrize(
    ("declared", "shape"),
    [
        (TILES, (2, 3, 10, 20)),
        ('"n (c1 c0) h w -> n c1 h w c0", c0 = 32', (1, 40, 3, 5)),
        ('"a b -> b a"', (5, 5)),
        ('"... (w1 w0) -> w1 ... w0", w0 = 16', (4, 6, 50)),
        ('"n c h w -> (h w) n c"', (2, 3, 4, 5)),
    ],
)
def test_on_the_chip(declared: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    """Users give and get logical arrays; a kernel stores them as declared; an OM file tells the format by its line."""
    module = Parser(make_context(), text(declared, "x".join(map(str, shape)))).parse_module()
    compile_module(module)
    tasks = [op for op in module.walk() if isinstance(op, DeviceTaskOp)]
    assert "AI CPU" not in {str(op.info.data["type"]) for op in tasks} and len(tasks) == 2
    program = emit_program(module)
    save(program, tmp_path / "own.om")
    program = load(tmp_path / "own.om")
    import_program(program).verify()
    x = np.random.default_rng(5).standard_normal(shape).astype(np.float16)
    done = run(program, [x], mode="functional", check=True)
    assert not done.findings
    np.testing.assert_array_equal(done.outputs[0], np.maximum(x, 0))


def test_stored_as_declared() -> None:
    """Element (n, c, h, w) of the tiles lies at (n, h / 4, w / 8, c, h % 4, w % 8)."""
    from graph_engine.dialects.encodings import Declared

    x = np.arange(2 * 3 * 10 * 20).reshape(2, 3, 10, 20)
    stored = Declared.by(TILES.split('"')[1], h0=4, w0=8).map.pack(x, -1)
    assert stored.shape == (2, 3, 3, 3, 4, 8)
    for n, c, h, w in np.ndindex(2, 3, 10, 20):
        assert stored[n, h // 4, w // 8, c, h % 4, w % 8] == x[n, c, h, w]
    assert (stored == -1).sum() == 2 * 3 * (12 * 24 - 10 * 20)


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ('"a b"', "has no '->'"),
        ('"a b -> a"', "different axes on its two sides"),
        ('"a a -> a a"', "names 'a' twice"),
        ('"(a b) -> a b"', "needs the sizes of all of a b but one"),
        ('"a b -> b a", c = 2', "has no axis c"),
        ('"(a c) -> a c", c = 0', "positive sizes"),
        ('"(a c -> a c", c = 2', "different axes on its two sides"),
        ('"a; b -> b a;"', "is no name of an axis"),
        ('"(a c) -> a c", c = 2, c = 3', "has a size already"),
    ],
)
def test_refused(declared: str, message: str) -> None:
    with pytest.raises((ParseError, VerifyException), match=message.replace("(", r"\(")):
        Parser(make_context(), f"func.func private @f(tensor<4x4xf16, #layout.map<{declared}>>)").parse_module()


def test_shape_that_does_not_fit() -> None:
    module = Parser(make_context(), text(TILES, "4x4")).parse_module()
    with pytest.raises(VerifyException, match="takes 4 axes, found 2"):
        module.verify()
