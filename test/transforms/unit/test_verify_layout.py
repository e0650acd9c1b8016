"""verify-layout names the operator and both formats."""

import pytest
from xdsl.parser import Parser

from graph_engine.errors import GraphEngineError
from graph_engine.pipelines.context import make_context
from graph_engine.transforms.verify_layout import VerifyLayout

FM = "tensor<1x{c}x4x4xf16, #layout.nc1hwc0<pad = {pad}>>"
FULL, ZERO, UNDEF = FM.format(c=16, pad="zero"), FM.format(c=8, pad="zero"), FM.format(c=8, pad="undef")
ND16, ND8 = "tensor<1x16x4x4xf16>", "tensor<1x8x4x4xf16>"
FILTER = "tensor<8x8x1x1xf16, #layout.fractal_z>"
SCALAR = "tensor<1xf16>"


def check(arguments: str, body: str) -> None:
    text = f"func.func @main({arguments}) {{ {body} return }}"
    context = make_context()
    module = Parser(context, text).parse_module()
    module.verify()
    VerifyLayout().apply(context, module)


def refused(arguments: str, body: str, message: str) -> None:
    with pytest.raises(GraphEngineError) as error:
        check(arguments, body)
    assert message in str(error.value)


def conv(x: str, w: str, y: str) -> str:
    return f"%y = ge.conv2d %a, %b : ({x}, {w}) -> {y}"


def test_legal() -> None:
    check(
        f"%x: {ND8}, %w: tensor<8x8x1x1xf16>",
        f"%a = layout.transdata %x : {ND8} -> {ZERO}  %b = layout.transdata %w : tensor<8x8x1x1xf16> -> {FILTER}"
        + conv(ZERO, FILTER, ZERO),
    )


def test_heavy_in_nd() -> None:
    body = conv(ND8, "tensor<8x8x1x1xf16>", ND8).replace("%y =", "%y =") + ' loc("c1"("Conv"("t")))'
    refused(f"%a: {ND8}, %b: tensor<8x8x1x1xf16>", body, "ge.conv2d (c1): wants NC1HWC0, found ND")


@pytest.mark.parametrize(
    ("x", "w", "y", "message"),
    [
        (ZERO, "tensor<8x8x1x1xf16>", ZERO, "operand 1 must be #layout.fractal_z<n0 = 16"),
        (ND8, FILTER, ZERO, "operand 0 must be #layout.nc1hwc0<c0 = 16, pad = zero>, found ND"),
        (UNDEF, FILTER, ZERO, "operand 0 must be #layout.nc1hwc0<c0 = 16, pad = zero>, found #layout.nc1hwc0"),
        (ZERO, FILTER, ND8, "the result must be #layout.nc1hwc0<c0 = 16, pad = zero>, found ND"),
    ],
)
def test_convolution(x: str, w: str, y: str, message: str) -> None:
    body = f"%a = layout.transdata %x : {ND8} -> {x} %b = layout.transdata %w : tensor<8x8x1x1xf16> -> {w} "
    refused(f"%x: {ND8}, %w: tensor<8x8x1x1xf16>", body + conv(x, w, y), message)


def test_padding_promise() -> None:
    """exp(0) = 1: the result may not claim zeros; with 16 channels there is nothing to claim."""
    body = "%a = layout.transdata %x : {nd} -> {x} %y = ge.exp %a : ({x}) -> {y}"
    refused(
        f"%x: {ND8}", body.format(nd=ND8, x=ZERO, y=ZERO), "declared pad = zero, but its padding lanes are not zero"
    )
    check(f"%x: {ND8}", body.format(nd=ND8, x=ZERO, y=UNDEF))
    check(f"%x: {ND16}", body.format(nd=ND16, x=FULL, y=FULL))


def test_scalar_is_read_as_it_is() -> None:
    body = f"%a = layout.transdata %x : {ND8} -> {ZERO} %y = ge.mul %a, %s : ({ZERO}, {SCALAR}) -> {ZERO}"
    check(f"%x: {ND8}, %s: {SCALAR}", body)
    refused(f"%x: {ND8}, %s: {SCALAR}", body.replace("ge.mul", "ge.add"), "padding lanes are not zero")
    one = ("x8x", "x1x")  # one channel: the scalar is as wide as the tensor, its lanes are not
    refused(f"%x: {ND8.replace(*one)}, %s: {SCALAR}", body.replace("ge.mul", "ge.add").replace(*one), "are not zero")


def test_border() -> None:
    refused(f"%x: {ZERO}", f"%y = ge.relu %x : ({ZERO}) -> {ZERO}", "a model input must be ND, found NC1HWC0")


def test_operator_without_the_format() -> None:
    body = f"%a = layout.transdata %x : {ND8} -> {ZERO} %y = ge.softmax %a {{axis = 1}} : ({ZERO}) -> {ZERO}"
    refused(f"%x: {ND8}", body, "ge.softmax: does not work in NC1HWC0")


def test_view() -> None:
    """One pixel of 32 channels is a row of 32; with 30 channels or two pixels it is not."""

    def view(shape: str, columns: int) -> tuple[str, str]:
        source = f"tensor<2x{shape}xf16, #layout.nc1hwc0>"
        target = f"tensor<2x{columns}xf16>"
        body = f"%a = layout.transdata %x : tensor<2x{shape}xf16> -> {source}"
        return (
            f"%x: tensor<2x{shape}xf16>",
            f"{body} %y = ge.reshape %a {{shape = [2, {columns}]}} : ({source}) -> {target}",
        )

    check(*view("32x1x1", 32))
    refused(*view("30x1x1", 30), "the bytes of")
    refused(*view("32x2x1", 64), "the bytes of")


def test_counts_further_faults() -> None:
    body = f"%y = ge.relu %x : ({ZERO}) -> {ZERO} %z = ge.relu %u : ({ZERO}) -> {ZERO}"
    refused(f"%x: {ZERO}, %u: {ZERO}", body, "(and 1 more)")
