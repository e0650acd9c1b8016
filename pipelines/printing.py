"""Writing MLIR text: known locations only, large constants elided on request, files replaced in one step."""

from __future__ import annotations

import sys
from io import StringIO
from typing import IO, Any, BinaryIO, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, MemRefType, ModuleOp, StringAttr, UnknownLoc
from xdsl.ir import Attribute, BlockArgument, Data, Operation
from xdsl.printer import Printer

from graph_engine.dialects.float_text import dense_literal
from graph_engine.target_ascend.om.atomic_write import write_atomically

ELIDE_ABOVE = 16
"""Elements of a dense constant from which a dump shows only its type."""

SPACE_PREFIX = "ascend."
"""How names of memory-space attributes begin."""


class TextPrinter(Printer):
    """xDSL's printer without `loc(unknown)`, optionally with large constants elided (such text is for reading only).

    In the generic form a memory space is written as a string, `memref<8xf16, "ascend.ub">`: MLIR refuses a memref in a
    space of a dialect that it does not know. `source.parse` turns it back.
    """

    def __init__(self, stream: IO[str], *, generic: bool = False, locations: bool = True, elide: bool = False):
        super().__init__(stream, print_generic_format=generic)
        self.locations = locations
        self.elide = elide

    def print_op(self, op: Operation) -> None:
        outer = self.print_debuginfo
        self.print_debuginfo = self.locations and not isinstance(op.location, UnknownLoc)
        super().print_op(op)
        self.print_debuginfo = outer

    def print_block_argument(self, arg: BlockArgument, print_type: bool = True) -> None:
        outer = self.print_debuginfo
        self.print_debuginfo = self.locations and not isinstance(arg.location, UnknownLoc)
        super().print_block_argument(arg, print_type)
        self.print_debuginfo = outer

    def print_attribute(self, attribute: Attribute) -> None:
        if self.elide and isinstance(attribute, DenseIntOrFPElementsAttr) and len(attribute) > ELIDE_ABOVE:
            self.print_string("dense_resource<__elided__> : ")
            attribute = attribute.type
        elif self.elide and attribute.name == "ge.weight" and isinstance(attribute, Data):
            self.print_string(f'#ge.weight<"{attribute.data.name}", ...>')  # the digest would read the tensor
            return
        elif self.print_generic_format and isinstance(attribute, MemRefType):
            space = attribute.memory_space
            if space.name.startswith(SPACE_PREFIX):
                name = StringAttr(space.name)
                attribute = MemRefType(attribute.element_type, attribute.shape, attribute.layout, name)
        elif (literal := dense_literal(attribute)) is not None:
            self.print_string(f"{literal} : ")
            attribute = cast(DenseIntOrFPElementsAttr[Any], attribute).type
        super().print_attribute(attribute)


def to_text(module: ModuleOp, *, generic: bool = False, locations: bool = True, elide: bool = False) -> str:
    """The module as MLIR text that ends with a line end."""
    stream = StringIO()
    TextPrinter(stream, generic=generic, locations=locations, elide=elide).print_op(module)
    stream.write("\n")
    return stream.getvalue()


def write_text(text: str, path: str | None) -> None:
    """Write to standard output, or to `path` as a whole or not at all."""
    if path is None or path == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return

    def write(file: BinaryIO) -> None:
        file.write(text.encode())

    write_atomically(path, write)
