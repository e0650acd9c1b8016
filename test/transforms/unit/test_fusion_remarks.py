"""Why something was fused or not, why a BatchNorm or a constant operator stays, and which kernel does the work."""

from collections.abc import Sequence

import pytest

from graph_engine.pipelines.context import make_context
from graph_engine.pipelines.registry import instantiate
from graph_engine.pipelines.runner import RunOptions, Step, run_steps
from graph_engine.pipelines.source import parse, split
from graph_engine.pipelines.spec import parse_pipeline
from graph_engine.transforms.remarks import Kind, Remark
from graph_engine.transforms.switches import ALL_ON, Switches

MAP = "tensor<1x16x8x8xf32>"
ONE = f"({MAP}) -> {MAP}"
CONSTANTS = """
  %w = ge.constant dense<0.5> : tensor<16x16x1x1xf32>
  %s = ge.constant dense<2.0> : tensor<16xf32>
  %zero = ge.constant dense<0.0> : tensor<16xf32>
"""
CONV = f"({MAP}, tensor<16x16x1x1xf32>) -> {MAP}"
NORM = f"({MAP}, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> {MAP}"


def heard(
    body: str, result: str, passes: str, *, kinds: Sequence[Kind] = tuple(Kind), switches: Switches = ALL_ON
) -> list[Remark]:
    """What `passes` remark about a graph over a feature map %x, with two vectors that are no constants."""
    text = f"func.func @main(%x: {MAP}, %v: tensor<16xf32>, %i: tensor<16xi32>, %k: tensor<16x16x1x1xf32>) -> ({result}) {{\n{CONSTANTS}{body}}}"
    context = make_context()
    (chunk,) = split("main.mlir", text, by_separator=False)
    module = parse(context, chunk)
    steps = [Step(instantiate(spec)) for spec in parse_pipeline(passes)]
    return run_steps(context, module, steps, RunOptions(remarks=frozenset(kinds), switches=switches)).remarks


def told(remarks: Sequence[Remark], name: str) -> list[tuple[str, object, str]]:
    """Operator, guard and message of the remarks of one sort."""
    return [(remark.op, remark.args.get("guard"), remark.message) for remark in remarks if remark.name == name]


def test_a_folded_batch_norm():
    body = f"%c = ge.conv2d %x, %w : {CONV}\n %n = ge.batch_norm %c, %s, %s, %s, %s : {NORM}\n return %n : {MAP}\n"
    remarks = heard(body, MAP, "fuse-conv-bn-relu")
    assert told(remarks, "FoldedIntoWeights") == [
        ("ge.batch_norm", None, "ge.batch_norm went into the weights of ge.conv2d")
    ]
    assert not told(remarks, "BatchNormStays")
    assert told(remarks, "NotFused") == [
        ("ge.conv2d", "output", "nothing more leaves with ge.conv2d: its result leaves the graph")
    ]


def test_a_convolution_behind_which_a_kernel_stands():
    body = "".join(
        f"%c{n} = ge.conv2d %x{n}, %w : {CONV}\n%x{n + 1} = ge.relu %c{n} : {ONE}\n" for n in range(2)
    ).replace("%x0", "%x")
    body += f"%c2 = ge.conv2d %x2, %w : {CONV}\n%c3 = ge.conv2d %c2, %w : {CONV}\n%a = ge.add %c2, %c3 : ({MAP}, {MAP}) -> {MAP}\n"
    found = [
        message for _, _, message in told(heard(f"{body}return %a : {MAP}\n", MAP, "fuse-conv-bn-relu"), "NotFused")
    ]
    assert "nothing more leaves with ge.conv2d: its reader ge.conv2d is a kernel" in found


