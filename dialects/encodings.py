"""Encodings of tensor types: the storage format, its inner sizes, and what the padding lanes hold.

A new format of the compiler is one entry of `planning.index_map.FORMATS` and one class here; a format of a user's own is
one line of text, `#layout.map<"n (c1 c0) h w -> n c1 h w c0", c0 = 32>`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import auto
from functools import lru_cache
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import DictionaryAttr, IntAttr, StringAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from graph_engine.planning.index_map import FORMATS, Format, IndexMap


class Pad(StrEnum):
    """What padding lanes hold: zeros, finite numbers (zero times them is zero), or anything. Each promises the next."""

    zero = auto()
    finite = auto()
    undef = auto()


_WEAKER = {pad: place for place, pad in enumerate(Pad)}


@irdl_attr_definition
class PadAttr(EnumAttribute[Pad]):
    """`zero`, `finite` or `undef`."""

    name = "layout.pad"


class Encoding(ParametrizedAttribute):
    """Base of all encodings: parameters are the inner sizes of `FORM`, then `groups`, then `pad`, as declared.

    Assembly `<c0 = 16, pad = zero>`; omitted parameters take the format's sizes, `groups = 1`, `pad = zero`.
    """

    FORM: ClassVar[Format]

    @property
    def form(self) -> Format:
        """The format without its inner sizes."""
        return self.FORM

    @property
    def map(self) -> IndexMap:
        """The index map of this encoding."""
        return _index_map(self)

    @property
    def pads_zero(self) -> bool:
        """Whether padding lanes are known to be zero (true where the format has none)."""
        return self.promises(Pad.zero)

    def promises(self, pad: Pad) -> bool:
        """Whether padding lanes are known to hold `pad`."""
        return _WEAKER[self.pad_lanes] <= _WEAKER[pad]

    @property
    def pad_lanes(self) -> Pad:
        """What padding lanes hold; zeros where the format has none."""
        return _pad_lanes(self)

    def with_pad(self, pad: str) -> Encoding:
        """This encoding with another padding promise; itself where the format has no padding."""
        return _with_pad(self, Pad(pad))

    @classmethod
    def parameter_names(cls) -> tuple[str, ...]:
        """Names of the parameters in order."""
        return tuple(name for name, _ in cls.get_irdl_definition().parameters)

    @classmethod
    def of(cls, **values: int | str) -> Encoding:
        """The encoding with these parameters, the others at their defaults."""
        return _encoding(cls, tuple(sorted(values.items())))

    def _named(self) -> list[tuple[str, Attribute]]:
        return list(zip(self.parameter_names(), self.parameters, strict=True))

    def print_parameters(self, printer: Printer) -> None:
        named = self._named()
        if named:
            with printer.in_angle_brackets():
                printer.print_list(
                    named, lambda item: printer.print_string(f"{item[0]} = {cast(IntAttr | PadAttr, item[1]).data}")
                )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        values: dict[str, int | str] = {}

        def parse_one() -> None:
            at = parser.pos
            name = parser.parse_identifier()
            if name in values or name not in cls.parameter_names():
                expected = ", ".join(cls.parameter_names())
                parser.raise_error(f"expected one of {expected}, each once", at, parser.pos)
            parser.parse_punctuation("=")
            values[name] = (
                parser.parse_str_enum(Pad).value if name == "pad" else parser.parse_integer(allow_boolean=False)
            )

        if parser.parse_optional_punctuation("<"):
            parser.parse_comma_separated_list(parser.Delimiter.NONE, parse_one)
            parser.parse_punctuation(">")
        return cls.of(**values).parameters

    def verify(self) -> None:
        try:
            _ = self.map
        except ValueError as error:
            raise VerifyException(str(error)) from None


@lru_cache(maxsize=4096)
def _index_map(encoding: Encoding) -> IndexMap:
    sizes = {name: value.data for name, value in encoding._named() if isinstance(value, IntAttr)}
    return encoding.form.bind(**sizes)


@lru_cache(maxsize=4096)
def _pad_lanes(encoding: Encoding) -> Pad:
    own: Any = dict(encoding._named()).get("pad")
    return Pad.zero if own is None else own.data


@lru_cache(maxsize=4096)
def _with_pad(encoding: Encoding, pad: Pad) -> Encoding:
    values = dict(encoding._named())
    if "pad" in values:
        values["pad"] = PadAttr(pad)
    return type(encoding).new(list(values.values()))


@lru_cache(maxsize=4096)
def _encoding(cls: type[Encoding], values: tuple[tuple[str, int | str], ...]) -> Encoding:
    given = dict(values)
    unknown = set(given) - set(cls.parameter_names())
    if unknown:
        raise ValueError(f"{cls.name} has no parameter {', '.join(sorted(unknown))}")
    defaults: dict[str, int | str] = {**cls.FORM.sizes, "groups": 1, "pad": "zero"}
    parameters: list[Attribute] = []
    for name in cls.parameter_names():
        value = given.get(name, defaults[name])
        parameters.append(PadAttr(Pad(str(value))) if name == "pad" else IntAttr(int(value)))
    return cls.new(parameters)


@irdl_attr_definition
class ND(Encoding):
    """Row-major, any rank."""

    name = "layout.nd"
    FORM: ClassVar[Format] = FORMATS["ND"]


@irdl_attr_definition
class NCHW(Encoding):
    """Row-major feature maps."""

    name = "layout.nchw"
    FORM: ClassVar[Format] = FORMATS["NCHW"]


@irdl_attr_definition
class NHWC(Encoding):
    """Channels innermost."""

    name = "layout.nhwc"
    FORM: ClassVar[Format] = FORMATS["NHWC"]


@irdl_attr_definition
class HWCN(Encoding):
    """TensorFlow's filters."""

    name = "layout.hwcn"
    FORM: ClassVar[Format] = FORMATS["HWCN"]


