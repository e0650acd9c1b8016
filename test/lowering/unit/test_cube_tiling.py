"""Tilings of Cube kernels: what is chosen fits the chip with double buffering, or there is no kernel."""

from __future__ import annotations

import pytest
from harness.kernels import SOC
from hypothesis import Phase, assume, event, given, settings
from hypothesis import strategies as st

from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.dialects.ascend.memory import AllocOp
from graph_engine.dialects.ascend.spaces import space_of
from graph_engine.lowering.double_buffer import double_buffer
from graph_engine.lowering.kernels.conv2d import build_conv2d
from graph_engine.lowering.kernels.conv_shape import ConvShape
from graph_engine.lowering.kernels.epilogue import Epilogue, EpilogueInput
from graph_engine.lowering.kernels.loops import enclosing_loops
from graph_engine.lowering.kernels.matmul import MatmulShape, Side, build_matmul
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.step import Step
from graph_engine.lowering.plan_onchip_buffers import plan_onchip_buffers
from graph_engine.target_ascend.isa.model import DType, Space

PLAIN = Epilogue()
RESIDUAL = Epilogue((Step("ge.add", (0, 1)), Step("ge.relu", (2,))), (EpilogueInput("tile"),))
SCALED = Epilogue((Step("ge.mul", (0, 1)), Step("ge.add", (2, 3))), (EpilogueInput("channel"), EpilogueInput("tile")))
SIGMOID = Epilogue((Step("ge.sigmoid", (0,)),), (), out_dtype=DType.F16)
WIDE = Epilogue((Step("ge.cast", (0,), (), DType.F32),), (), out_dtype=DType.F32)
EPILOGUES = {"plain": PLAIN, "residual": RESIDUAL, "scaled": SCALED, "sigmoid": SIGMOID, "wide": WIDE}