@pytest.mark.parametrize(
    ("body", "guard", "reason"),
    [
        (f"%n = ge.batch_norm %x, %s, %s, %s, %s : {NORM}\n", "operator", "it reads an input, no convolution"),
        (
            f"%c = ge.relu %x : {ONE}\n%n = ge.batch_norm %c, %s, %s, %s, %s : {NORM}\n",
            "operator",
            "it reads ge.relu, no convolution",
        ),
        (
            f"%c = ge.conv2d %x, %w : {CONV}\n%r = ge.tanh %c : {ONE}\n%m = ge.batch_norm %c, %s, %s, %s, %s : {NORM}\n"
            f"%n = ge.add %r, %m : ({MAP}, {MAP}) -> {MAP}\n",
            "single-user",
            "its convolution has other readers: its result is read by 'ge.batch_norm', 'ge.tanh'",
        ),
        (
            f"%c = ge.conv2d %x, %k : {CONV}\n%n = ge.batch_norm %c, %s, %s, %s, %s : {NORM}\n",
            "constant",
            "the weights of the convolution are not constant",
        ),
        (
            f"%c = ge.conv2d %x, %w : {CONV}\n%n = ge.batch_norm %c, %s, %v, %s, %s : {NORM}\n",
            "constant",
            "its parameters are not constant",
        ),
        (
            f"%c = ge.conv2d %x, %w : {CONV}\n%n = ge.batch_norm %c, %s, %s, %s, %zero {{epsilon = 0.0}} : {NORM}\n",
            "variance",
            "a variance + epsilon is not positive, its result is not finite",
        ),
    ],
)
def test_a_batch_norm_that_stays(body: str, guard: str, reason: str):
    remarks = heard(f"{body}return %n : {MAP}\n", MAP, "fuse-conv-bn-relu")
    assert told(remarks, "BatchNormStays") == [("ge.batch_norm", guard, f"not folded: {reason}")]


def test_a_batch_norm_whose_folding_is_switched_off():
    body = f"%c = ge.conv2d %x, %w : {CONV}\n%n = ge.batch_norm %c, %s, %s, %s, %s : {NORM}\nreturn %n : {MAP}\n"
    remarks = heard(body, MAP, "fuse-conv-bn-relu", switches=Switches({"fold-batch-norm-into-conv": False}))
    assert [guard for _, guard, _ in told(remarks, "BatchNormStays")] == ["switched-off"]


@pytest.mark.parametrize(
    ("body", "result", "expected"),
    [
        (f"%a = ge.tanh %x : {ONE}\nreturn %a : {MAP}\n", MAP, []),
        (
            f"%a = ge.tanh %x : {ONE}\n%b = ge.conv2d %a, %w : {CONV}\nreturn %b : {MAP}\n",
            MAP,
            [("operator", "its reader ge.conv2d is no elementwise operator in fp16 or fp32")],
        ),
        (
            f"%a = ge.tanh %x : {ONE}\nreturn %a, %a : {MAP}, {MAP}\n",
            f"{MAP}, {MAP}",
            [("single-user", "its result leaves the graph")],
        ),
        (
            f"%a = ge.tanh %v : (tensor<16xf32>) -> tensor<16xf32>\n%c = ge.reshape %x {{shape = [64, 16]}} : ({MAP}) -> "
            "tensor<64x16xf32>\n%b = ge.add %c, %a : (tensor<64x16xf32>, tensor<16xf32>) -> tensor<64x16xf32>\n"
            "return %b : tensor<64x16xf32>\n",
            "tensor<64x16xf32>",
            [("shape", "its reader ge.add broadcasts it to [64, 16]")],
        ),
        (
            "".join(f"%a{n + 1} = ge.tanh %a{n} : {ONE}\n" for n in range(3)).replace("%a0", "%x")
            + f"return %a3 : {MAP}\n",
            MAP,
            [("size", "its reader ge.tanh would make more than 2 operators or 8 operands")],
        ),
    ],
)
def test_what_ended_an_elementwise_group(body: str, result: str, expected: list[tuple[str, str]]):
    remarks = heard(body, result, "fuse-elementwise{max_ops=2}")
    found = [(guard, message.partition(": ")[2]) for _, guard, message in told(remarks, "NotFused")]
    assert found == expected


