"""Dominance: accepted and refused uses, in one block, across blocks and regions; errors name the operator."""

import pytest
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FunctionType,
    IntegerAttr,
    StringAttr,
    TensorType,
    f32,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block
from xdsl.rewriter import Rewriter

from graph_engine.errors import GraphEngineError
from graph_engine.pipelines.context import make_context
from graph_engine.pipelines.source import Chunk, SourceError, parse, split
from graph_engine.pipelines.verification import InvalidOperation, Verifier, verify


def check(text: str) -> None:
    verify(parse(make_context(), Chunk("t.mlir", text)))


GOOD = {
    "block": """
func.func @f(%x: i32) -> i32 {
  %a = arith.addi %x, %x : i32
  %b = arith.addi %a, %x : i32
  func.return %b : i32
}""",
    "nested region": """
func.func @f(%x: index, %c: i1) {
  %a = arith.addi %x, %x : index
  scf.for %i = %x to %a step %x {
    %b = arith.addi %i, %a : index
    scf.yield
  }
  func.return
}""",
    "blocks": """
"builtin.module"() ({
  "func.func"() <{function_type = (i32, i1) -> i32, sym_name = "f"}> ({
  ^bb0(%x: i32, %c: i1):
    %a = "arith.addi"(%x, %x) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
    "cf.br"() [^bb2] : () -> ()
  ^bb1:
    "func.return"(%b) : (i32) -> ()
  ^bb2:
    %b = "arith.addi"(%a, %x) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
    "cf.br"() [^bb1] : () -> ()
  }) : () -> ()
}) : () -> ()""",
}

BAD = {
    "later in the block": """
func.func @f(%x: i32) -> i32 {
  %b = arith.addi %a, %x : i32
  %a = arith.addi %x, %x : i32
  func.return %b : i32
}""",
    "itself": """
func.func @f(%x: i32) -> i32 {
  %b = arith.addi %b, %x : i32
  func.return %b : i32
}""",
    "result of the loop inside the loop": """
func.func @f(%x: index) {
  %r = scf.for %i = %x to %x step %x iter_args(%s = %x) -> (index) {
    %b = arith.addi %r, %s : index
    scf.yield %b : index
  }
  func.return
}""",
    "one branch only": """
"builtin.module"() ({
  "func.func"() <{function_type = (i32, i1) -> i32, sym_name = "f"}> ({
  ^bb0(%x: i32, %c: i1):
    "cf.cond_br"(%c) [^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1) -> ()
  ^bb1:
    %a = "arith.addi"(%x, %x) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
    "cf.br"() [^bb2] : () -> ()
  ^bb2:
    %b = "arith.addi"(%a, %x) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
    "func.return"(%b) : (i32) -> ()
  }) : () -> ()
}) : () -> ()""",
}


@pytest.fixture(autouse=True)
def control_flow(monkeypatch: pytest.MonkeyPatch):
    from graph_engine.pipelines import registry

    monkeypatch.setitem(registry.all_dialects(), "cf", "xdsl.dialects.cf:Cf")


@pytest.mark.parametrize("case", GOOD)
def test_accepted(case: str):
    check(GOOD[case])


@pytest.mark.parametrize("case", BAD)
def test_refused(case: str):
    with pytest.raises(InvalidOperation, match="does not dominate this use"):
        check(BAD[case])


def test_chunks_keep_their_line_numbers():
    text = "func.func @f() {\n  func.return\n}\n// ----- name\nfunc.func @g() {\n  func.retrun\n}\n"
    first, second = split("t.mlir", text, by_separator=True)
    parse(make_context(), first)
    with pytest.raises(SourceError) as caught:
        parse(make_context(), second)
    assert str(caught.value) == (
        "t.mlir:6:3: error: Operation func.retrun is not registered, did you mean 'func.return'?"
    )


def test_separator_inside_a_line_does_not_split():
    assert len(split("t.mlir", "a // -----\nb", by_separator=True)) == 1


def test_empty_text_is_an_empty_module():
    assert not list(parse(make_context(), Chunk("t.mlir", "// nothing\n")).ops)


def test_source_error_is_a_user_error():
    assert issubclass(SourceError, GraphEngineError)


def test_types_are_parsed_once_and_right():
    text = """
!t = memref<4x4xf32, affine_map<(d0, d1) -> (d1, d0)>>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32, #layout.nc1hwc0<c0 = 16, pad = zero>>,
             %c: memref<4x4xf32, affine_map<(d0, d1) -> (d1, d0)>>, %d: memref<4x4xf32, affine_map<(d0, d1) -> (d1, d0)>>,
             %e: tensor<2x3xf32>, %g: tensor<*xf32>, %h: !t) {
  func.return
}"""
    (function,) = parse(make_context(), Chunk("t.mlir", text)).ops
    a, b, c, d, e, g, h = function.regions[0].block.arg_types
    assert a is e and a != b and c == d == h
    assert str(b) == "tensor<2x3xf32, #layout.nc1hwc0<c0 = 16, pad = zero>>" and str(g) == "tensor<*xf32>"


def test_a_verifier_skips_only_what_has_not_changed():
    module = parse(make_context(), Chunk("t.mlir", GOOD["block"] + GOOD["nested region"].replace("@f", "@g")))
    verifier = Verifier()
    verifier.verify(module)
    verifier.verify(module)
    first, second = module.ops
    body = second.regions[0].block
    a = next(iter(body.ops))
    a.detach()
    body.insert_op_before(a, body.ops.last)  # type: ignore[arg-type]
    with pytest.raises(InvalidOperation, match="does not dominate"):
        verifier.verify(module)
    a.detach()
    body.insert_op_before(a, body.ops.first)  # type: ignore[arg-type]
    verifier.verify(module)
    first.properties["function_type"] = FunctionType.from_lists([i32], [i64])
    with pytest.raises(InvalidOperation):
        verifier.verify(module)


