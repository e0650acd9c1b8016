"""Which storage formats each operator takes: the rules that propagation follows and verification checks.

Two families of formats are offered: NC1HWC0 for feature maps, FRACTAL_NZ for matrices. A convolution of at most four
channels that come from ND has them in NC1HWC0_C04, which is converted from ND alone. An operator either takes part
in a family, with formats for all its operands and its result, or stays ND. Sources: the operator information libraries'
typical choices (Conv2D: NC1HWC0, FRACTAL_Z, ND bias; MatMul on 310P: FRACTAL_NZ, FRACTAL_Z).

Padding lanes are part of the rule: an operator that sums over a padded axis asks for `pad = zero`, one that does not
keep zeros yields `pad = undef`. Where an axis has no padding, the promise of zeros costs nothing and is made.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from xdsl.dialects.builtin import IntegerType, bf16, f16, f32, i1
from xdsl.ir import BlockArgument, Operation, SSAValue

from graph_engine.dialects.ge.attention import Attention, attention_of, side_kind
from graph_engine.dialects.ge.channels import ChannelShuffleOp, DepthToSpaceOp
from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.convolution import Conv2dOp, Conv3dOp
from graph_engine.dialects.ge.core import DYNAMIC, GeOp, Trait, element_of, shape_of
from graph_engine.dialects.ge.elementwise import CastOp
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.heads import MergeHeadsOp, RotaryMulOp, SplitHeadsOp
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.logic import works_on_masks
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.normalization import GroupNormOp, LayerNormOp, LrnOp, RmsNormOp, SoftmaxOp, rows_of_scale
from graph_engine.dialects.ge.pooling import MaxPool3dOp
from graph_engine.dialects.ge.quantization import Conv2dIntegerOp
from graph_engine.dialects.ge.reduction import ReduceMaxOp, ReduceMeanOp, ReduceOp
from graph_engine.dialects.ge.sampling import ResizeOp
from graph_engine.dialects.ge.shape import ConcatOp, PadOp, ReshapeOp, SliceOp, TransposeOp
from graph_engine.dialects.ge.upsampling import repeats_pixels
from graph_engine.dialects.layout import (
    NC1HWC0,
    Encoding,
    Pad,
    fractal_nz,
    fractal_z,
    fractal_z_3d,
    fractal_z_c04,
    fractal_z_kn,
    is_plain,
    nc1hwc0,
    nc1hwc0_c04,
    ndc1hwc0,
)
from graph_engine.transforms.orientation import TO_NCHW
from graph_engine.transforms.padding import (
    LOOKS,
    all_zero,
    elementwise_padding,
    finite_operands,
    keep,
    moved_padding,
    stays_finite,
)
from graph_engine.transforms.quantised_formats import is_quantised, quantised_formats, stored_map
from graph_engine.transforms.stored_values import FRACTAL_ROWS, Family, Format, is_row, is_scalar, keeps_fractals

PIXEL = 4
"""Channels of a pixel in NC1HWC0_C04."""


@dataclass(frozen=True)
class Formats:
    """The formats of one operator, operand by operand, and of its result."""

    operands: tuple[Format, ...]
    result: Format


def is_feature_map(value: SSAValue) -> bool:
    """Whether NC1HWC0, NDC1HWC0 of volumes, can hold the value: rank 4 or 5, known channels, a float type or a mask
    inside a group of floats."""
    known = len(shape_of(value)) in (4, 5) and shape_of(value)[1] != DYNAMIC
    return known and (element_name(element_of(value)) in ("f16", "bf16", "f32") or is_inner_mask(value))


def is_inner_mask(value: SSAValue) -> bool:
    """Whether a value is a mask that a group computes and nobody stores."""
    inside = isinstance(value.owner, Operation) and isinstance(value.owner.parent_op(), FusedOp)
    return inside and element_of(value) == i1


def on_the_cube(value: SSAValue) -> bool:
    """Whether every Cube multiplies the value's type: what is kept in fp32 or in wide integers needs no fractals there."""
    element = element_of(value)
    return element in (f16, bf16) or (isinstance(element, IntegerType) and element.width.data <= 8)