def test_what_ended_a_reduction():
    softmax = f"%a = ge.softmax %x : {ONE}\n"
    remarks = heard(f"{softmax}%b = ge.conv2d %a, %w : {CONV}\nreturn %b : {MAP}\n", MAP, "fuse-reduction")
    assert told(remarks, "NotFused") == [
        (
            "ge.softmax",
            "operator",
            "a group ends with ge.softmax: its reader ge.conv2d is no elementwise operator in fp16 or fp32",
        )
    ]


def test_a_constant_that_would_grow_too_much():
    body = (
        "%e = ge.expand %s {shape = [64, 16]} : (tensor<16xf32>) -> tensor<64x16xf32>\nreturn %e : tensor<64x16xf32>\n"
    )
    (remark,) = heard(body, "tensor<64x16xf32>", "fold-constants{max_growth=100}")
    assert (remark.kind, remark.name, remark.op) == (Kind.MISSED, "NotFolded", "ge.expand")
    assert remark.args == {"guard": "size", "bytes": 64 * 16 * 4 - 16 * 4, "limit": 100}


def test_the_kernel_and_its_engine():
    body = f"%a = ge.tanh %x : {ONE}\nreturn %a : {MAP}\n"
    (remark,) = heard(body, MAP, "lower-to-kernels")
    assert (remark.kind, remark.name, remark.op) == (Kind.ANALYSIS, "Kernel", "ge.tanh")
    assert {key: remark.args[key] for key in ("kernel", "type", "engine")} == {
        "kernel": "tanh_0",
        "type": "Tanh",
        "engine": "vec",
    }
    assert 1 <= remark.args["block_dim"] <= 8
    assert list(remark.args["buffers"]) == ["ub"] and remark.args["buffers"]["ub"] > 0


def test_an_operator_without_a_kernel():
    """No instruction computes in fp64."""
    body = "%a = ge.cast %i : (tensor<16xi32>) -> tensor<16xf64>\nreturn %a : tensor<16xf64>\n"
    (remark,) = heard(body, "tensor<16xf64>", "lower-to-kernels")
    assert (remark.kind, remark.name, remark.op) == (Kind.MISSED, "AiCpu", "ge.cast")
    assert remark.message == f"ge.cast runs on the AI CPU: {remark.args['reason']}"


def test_a_region_that_falls_apart():
    map64 = "tensor<16xf64>"
    body = f"""%c = ge.constant dense<1.0> : {map64}
    %f = ge.fused ins(%c : {map64}) {{anchor = "ge.mul"}} {{
    ^bb0(%a: {map64}):
      %0 = ge.mul %a, %a : ({map64}, {map64}) -> {map64}
      %1 = ge.mul %0, %a : ({map64}, {map64}) -> {map64}
      ge.yield %1 : {map64}
    }} -> {map64}
    return %f : {map64}
    """
    remarks = heard(body, map64, "lower-to-kernels")
    assert [(remark.name, remark.op) for remark in remarks] == [
        ("SplitFused", "ge.fused"),
        ("AiCpu", "ge.mul"),
        ("AiCpu", "ge.mul"),
    ]
    assert remarks[0].args["operators"] == ["ge.mul", "ge.mul"]
    assert remarks[0].message == f"no kernel does ge.mul, ge.mul at once: {remarks[0].args['reason']}"


def test_no_reason_is_looked_for_if_nobody_listens(monkeypatch: pytest.MonkeyPatch):
    from graph_engine.lowering import kernel_remarks
    from graph_engine.transforms import fuse_conv_bn_relu, fuse_elementwise

    def search(*_: object) -> None:
        raise AssertionError("looked for a reason")

    monkeypatch.setattr(fuse_conv_bn_relu, "why_it_stays", search)
    monkeypatch.setattr(fuse_elementwise, "only_reader", search)
    monkeypatch.setattr(kernel_remarks, "_on_chip_bytes", search)
    body = f"%n = ge.batch_norm %x, %s, %s, %s, %s : {NORM}\nreturn %n : {MAP}\n"
    passes = "fuse-conv-bn-relu,expand-batch-norm,fuse-reduction,fuse-elementwise,lower-to-kernels"
    assert not heard(body, MAP, passes, kinds=[Kind.WARNING])