def conv(
    c: int, size: tuple[int, int], n: int, kernel: tuple[int, int], strides: tuple[int, int] = (1, 1), *, batch: int = 1,
    groups: int = 1, dilations: tuple[int, int] = (1, 1), bias: bool = True,
) -> ConvShape:  # fmt: skip
    """A convolution over c channels to n channels (of one block of groups) that keeps the size but for the stride."""
    pads = [(k - 1) * d // 2 for k, d in zip(kernel, dilations, strict=True)]
    ho, wo = ((size[i] + 2 * pads[i] - (kernel[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in (0, 1))
    both = pads[0], pads[1], pads[0], pads[1]
    return ConvShape(
        batch, groups, -(-c // 16), *size, -(-n // 16), ho, wo, kernel, strides, dilations, both, bias
    )  # fmt: skip


def smallest(shape: ConvShape) -> int:
    """Bytes of L1 that the input of 16 outputs of one row and the weights of 16 channels take, once."""
    reach = [
        min(extent, (count - 1) * stride + (k - 1) * d + 1)
        for extent, count, stride, k, d in zip(
            (shape.h, shape.w), (1, min(16, shape.wo)), shape.strides, shape.kernel, shape.dilations, strict=True
        )
    ]
    return shape.c1 * reach[0] * reach[1] * 32 + shape.k1 * 512


def check(kernel: KernelOp, doubled: bool = True) -> None:
    """Places every buffer twice over where it is refilled; no bytes beyond the space, no overlap within a range."""
    kernel.verify()
    double_buffer(kernel, SOC)
    plan_onchip_buffers(kernel, SOC)
    for region in kernel.body.block.ops:
        taken: dict[Space, dict[str, tuple[int, int]]] = {}
        for op in region.walk():
            if isinstance(op, AllocOp):
                assert op.address is not None and op.bytes is not None
                start, space = op.address.value.data, space_of(op.memory)
                end = start + op.bytes.value.data * op.version_count
                assert end <= SOC.buffers[space.name.lower()]
                assert start % SOC.alignment[space.name.lower()] == 0
                taken.setdefault(space, {})[op.slot.data] = start, end
                if doubled and space in (Space.L1, Space.L0A, Space.L0B, Space.L0C) and enclosing_loops(op):
                    assert op.version_count == 2, f"{op.slot.data} is refilled and stands once"
        for spans in taken.values():
            ordered = sorted(spans.values())
            assert all(a[1] <= b[0] for a, b in zip(ordered, ordered[1:], strict=False))


NETWORKS = {
    "resnet conv1": conv(3, (224, 224), 64, (7, 7), (2, 2)),
    "resnet 56": conv(64, (56, 56), 64, (3, 3)),
    "resnet 7": conv(512, (7, 7), 512, (3, 3)),
    "resnet shortcut": conv(1024, (14, 14), 2048, (1, 1), (2, 2)),
    "resnet batch 16": conv(256, (14, 14), 256, (3, 3), batch=16),
    "vgg first": conv(3, (224, 224), 64, (3, 3)),
    "vgg second": conv(64, (224, 224), 64, (3, 3)),
    "vgg 512": conv(512, (28, 28), 512, (3, 3)),
    "mobilenet depthwise 112": conv(16, (112, 112), 16, (3, 3), groups=2),
    "mobilenet depthwise 7": conv(16, (7, 7), 16, (3, 3), groups=64),
    "mobilenet pointwise": conv(512, (14, 14), 512, (1, 1)),
    "resnext": conv(16, (56, 56), 16, (3, 3), groups=8),
    "alexnet first": conv(3, (224, 224), 96, (11, 11), (4, 4)),
    "inception 1x7": conv(192, (17, 17), 192, (1, 7)),
    "whisper first": conv(80, (1, 3000), 384, (1, 3)),
    "whisper second": conv(384, (1, 3000), 384, (1, 3), (1, 2)),
    "wav2vec2 second": conv(512, (1, 3199), 512, (1, 3), (1, 2)),
    "wav2vec2 positions": conv(48, (1, 49), 48, (1, 128), groups=16),
    "wide image": conv(64, (4, 8192), 64, (3, 3)),
    "atrous": conv(512, (65, 65), 512, (3, 3), dilations=(4, 4)),
}


@pytest.mark.parametrize("epilogue", EPILOGUES)
@pytest.mark.parametrize("name", NETWORKS)
def test_layers_of_networks(name: str, epilogue: str) -> None:
    check(build_conv2d("k", NETWORKS[name], EPILOGUES[epilogue], SOC), doubled=name != "atrous")


@settings(max_examples=150, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
@given(st.data())
def test_any_convolution(data: st.DataObject) -> None:
    def pair(low: int, high: int) -> tuple[int, int]:
        return data.draw(st.tuples(st.integers(low, high), st.integers(low, high)))

    groups = data.draw(st.sampled_from([1, 1, 1, 2, 7, 32]))
    c, n = (data.draw(st.integers(1, 512 if groups == 1 else 64)) for _ in "cn")
    size, kernel, strides, dilations = pair(1, 224), pair(1, 7), pair(1, 3), pair(1, 2)
    assume(all(s + 2 * ((k - 1) * d // 2) > (k - 1) * d for s, k, d in zip(size, kernel, dilations, strict=True)))
    batch = data.draw(st.sampled_from([1, 1, 3, 8]))
    shape = conv(c, size, n, kernel, strides, batch=batch, groups=groups, dilations=dilations, bias=data.draw(st.booleans()))  # fmt: skip
    try:
        kernel_op = build_conv2d("k", shape, EPILOGUES[data.draw(st.sampled_from(sorted(EPILOGUES)))], SOC)
    except NoKernel as reason:
        event(str(reason))
        assert smallest(shape) > SOC.buffers["l1"]
        return
    event("kernel")
    check(kernel_op, doubled=2 * smallest(shape) <= SOC.buffers["l1"])


@settings(max_examples=80, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
@given(st.data())
def test_any_matrix_product(data: st.DataObject) -> None:
    m1, k1, n1 = (data.draw(st.integers(1, 8) | st.integers(1, 300), name) for name in ("m1", "k1", "n1"))
    batch = (data.draw(st.sampled_from([1, 1, 12])),)
    left, right = (Side(data.draw(st.sampled_from([(0,), (1,)])), data.draw(st.booleans())) for _ in range(2))
    shape = MatmulShape(m1, k1, n1, data.draw(st.booleans(), "bias"), batch, left, right)
    check(build_matmul("k", shape, EPILOGUES[data.draw(st.sampled_from(["plain", "residual", "wide"]))], SOC))