class FormatRules:
    """The rules for one chip: `c0` gives the inner block of an element type by its MLIR name, `heavy` the operators
    that ask for the Cube's formats; `saturating`: fp16 ends at its largest number, so that sums stay finite; `small`: the
    channels of a pixel that img2col takes where they are fewer than C0, by element type; `wide`: the Cube multiplies fp32."""

    def __init__(
        self,
        c0: Mapping[str, int],
        heavy: Collection[str],
        saturating: bool = False,
        small: Mapping[str, int] | None = None,
        wide: bool = False,
    ):
        self.c0 = c0
        self.wide = wide
        self.heavy = frozenset(heavy)
        self.saturating = saturating
        self.small = small or {}

    @classmethod
    def for_soc(cls, soc: str) -> Self:
        """The rules for a chip by name or description file."""
        from graph_engine.target_ascend.soc.soc import load_soc

        description = load_soc(soc)
        return cls(
            description.c0,
            description.heavy_operators,
            description.numerics.overflow_mode == "saturating",
            description.load3d.small_channels,
            description.supports_mmad("f32", "f32", "f32"),
        )

    def without_pixels(self) -> Self:
        """The rules for a graph whose input is there in blocks of C0: pixels of four would take a conversion."""
        return type(self)(self.c0, self.heavy, self.saturating, wide=self.wide)

    def own_family(self, op: Operation) -> Family | None:
        """The family that an operator asks for whatever its neighbours use; None for followers and for ND operators.

        Pools are not heavy, but the libraries have them in NC1HWC0 alone; this compiler some repetitions of pixels.
        """
        match op:
            case FusedOp():
                return self.own_family(op.anchor_op)
            case Conv2dOp() | Conv3dOp() | Conv2dIntegerOp() if Conv2dOp.name in self.heavy:
                return Family.NC1HWC0
            case MatmulOp() if op.name in self.heavy:
                return Family.FRACTAL_NZ
            case GeOp() if op.has(Trait.POOL) and (len(shape_of(op.result)) == 4 or isinstance(op, MaxPool3dOp)):
                return Family.NC1HWC0
            case ResizeOp() if repeats_pixels(op) and is_feature_map(op.result):
                return Family.NC1HWC0
            case _:
                return None

    def can_move(self, op: Operation) -> bool:
        """Whether the formats of `op` are to be chosen: an operator with operands, nothing of it stored specially yet."""
        if not isinstance(op, GeOp | FusedOp) or isinstance(op, ConstantOp):
            return False
        return all(is_plain(value.type) for value in (*op.operands, *op.results))

    def has_form(self, op: Operation, family: Family) -> bool:
        """Whether `op` can take part in `family`."""
        return self.of(op, family, (None,) * len(op.operands)) is not None

    def of(self, op: Operation, family: Family, given: Sequence[Format]) -> Formats | None:
        """The formats of `op` in `family`, None if it cannot take part.

        `given` are the operands' formats so far (None where ND or not known): one that fits is kept, padding included.
        """
        if len(op.results) != 1:
            return None
        try:
            match op:
                case FusedOp() if (attention := attention_of(op)) is not None:
                    return self._attention(op, attention, family, given)
                case FusedOp() | GeOp() if is_quantised(op):
                    formats = quantised_formats(op, given, self.c0["i8"]) if family is Family.NC1HWC0 else None
                    return None if formats is None else Formats(*formats)
                case GeOp() if is_quantised(op.parent_op()):
                    return Formats(tuple(given), stored_map(op.result, self.c0["i8"]))
                case FusedOp():
                    return self._fused(op, family, given)
                case GeOp() if attention_of(op.parent_op()) is not None:
                    return self._inside_attention(op, given)
                case GeOp() if family is Family.NC1HWC0:
                    return self._feature_map(op, given)
                case GeOp():
                    return self._matrix(op, given)
                case _:
                    return None
        except KeyError:  # the chip has no block size for an element type
            return None

    def _feature_map(self, op: GeOp, given: Sequence[Format]) -> Formats | None:
        if not is_feature_map(op.result):
            return None
        c0 = self._c0(op.result)
        full = shape_of(op.result)[1] % c0 == 0
        volumes = len(shape_of(op.result)) == 5
        if volumes and not (isinstance(op, Conv3dOp | MaxPool3dOp) or rides_along(op)):
            return None
        blocks = ndc1hwc0 if volumes else nc1hwc0
        match op:
            case Conv2dOp() | Conv3dOp():
                groups, channels = op.group.value.data, shape_of(op.x)[1]
                multiplied = on_the_cube(op.x) or (self.wide and element_of(op.x) == f32)
                if not multiplied or (volumes and DYNAMIC in (*shape_of(op.x), *shape_of(op.w))):
                    return None
                if isinstance(op, Conv2dOp) and self._takes_pixels(op, given[0]):
                    x = keep(given[0], nc1hwc0_c04(), strict=channels % PIXEL != 0)
                    return Formats((x, fractal_z_c04(FRACTAL_ROWS, c0), None)[: len(given)], nc1hwc0(c0))
                x = keep(given[0], blocks(c0), strict=channels % c0 != 0)
                stored = (fractal_z_3d if volumes else fractal_z)(FRACTAL_ROWS, c0, groups)
                return Formats((x, keep(given[1], stored, strict=True), None)[: len(given)], blocks(c0))
            case ChannelShuffleOp() | LrnOp():
                # Both kernels turn the blocks to rows of channels and back, with zeros behind the last channel.
                if element_name(element_of(op.x)) != "f16" or DYNAMIC in shape_of(op.x):
                    return None
                return Formats((keep(given[0], nc1hwc0(c0)),), nc1hwc0(c0))
            case ConcatOp() | SliceOp() | PadOp() | ResizeOp() | DepthToSpaceOp():
                operands = tuple(keep(format, nc1hwc0(c0)) for format in given)
                pad = moved_padding(op, operands, c0)
                return None if pad is None else Formats(operands, nc1hwc0(c0, "zero" if full else str(pad)))
            case LayerNormOp() | GroupNormOp():
                if not full or DYNAMIC in shape_of(op.x) or volumes or not normalizes_blocks(op, c0):
                    return None
                return Formats((keep(given[0], nc1hwc0(c0)), None, None)[: len(given)], nc1hwc0(c0))
            case ReduceMeanOp() | ReduceMaxOp():
                if not reduces_pixels(op):
                    return None
                x = keep(given[0], nc1hwc0(c0))
                return Formats((x,), nc1hwc0(c0, "zero" if full or x.pads_zero else "undef"))
            case GeOp() if op.has(Trait.POOL) or rides_along(op):
                operands = self._elementwise_feature_maps(op, given)
                if operands is None:
                    return None
                return Formats(
                    operands, blocks(c0, "zero" if full else elementwise_padding(op, operands, self.saturating))
                )
            case _:
                return None

    def _takes_pixels(self, op: Conv2dOp, given: Format) -> bool:
        """Whether a convolution of few channels has them in pixels of their own, unless they come in blocks of C0.

        K is never longer then, and the input a part of what it is in blocks. The filter is packed while compiling. Pixels
        that come in NHWC are converted to blocks in one task, which no kernel does to pixels of four.
        """
        few = 0 < shape_of(op.x)[1] <= PIXEL == self.small.get(element_name(element_of(op.x)))
        if not few or op.group.value.data != 1 or isinstance(given, NC1HWC0):
            return False
        LOOKS.count += 1
        region = op.parent_op()
        shared = isinstance(region, FusedOp) and len(list(op.x.uses)) > 1
        x, w = (
            region.inputs[value.index] if isinstance(region, FusedOp) and isinstance(value, BlockArgument) else value
            for value in (op.x, op.w)
        )
        channels_last = isinstance(x.owner, TransposeOp) and x.owner.ints("perm") == TO_NCHW
        return not shared and not channels_last and isinstance(w.owner, ConstantOp)

    def _elementwise_feature_maps(self, op: GeOp, given: Sequence[Format]) -> tuple[Format, ...] | None:
        (_, channels, *extents), c0 = shape_of(op.result), self._c0(op.result)
        blocks = ndc1hwc0 if len(extents) == 3 else nc1hwc0
        operands: list[Format] = []
        for value, format in zip(op.operands, given, strict=True):
            like = len(shape_of(value)) == len(extents) + 2
            if like and is_feature_map(value) and shape_of(value)[1] == channels:
                operands.append(keep(format, blocks(c0)))
            elif is_scalar(value):
                operands.append(None)
            else:
                return None
        return tuple(operands)

    def _matrix(self, op: GeOp, given: Sequence[Format]) -> Formats | None:
        shape = shape_of(op.result)
        if len(shape) < 2 or DYNAMIC in shape[-2:]:
            return None
        c0 = self._c0(op.result)
        nz = fractal_nz(c0)
        full_rows = shape[-2] % FRACTAL_ROWS == 0
        if isinstance(op, MatmulOp):
            if not on_the_cube(op.a):
                return None
            summed = op.reduction_extent()
            a = keep(given[0], nz, strict=summed % c0 != 0)
            # Where the sum runs over padding, zeros of a take finite numbers of b out of it.
            needed = Pad.undef if summed % c0 == 0 else Pad.finite if a.pads_zero else Pad.zero
            b = keep(given[1], self._matrix_weight(op, c0), least=needed)
            rows = full_rows or (op.bias is None and a.pads_zero)
            columns = shape[-1] % c0 == 0 or b.pads_zero
            finite = stays_finite(op, (a, b) if not columns else (a,), self.saturating)
            pad = "zero" if rows and columns else "finite" if finite else "undef"
            return Formats((a, b, None)[: len(given)], fractal_nz(c0, pad))
        if isinstance(op, SplitHeadsOp | MergeHeadsOp | ReshapeOp | SliceOp):
            x = keep(given[0], nz)
            return Formats((x,), x) if keeps_fractals(op, c0) else None
        if isinstance(op, ConcatOp):
            parts = tuple(keep(format, nz) for format in given)
            weakest = max((part.pad_lanes for part in parts), key=list(Pad).index)
            outer = op.axis.value.data % len(shape) < len(shape) - 2
            return Formats(parts, fractal_nz(c0, weakest)) if outer else None
        if isinstance(op, RotaryMulOp):
            sides = tuple(keep(format, nz) for format in given)
            finite = "finite" if stays_finite(op, sides, self.saturating) else "undef"
            pad = "zero" if full_rows or all_zero(sides) else finite
            return Formats(sides, fractal_nz(c0, pad)) if shape[-1] % (2 * c0) == 0 else None
        if not (rides_along(op) or reduces_rows(op, c0)):
            return None
        large = [value for value in (*op.operands, op.result) if shape_of(value) == shape]
        if any(element_of(value) == i1 and not is_inner_mask(value) for value in large):
            return None  # masks are stored in ND alone
        operands: list[Format] = []
        # A matrix of one row lies in ND as a row does, beside one that is stored in fractals.
        stored = any(shape_of(value) == shape and format for value, format in zip(op.operands, given, strict=True))
        for value, format in zip(op.operands, given, strict=True):
            if shape_of(value) == shape and not (stored and format is None and is_row(value, shape, c0)):
                operands.append(keep(format, nz))
            elif is_scalar(value) or is_row(value, shape, c0) or is_row_each(value, op):
                operands.append(None)
            else:
                return None
        if reduces_rows(op, c0):
            # Rows of padding are reduced as well; what is finite stays so.
            pad = "zero" if full_rows else "finite" if finite_operands(op, operands) else "undef"
            return Formats(tuple(operands), fractal_nz(c0, pad))
        full = full_rows and shape[-1] % c0 == 0
        return Formats(
            tuple(operands), fractal_nz(c0, "zero" if full else elementwise_padding(op, operands, self.saturating))
        )

    def _matrix_weight(self, op: MatmulOp, c0: int) -> Encoding:
        """A plain matrix goes to FRACTAL_Z, as (N, K) or as (K, N); a batch of matrices to FRACTAL_NZ."""
        if len(shape_of(op.b)) != 2:
            return fractal_nz(c0)
        return fractal_z(FRACTAL_ROWS, c0) if op.transpose_b.value.data else fractal_z_kn(FRACTAL_ROWS, c0)

    def _fused(self, op: FusedOp, family: Family, given: Sequence[Format]) -> Formats | None:
        """Every inner operator takes part, and all users of one operand want it in one format."""
        block = op.block
        inside: dict[SSAValue, Format] = {}
        wanted: dict[SSAValue, Format] = {}
        for inner in block.ops:
            if inner is block.last_op:
                break
            known = [given[v.index] if isinstance(v, BlockArgument) else inside[v] for v in inner.operands]
            formats = self.of(inner, family, known)
            if formats is None:
                return None
            for value, format in zip(inner.operands, formats.operands, strict=True):
                if not isinstance(value, BlockArgument):
                    if format != inside[value]:
                        return None
                elif (asked := wanted.setdefault(value, format)) != format:
                    if asked is None or format is None or asked.with_pad("zero") != format.with_pad("zero"):
                        return None
                    wanted[value] = asked.with_pad("zero")  # one user sums over the padding, the other does not
            inside[inner.results[0]] = formats.result
        terminator = block.last_op
        assert terminator is not None
        if any(inside.get(value) is None for value in terminator.operands):
            return None
        return Formats(tuple(wanted.get(arg) for arg in block.args), inside[terminator.operands[0]])

    def _attention(self, op: FusedOp, attention: Attention, family: Family, given: Sequence[Format]) -> Formats | None:
        """Everything FRACTAL_NZ but masks of one row and numbers; the kernel cares for q's, k's and v's padding rows.

        Columns of padding are multiplied and must be zeros, and so become zeros of the result.
        """
        scores = attention.scores.result
        if family is not Family.FRACTAL_NZ or element_name(element_of(scores)) not in ("f16", "bf16"):
            return None
        if MatmulOp.name not in self.heavy:  # as plain as all products (`lowering/kernels/team_attention.py`)
            return None
        c0 = self._c0(scores)
        nz = fractal_nz(c0)
        formats: list[Format] = []
        for value, format in zip(op.block.args, given, strict=True):
            mask = value in attention.sides
            stored = not mask or side_kind(value, scores) == "matrix"
            formats.append(keep(format, nz, strict=shape_of(value)[-1] % c0 != 0) if stored else None)
        full_rows = shape_of(op.results[0])[-2] % FRACTAL_ROWS == 0
        return Formats(tuple(formats), nz.with_pad("zero" if full_rows else "undef"))

    def _inside_attention(self, op: GeOp, given: Sequence[Format]) -> Formats:
        """What stands between its operands and its result is stored nowhere: nothing is known of its padding."""
        full_rows = isinstance(op, MatmulOp) and shape_of(op.result)[-2] % FRACTAL_ROWS == 0
        return Formats(tuple(given), fractal_nz(self._c0(op.result), "zero" if full_rows else "undef"))

    def _c0(self, value: SSAValue) -> int:
        """The block of an element type; a mask inside a group is stored nowhere and takes that of the result."""
        if is_inner_mask(value) and isinstance(value.owner, Operation) and (fused := value.owner.parent_op()):
            value = fused.results[0]
        return self.c0[element_name(element_of(value))]


