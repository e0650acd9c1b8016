"""A mixed kernel by hand: tiles go from a Cube core through a ring of two in global memory to two Vector cores."""

from __future__ import annotations

from graph_engine.target_ascend.isa.model import (
    Affine,
    Blocks,
    Buffer,
    CoreKind,
    DType,
    Instr,
    Kernel,
    Loop,
    Node,
    Opcode,
    Operand,
    Part,
    Pipe,
    Rotate,
    Space,
)

ELEMENTS = 256
"""Of a tile, one fractal."""
FULL, FREE = 0, 1
"""Cross-core flags: a place of the ring is filled; it may be filled again."""
X, EYE, Y, EXCHANGED, RING, L1, EYE_L1, L0A, L0B, L0C, UB = range(11)


def block_set(pipe: Pipe, flag: int) -> Instr:
    """Raises a cross-core flag when `pipe` has done what it was given."""
    return Instr(Opcode.BLOCK_SET, pipe, params=(Affine(flag),))


def block_wait(flag: int) -> Instr:
    """Holds the core until the flag is up."""
    return Instr(Opcode.BLOCK_WAIT, Pipe.S, params=(Affine(flag),))


def relu_of_product(tiles: int, blocks: int = 1, drop: tuple[Part, str] | None = None) -> Kernel:
    """y = relu(x times eye), a fractal a tile, half of its rows on each Vector core.

    `drop` leaves out one kind of cross-core instruction of a part: "set", "wait", "credit" or "return".
    """
    ring = Rotate(2, Affine(0, ((1, 1),)))
    place = Affine(0, ((0, tiles * ELEMENTS), (1, ELEMENTS)))

    def view(
        buffer: int, sizes: tuple[int, ...], dtype: DType = DType.F16, at: Affine | None = None, rotate: Rotate | None = None
    ) -> Operand:  # fmt: skip
        strides = tuple(16 ** (len(sizes) - 1 - i) for i in range(len(sizes)))
        return Operand(buffer, dtype, at or Affine(), sizes, strides, rotate)

    def flag(opcode: Opcode, source: Pipe, target: Pipe) -> Instr:
        pipe = source if opcode is Opcode.SET_FLAG else target
        return Instr(opcode, pipe, params=(Affine(source), Affine(target), Affine()))

    def sync(source: Pipe, target: Pipe) -> tuple[Instr, Instr]:
        return flag(Opcode.SET_FLAG, source, target), flag(Opcode.WAIT_FLAG, source, target)

    def barrier() -> Instr:
        return Instr(Opcode.BARRIER, Pipe.S, params=(Affine(Pipe.ALL),))

    def kept(part: Part, what: str, *instrs: Instr) -> tuple[Instr, ...]:
        return () if drop == (part, what) else instrs

    def body(part: Part, start: Node | tuple[Node, ...], tile: tuple[Node, ...], end: tuple[Node, ...]) -> Blocks:
        first = start if isinstance(start, tuple) else (start,)
        return Blocks(0, blocks, (*first, Loop(tiles, tile), *end), part)

    own = Affine(0, ((0, ELEMENTS),))
    fractal = (16, 16)
    whole = (1, 1, 16, 16)
    cube = body(
        Part.CUBE,
        Instr(Opcode.COPY, Pipe.MTE2, (view(EYE_L1, fractal), view(EYE, fractal))),
        (
            Instr(Opcode.COPY, Pipe.MTE2, (view(L1, fractal), view(X, fractal, at=place))),
            *sync(Pipe.MTE2, Pipe.MTE1),
            Instr(Opcode.LOAD2D, Pipe.MTE1, (view(L0A, whole), view(L1, whole)), (Affine(),)),
            Instr(Opcode.LOAD2D, Pipe.MTE1, (view(L0B, whole), view(EYE_L1, whole)), (Affine(),)),
            *sync(Pipe.MTE1, Pipe.M),
            Instr(
                Opcode.MMAD,
                Pipe.M,
                (view(L0C, whole, DType.F32), view(L0A, whole), view(L0B, whole)),
                tuple(map(Affine, (16, 16, 16))),
            ),
            *sync(Pipe.M, Pipe.FIX),
            *kept(Part.CUBE, "wait", block_wait(FREE)),
            Instr(
                Opcode.FIXPIPE,
                Pipe.FIX,
                (view(RING, fractal, DType.F32, own, ring), view(L0C, fractal, DType.F32)),
                (Affine(),),
                1.0,
            ),
            *kept(Part.CUBE, "set", block_set(Pipe.FIX, FULL)),
            barrier(),
        ),
        kept(Part.CUBE, "return", block_wait(FREE), block_wait(FREE)),
    )

    def vector(part: Part, first_row: int) -> Blocks:
        half = (8, 16)
        ub = view(UB, half, DType.F32)
        return body(
            part,
            kept(part, "credit", block_set(Pipe.MTE2, FREE), block_set(Pipe.MTE2, FREE)),
            (
                *kept(part, "wait", block_wait(FULL)),
                Instr(Opcode.COPY, Pipe.MTE2, (ub, view(RING, half, DType.F32, own + first_row * 16, ring))),
                *kept(part, "set", block_set(Pipe.MTE2, FREE)),
                *sync(Pipe.MTE2, Pipe.V),
                Instr(Opcode.VRELU, Pipe.V, (ub, ub)),
                *sync(Pipe.V, Pipe.MTE3),
                Instr(Opcode.COPY, Pipe.MTE3, (view(Y, half, DType.F32, place + first_row * 16), ub)),
                barrier(),
            ),
            (),
        )

    size = ELEMENTS * blocks
    buffers = (
        Buffer("x", Space.GM, 0, size * tiles * 2),
        Buffer("eye", Space.GM, 1, ELEMENTS * 2),
        Buffer("y", Space.GM, 2, size * tiles * 4),
        Buffer("exchanged", Space.GM, 3, 2 * size * 4),
        Buffer("ring", Space.GM, 3, size * 4, 2),
        Buffer("x_l1", Space.L1, 0, 512),
        Buffer("eye_l1", Space.L1, 512, 512),
        Buffer("l0a", Space.L0A, 0, 512),
        Buffer("l0b", Space.L0B, 0, 512),
        Buffer("l0c", Space.L0C, 0, 1024),
        Buffer("ub", Space.UB, 0, 512),
    )
    parts = (cube, vector(Part.VECTOR_0, 0), vector(Part.VECTOR_1, 8))
    return Kernel("relu_of_product", blocks, buffers, parts, ("r", "r", "w", "rw"), CoreKind.MIXED)
