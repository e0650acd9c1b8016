"""Random ONNX networks of convolutions, scales, activations and joins, for laws that hold for every graph."""

from hypothesis import strategies as st
from models.small import GraphBuilder

KINDS = (
    "conv",
    "depthwise",
    "bn",
    "scale",
    "shift",
    "ratio",
    "relu",
    "sigmoid",
    "add",
    "mul",
    "concat",
    "pool",
    "transpose",
)


@st.composite
def networks(draw):
    """Feature maps of one size; each step picks its operands anywhere earlier, so values get several users."""
    b = GraphBuilder(draw(st.integers(0, 9)))
    values = [(b.input("x", (2, 8, 4, 4)), 8)]
    for _ in range(draw(st.integers(2, 10))):
        kind = draw(st.sampled_from(KINDS))
        name, channels = values[draw(st.integers(max(0, len(values) - 3), len(values) - 1))]
        alike = [value for value, count in values if count == channels]
        other = alike[draw(st.integers(0, len(alike) - 1))]
        match kind:
            case "conv":
                outputs = draw(st.sampled_from((8, 16)))
                values.append((b.conv(name, channels, outputs, draw(st.sampled_from((1, 3)))), outputs))
            case "depthwise":
                values.append((b.conv(name, channels, channels, group=channels), channels))
            case "bn":
                values.append((b.batch_norm(name, channels), channels))
            case "scale" | "shift":
                shape = draw(st.sampled_from(((channels, 1, 1), (1, channels, 1, 1), (1,), (4,), (1, 1, 4, 4))))
                op = {"scale": "Mul", "shift": "Add"}[kind]
                values.append((b.node(op, [name, b.weight(shape, -0.5, 0.5)]), channels))
            case "ratio":  # 0 / 0 in the padding lanes, so that a broken promise of zeros shows as nan
                values.append((b.node("Div", [name, b.weight((1, channels, 1, 1), 0.5, 1.5)]), channels))
            case "relu" | "sigmoid":
                values.append((b.node(kind.capitalize(), [name]), channels))
            case "add" | "mul":
                values.append((b.node(kind.capitalize(), [other, name]), channels))
            case "concat":
                if channels <= 16:
                    values.append((b.node("Concat", [name, other], axis=1), 2 * channels))
            case "pool":
                pool = b.node("MaxPool", [name], kernel_shape=[3, 3], pads=[1, 1, 1, 1])
                values.append((pool, channels))
            case _:
                values.append((b.node("Transpose", [name], perm=[0, 1, 3, 2]), channels))
    if len(values) == 1:  # a graph that returns its input is no network
        values.append((b.node("Relu", [values[0][0]]), 8))
    outputs = {values[-1][0], values[draw(st.integers(1, len(values) - 1))][0]}
    return b.model(*sorted(outputs))