def reduces_rows(op: GeOp, c0: int) -> bool:
    """Whether a softmax or normalization works on whole rows without padding, be they cut into blocks or not."""
    shape = shape_of(op.operands[0])
    if not isinstance(op, SoftmaxOp | LayerNormOp | RmsNormOp) or DYNAMIC in shape:
        return False
    return op.axis.value.data % len(shape) == len(shape) - 1 and shape[-1] % c0 == 0


def normalizes_blocks(op: LayerNormOp | GroupNormOp, c0: int) -> bool:
    """Whether a normalization of an image takes all channels of a pixel, groups of whole blocks, or single channels."""
    if isinstance(op, LayerNormOp):
        return op.axes() == (1,)
    channels, groups = shape_of(op.x)[1], op.groups.value.data
    return groups == channels or channels // groups % c0 == 0


def is_row_each(value: SSAValue, op: GeOp) -> bool:
    """Whether `value` is the scale or bias of a norm of rows, a row for each matrix."""
    return isinstance(op, LayerNormOp | RmsNormOp) and value is not op.x and rows_of_scale(op, value) is not None


def reduces_pixels(op: ReduceOp) -> bool:
    """Whether a reduction is a pool over all pixels, which stay as one."""
    return sorted(axis % 4 for axis in op.ints("axes")) == [2, 3] and bool(op.keepdims.value.data)


def rides_along(op: GeOp | type[GeOp]) -> bool:
    """Whether an elementwise operator takes any format: the Vector unit computes it, and it is no change of type."""
    return op.has(Trait.ELEMENTWISE) and op.name != CastOp.name and (not op.has(Trait.HOST) or works_on_masks(op))