@irdl_attr_definition
class NC1HWC0(Encoding):
    """Feature maps for the Cube: channels in blocks of c0. A matrix counts as N x C x 1 x 1."""

    name = "layout.nc1hwc0"
    FORM: ClassVar[Format] = FORMATS["NC1HWC0"]
    c0: IntAttr
    pad: PadAttr


@irdl_attr_definition
class NC1HWC0C04(Encoding):
    """NC1HWC0 for inputs of at most four channels."""

    name = "layout.nc1hwc0_c04"
    FORM: ClassVar[Format] = FORMATS["NC1HWC0_C04"]
    c0: IntAttr
    pad: PadAttr


@irdl_attr_definition
class NDC1HWC0(Encoding):
    """Feature maps of 3-D convolutions; logical order N C D H W."""

    name = "layout.ndc1hwc0"
    FORM: ClassVar[Format] = FORMATS["NDC1HWC0"]
    c0: IntAttr
    pad: PadAttr


@irdl_attr_definition
class FractalZ(Encoding):
    """Filters for the Cube, N x C x H x W; a matrix counts as N x K x 1 x 1. Groups sit block-diagonally."""

    name = "layout.fractal_z"
    FORM: ClassVar[Format] = FORMATS["FRACTAL_Z"]
    n0: IntAttr
    c0: IntAttr
    groups: IntAttr
    pad: PadAttr


@irdl_attr_definition
class FractalZC04(Encoding):
    """Filters over at most four channels: the window's positions fill c0 together with the channels."""

    name = "layout.fractal_z_c04"
    FORM: ClassVar[Format] = FORMATS["FRACTAL_Z_C04"]
    n0: IntAttr
    c0: IntAttr
    pad: PadAttr


@irdl_attr_definition
class FractalZ3D(Encoding):
    """Filters of 3-D convolutions; logical order N C D H W. Groups sit block-diagonally."""

    name = "layout.fractal_z_3d"
    FORM: ClassVar[Format] = FORMATS["FRACTAL_Z_3D"]
    n0: IntAttr
    c0: IntAttr
    groups: IntAttr
    pad: PadAttr


@irdl_attr_definition
class FractalZKN(Encoding):
    """FRACTAL_Z of a matrix given as K x N: the right-hand side of a plain matrix product."""

    name = "layout.fractal_z_kn"
    FORM: ClassVar[Format] = FORMATS["FRACTAL_Z_KN"]
    n0: IntAttr
    c0: IntAttr
    pad: PadAttr


@irdl_attr_definition
class FractalNZ(Encoding):
    """Matrices for the Cube: the last two axes in fractals of 16 x c0, columns of fractals outermost."""

    name = "layout.fractal_nz"
    FORM: ClassVar[Format] = FORMATS["FRACTAL_NZ"]
    c0: IntAttr
    pad: PadAttr


@irdl_attr_definition
class Declared(Encoding):
    """A format that the text declares: a pattern of `planning.index_map`, and the sizes of its inner axes.

    `#layout.map<"n (c1 c0) h w -> n c1 h w c0", c0 = 32, pad = zero>`.
    """

    name = "layout.map"
    FORM: ClassVar[Format] = Format("declared", FORMATS["ND"].number, ())
    pattern: StringAttr
    sizes: DictionaryAttr
    pad: PadAttr

    @staticmethod
    def by(pattern: str, pad: str = "zero", **sizes: int) -> Declared:
        """The encoding of a pattern. Raises VerifyException for one that is none, or lacks a size."""
        dictionary = DictionaryAttr({name: IntAttr(size) for name, size in sorted(sizes.items())})
        return Declared.new([StringAttr(pattern), dictionary, PadAttr(Pad(pad))])

    @property
    def form(self) -> Format:
        return _declared_form(self)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.pattern.data)
            for name, size in self.sizes.data.items():
                printer.print_string(f", {name} = {cast(IntAttr, size).data}")
            printer.print_string(f", pad = {self.pad.data}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        values: dict[str, int] = {}
        pad = Pad.zero
        with parser.in_angle_brackets():
            pattern = parser.parse_str_literal()
            while parser.parse_optional_punctuation(","):
                at = parser.pos
                name = parser.parse_identifier()
                parser.parse_punctuation("=")
                if name == "pad":
                    pad = parser.parse_str_enum(Pad)
                elif name in values:
                    parser.raise_error(f"'{name}' has a size already", at, parser.pos)
                else:
                    values[name] = parser.parse_integer(allow_boolean=False)
        try:
            return cls.by(pattern, pad, **values).parameters
        except (ValueError, VerifyException) as error:
            parser.raise_error(str(error))


@lru_cache(maxsize=256)
def _declared_form(encoding: Declared) -> Format:
    sizes = {name: cast(IntAttr, size).data for name, size in encoding.sizes.data.items()}
    return Format.declared(encoding.pattern.data, sizes)
