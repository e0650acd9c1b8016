"""What each opcode takes: its operands, integer parameters and meaning, the table that everything downstream reads."""

from __future__ import annotations

from dataclasses import dataclass

from graph_engine.target_ascend.isa.model import Opcode


@dataclass(frozen=True, slots=True)
class OpcodeSpec:
    """What an opcode takes. `group` names its functional family; `params` its integer parameters in order.

    `writes`: whether operand 0 is a destination; else all operands are read.
    """

    mnemonic: str
    group: str
    operands: int
    params: tuple[str, ...] = ()
    immediate: bool = False
    doc: str = ""
    writes: bool = True


_LOAD3D_PARAMS = (
    "in_h", "in_w", "kernel_h", "kernel_w", "stride_h", "stride_w", "dilation_h", "dilation_w",
    "pad_top", "pad_left", "out_w", "m_start", "k_start",
)  # fmt: skip

SPECS: dict[Opcode, OpcodeSpec] = {
    Opcode.COPY: OpcodeSpec("copy", "move", 2, doc="dst[i...] = src[i...]; equal sizes and dtype"),
    Opcode.LOAD2D: OpcodeSpec(
        "load2d", "move", 2, ("transpose",),
        doc="L1 -> L0A/L0B, whole fractals of 16 rows of 32 bytes: equal sizes (..., 16, c0); transpose=1 swaps the last two, "
        "of squares of c0 x c0 (four of which are a block of 16 x 16 numbers of four bytes)",
    ),
    Opcode.LOAD3D: OpcodeSpec(
        "load3d", "img2col", 2, _LOAD3D_PARAMS, immediate=True,
        doc="L1 (c1, in_h, in_w, c0) -> L0A (m1, k1, 16, c0). Row m = m_start + 16*i + r is the output position "
        "(m // out_w, m % out_w); column block k = k_start + j is ((c1 * kernel_h) + kh) * kernel_w + kw. Reads "
        "outside in_h x in_w give the immediate. Of (1, in_h, in_w, c), c < c0 channels, a block holds c0 / c positions "
        "of the kernel one after another; those behind the last give the immediate",
    ),
    Opcode.LOAD_SCALAR: OpcodeSpec(
        "load_scalar", "scalar_load", 1, ("register", "extent"), writes=False,
        doc="register = the one i32 of src in UB; plus extent if it is negative. Outside 0 .. extent - 1 is an error",
    ),
    Opcode.MMAD: OpcodeSpec(
        "mmad", "cube", 3, ("m", "k", "n"),
        doc="L0C (n1, m1, 16, 16) (+)= L0A (m1, k1, 16, k0) x L0B (k1, n1, 16, k0); fp16 or fp32 in, fp32 accumulate, K ascending; or 8-bit integers in, i32 accumulate",
    ),
    Opcode.MMAD_BIAS: OpcodeSpec(
        "mmad_bias", "cube", 4, ("m", "k", "n"),
        doc="mmad whose accumulator, where it is overwritten, starts with the rows (n1, 16) of BT, of its element type",
    ),
    Opcode.FIXPIPE: OpcodeSpec(
        "fixpipe", "fixpipe", 2, ("activation",), immediate=True,
        doc="dst = activation(L0C src), converted: to nearest even, integers saturating. 0: src times the immediate; "
        "1 relu: max(src, 0) times it; 2 leaky_relu: negative src times it; 3 clip: src between 0 and it. dst in GM, L1 or UB, any strides: NZ to ND is a dst whose 16 columns lie in a row",
    ),
    Opcode.REQUANTISE: OpcodeSpec(
        "requantise", "fixpipe", 3, ("activation",),
        doc="dst (8 bits) = activation(L0C src (i32) * factor), to nearest even, plus offset, saturating; 0 none, 1 relu. The "
        "third operand are words of FB, one a channel: see FACTOR_BITS",
    ),
    Opcode.VCONV: OpcodeSpec("conv", "convert", 2, doc="dst = src converted, to nearest even; equal dtypes copy. src may be L0C"),
    Opcode.VDUP: OpcodeSpec("dup", "fill", 1, immediate=True, doc="dst = immediate"),
    Opcode.VTRANS: OpcodeSpec(
        "transpose", "transpose", 2,
        doc="dst (..., b, a) = src (..., a, b) transposed in blocks of 16 (vnchwconv); a and b multiples of 16",
    ),
    Opcode.VCONVF: OpcodeSpec("convf", "convert", 2, doc="dst = integer, src rounded down"),
    Opcode.VCONVC: OpcodeSpec("convc", "convert", 2, doc="dst = integer, src rounded up"),
    Opcode.VCONVZ: OpcodeSpec("convz", "convert", 2, doc="dst = integer, src rounded towards zero"),
    Opcode.VSEL: OpcodeSpec(
        "sel", "select", 4, doc="dst = a where mask (i1) holds, else b; operands dst, mask, a, b; bits are kept"
    ),
    Opcode.VGATHER: OpcodeSpec(
        "gather", "gather", 3,
        doc="dst[i...] = the element number indices[i...] (i32) of src in row-major order; all in UB",
    ),
    Opcode.VADD: OpcodeSpec("add", "binary", 3),
    Opcode.VSUB: OpcodeSpec("sub", "binary", 3),
    Opcode.VMUL: OpcodeSpec("mul", "binary", 3),
    Opcode.VDIV: OpcodeSpec("div", "binary", 3),
    Opcode.VMAX: OpcodeSpec("max", "binary", 3),
    Opcode.VMIN: OpcodeSpec("min", "binary", 3),
    Opcode.VCMP: OpcodeSpec(
        "cmp", "compare", 3, ("predicate",),
        doc="dst (i1) = a predicate b: 0 eq, 1 ne, 2 lt, 3 le, 4 gt, 5 ge; with a nan only ne holds",
    ),
    Opcode.VAND: OpcodeSpec("and", "binary", 3, doc="dst = the bits that a and b share; integers"),
    Opcode.VOR: OpcodeSpec("or", "binary", 3, doc="dst = the bits that a or b has; integers"),
    Opcode.VADDS: OpcodeSpec("adds", "scalar", 2, immediate=True),
    Opcode.VMULS: OpcodeSpec("muls", "scalar", 2, immediate=True),
    Opcode.VMAXS: OpcodeSpec("maxs", "scalar", 2, immediate=True),
    Opcode.VMINS: OpcodeSpec("mins", "scalar", 2, immediate=True),
    Opcode.VLRELU: OpcodeSpec("lrelu", "scalar", 2, immediate=True, doc="dst = src if src >= 0 else immediate * src"),
    Opcode.VRELU: OpcodeSpec("relu", "unary", 2),
    Opcode.VEXP: OpcodeSpec("exp", "unary", 2),
    Opcode.VLN: OpcodeSpec("ln", "unary", 2),
    Opcode.VSQRT: OpcodeSpec("sqrt", "unary", 2),
    Opcode.VRSQRT: OpcodeSpec("rsqrt", "unary", 2),
    Opcode.VREC: OpcodeSpec("rec", "unary", 2),
    Opcode.VABS: OpcodeSpec("abs", "unary", 2),
    Opcode.VCADD: OpcodeSpec("cadd", "reduce", 2, doc="dst (..., 1) = sum of src (..., n) over the innermost axis, in fp32"),
    Opcode.VCMAX: OpcodeSpec("cmax", "reduce", 2, doc="dst (..., 1) = maximum of src (..., n)"),
    Opcode.VCMIN: OpcodeSpec("cmin", "reduce", 2, doc="dst (..., 1) = minimum of src (..., n)"),
    Opcode.SET_FLAG: OpcodeSpec("set_flag", "sync", 0, ("src_pipe", "dst_pipe", "event")),
    Opcode.WAIT_FLAG: OpcodeSpec("wait_flag", "sync", 0, ("src_pipe", "dst_pipe", "event")),
    Opcode.BARRIER: OpcodeSpec("barrier", "sync", 0, ("pipe",)),
    Opcode.BLOCK_SET: OpcodeSpec(
        "block_set", "cross", 0, ("flag",),
        doc="when the pipe has done all before it, raises a cross-core flag: the Cube core for both Vector cores, these for it",
    ),
    Opcode.BLOCK_WAIT: OpcodeSpec(
        "block_wait", "cross", 0, ("flag",),
        doc="holds S until the flag was raised, in the Cube core by both Vector cores, and takes it down once",
    ),
}  # fmt: skip