ALIKE = """
func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x9xf32>) -> tensor<4x8xf32> {
  %a = ge.leaky_relu %x {alpha = 0.5} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = ge.leaky_relu %a {alpha = 0.5} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = ge.leaky_relu %b {alpha = 0.5} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %c : tensor<4x8xf32>
}"""


@pytest.mark.parametrize("change", ["operand", "result", "property", "missing property", "erased operand", "order"])
def test_one_of_many_equal_operators_that_changes_is_verified(change: str):
    module = parse(make_context(), Chunk("t.mlir", ALIKE))
    verifier = Verifier()
    verifier.verify(module)
    (function,) = module.ops
    block = function.regions[0].block
    first, second, third, _ = block.ops
    match change:
        case "operand":
            third.operands[0] = block.args[1]
        case "result":
            Rewriter.replace_value_with_new_type(second.results[0], block.args[1].type)
        case "property":
            third.properties["alpha"] = StringAttr("0.5")
        case "missing property":
            del third.properties["alpha"]
        case "erased operand":
            second.detach()
            second.erase(safe_erase=False)
        case _:
            first.detach()
            block.insert_op_after(first, second)
    with pytest.raises(InvalidOperation):
        verifier.verify(module)


FUSED = """
  %a = ge.fused ins(%x, %y : tensor<4x8xf32>, tensor<4x8xf32>) {anchor = "ge.mul"} {
  ^bb0(%p: tensor<4x8xf32>, %q: tensor<4x8xf32>):
    %r = ge.mul %p, %q : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %s = ge.leaky_relu %r {alpha = 0.5} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ge.yield %s : tensor<4x8xf32>
  } -> tensor<4x8xf32>"""
ALIKE_WITH_CONTENT = f"""
func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %z: tensor<4x9xf32>) -> tensor<4x8xf32> {{
  {FUSED}{FUSED.replace("%a", "%b")}{FUSED.replace("%a", "%c")}
  func.return %c : tensor<4x8xf32>
}}"""


@pytest.mark.parametrize("change", ["operand", "outside", "argument", "property", "order", "anchor", "end", "block"])
def test_one_of_many_equal_operators_whose_content_changes_is_verified(change: str):
    module = parse(make_context(), Chunk("t.mlir", ALIKE_WITH_CONTENT))
    verifier = Verifier()
    verifier.verify(module)
    (function,) = module.ops
    outer = function.regions[0].block
    _, second, third, _ = outer.ops
    block = third.regions[0].block
    product, relu, end = block.ops
    match change:
        case "operand":
            third.operands[0] = outer.args[2]
        case "outside":
            product.operands[0] = outer.args[0]
        case "argument":
            Rewriter.replace_value_with_new_type(block.args[1], outer.args[2].type)
        case "property":
            relu.properties["alpha"] = StringAttr("0.5")
        case "order":
            relu.detach()
            block.insert_op_before(relu, product)
        case "anchor":
            third.properties["anchor"] = StringAttr("ge.conv2d")
        case "end":
            end.detach()
        case _:
            third.regions[0].add_block(Block())
    with pytest.raises(InvalidOperation):
        verifier.verify(module)
    verifier.verify(parse(make_context(), Chunk("t.mlir", ALIKE_WITH_CONTENT)))


BUFFERS = """
ascend.task.program @p soc("Ascend310P3") {
  %a = ascend.task.buffer workspace : tensor<4x8xf16>
  %b = ascend.task.buffer workspace : tensor<4x8xf16>
  %u = ascend.task.buffer workspace alias(%a : tensor<4x8xf16>) : tensor<32xf16>
  %v = ascend.task.buffer workspace alias(%b : tensor<4x8xf16>) : tensor<32xf16>
}"""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("segment", StringAttr("input")),
        ("segment", StringAttr("nowhere")),
        ("index", IntegerAttr(3, i64)),
        ("inside", IntegerAttr(-2, i64)),
        ("offset", StringAttr("0")),
        ("label", IntegerAttr(0, i64)),
        ("value", StringAttr("a weight's")),
    ],
)
def test_one_of_many_equal_buffers_that_changes_is_verified(name: str, value: Attribute):
    module = parse(make_context(), Chunk("t.mlir", BUFFERS))
    (program,) = module.ops
    verifier = Verifier()
    verifier.verify(module)
    *_, view = program.regions[0].block.ops
    view.properties[name] = value
    with pytest.raises(InvalidOperation):
        verifier.verify(module)


def test_a_view_whose_buffer_changes_is_verified():
    module = parse(make_context(), Chunk("t.mlir", BUFFERS))
    (program,) = module.ops
    verifier = Verifier()
    verifier.verify(module)
    _, owner, *_ = program.regions[0].block.ops
    owner.properties["index"] = IntegerAttr(1, i64)
    with pytest.raises(InvalidOperation, match="shares the storage of workspace 1"):
        verifier.verify(module)


def test_one_of_many_equal_constants_that_changes_is_verified():
    constant = "  %{} = ge.constant dense<[1.0, 2.0]> : tensor<2xf32>\n"
    text = "func.func @main() {\n" + "".join(constant.format(name) for name in "abc") + "  func.return\n}"
    module = parse(make_context(), Chunk("t.mlir", text))
    verifier = Verifier()
    verifier.verify(module)
    (function,) = module.ops
    *_, last, _ = function.regions[0].block.ops
    last.properties["value"] = DenseIntOrFPElementsAttr.from_list(TensorType(f32, [3]), [1.0, 2.0, 3.0])
    with pytest.raises(InvalidOperation):
        verifier.verify(module)
