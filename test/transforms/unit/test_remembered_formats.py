"""What is remembered by form is what the rules say of every operator by itself."""

from itertools import product

import pytest
from models.light import light_model
from models.transformer import transformer
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block
from xdsl.parser import Parser

from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.layout import fractal_nz, nc1hwc0
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.pipelines.compile import compile_module
from graph_engine.pipelines.context import make_context
from graph_engine.pipelines.default import Phase
from graph_engine.transforms.formats import FormatRules
from graph_engine.transforms.fusion import graphs
from graph_engine.transforms.remembered_formats import RememberedRules
from graph_engine.transforms.stored_values import Family

GIVEN = {
    Family.NC1HWC0: (None, nc1hwc0(16, "zero"), nc1hwc0(16, "finite"), nc1hwc0(16, "undef")),
    Family.FRACTAL_NZ: (None, fractal_nz(16, "zero"), fractal_nz(16, "finite"), fractal_nz(16, "undef")),
}
QUESTIONS = [(family, format) for family, formats in GIVEN.items() for format in formats]


def check(block: Block) -> int:
    """Compares both rules for every operator, and gives the number of answers that were remembered."""
    plain, remembered = FormatRules.for_soc("Ascend310P3"), RememberedRules.for_soc("Ascend310P3")
    questions = 0
    for op in block.ops:
        if not plain.can_move(op):
            continue
        for family, format in QUESTIONS:
            given = [format] * len(op.operands)
            answer = plain.of(op, family, given)
            assert remembered.of(op, family, given) == answer
            questions += 1
            if isinstance(op, FusedOp) and answer is not None:
                inside = remembered.inside(op, family, answer.operands)
                assert inside[-1] == answer.result
                assert len(inside) == len(list(op.block.ops)) - 1
    return questions - len(remembered._answers)


@pytest.mark.parametrize("model", ["squeezenet", "shufflenet", "transformer"])
def test_models(model: str) -> None:
    module = import_onnx(transformer(300) if model == "transformer" else light_model(model))
    compile_module(module, until=Phase.PRECISION)
    saved = [check(block) for block in graphs(module)]
    assert model != "transformer" or saved[0] > 200


def test_constants_that_decide() -> None:
    """The same form, and a number beside the padding that is finite or not: 3 columns leave 13 of padding."""
    numbers = {"0.0": "zero", "1.0": "finite", '"0x007C"': "undef"}
    kind, wide = "tensor<16x3xf16>", "tensor<1xf16>"
    lines: list[str] = []
    for i, (text, _) in enumerate(numbers.items()):
        lines.append(f"%c{i} = ge.constant dense<{text}> : {wide}")
        lines.append(f"%y{i} = ge.maximum %x, %c{i} : ({kind}, {wide}) -> {kind}")
    text = f"func.func @main(%x: {kind}) -> {kind} {{\n{chr(10).join(lines)}\nreturn %y0 : {kind}\n}}"
    module = Parser(make_context(), text).parse_module()
    (function,) = module.ops
    assert isinstance(function, FuncOp)
    check(function.body.block)
    rules = RememberedRules.for_soc("Ascend310P3")
    ops = [op for op in function.body.block.ops if op.name == "ge.maximum"]
    for _, (op, pad) in product(range(2), zip(ops, numbers.values(), strict=True)):
        formats = rules.of(op, Family.FRACTAL_NZ, [fractal_nz(16, "zero"), None])
        assert formats is not None and formats.result is not None
        assert formats.result.pad_lanes == pad
