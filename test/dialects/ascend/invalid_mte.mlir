// RUN: ge-opt %s --split-input-file --verify-diagnostics
// Each case breaks one rule of the moves.

ascend.kernel @k(%x: memref<1x1x16x16xf16, #ascend.gm> r) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<1x1x16x16xf16, #ascend.l0b>
    // expected-error@+1 {{no copy path from GM to L0B}}
    ascend.mte.copy %x to %a : memref<1x1x16x16xf16, #ascend.gm> to memref<1x1x16x16xf16, #ascend.l0b>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<1x1x16x16xf16, #ascend.l1>
    %b = ascend.alloc "b" : memref<1x1x16x16xf16, #ascend.l0a>
    // expected-error@+1 {{no copy path from L1 to L0A}}
    ascend.mte.copy %a to %b : memref<1x1x16x16xf16, #ascend.l1> to memref<1x1x16x16xf16, #ascend.l0a>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<1x1x16x16xf32, #ascend.l0c>
    %b = ascend.alloc "b" : memref<1x1x16x16xf32, #ascend.ub>
    // expected-error@+1 {{no copy path from L0C to UB}}
    ascend.mte.copy %a to %b : memref<1x1x16x16xf32, #ascend.l0c> to memref<1x1x16x16xf32, #ascend.ub>
  }
}

// -----

ascend.kernel @k(%x: memref<16x16xf16, #ascend.gm> r) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<256xf16, #ascend.ub>
    // expected-error@+1 {{source [16, 16] and destination [256] differ}}
    ascend.mte.copy %x to %a : memref<16x16xf16, #ascend.gm> to memref<256xf16, #ascend.ub>
  }
}

// -----

ascend.kernel @k(%x: memref<16x16xf16, #ascend.gm> r) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<16x16xf32, #ascend.ub>
    // expected-error@+1 {{operands of different element types}}
    ascend.mte.copy %x to %a : memref<16x16xf16, #ascend.gm> to memref<16x16xf32, #ascend.ub>
  }
}

// -----

ascend.kernel @k(%x: memref<16xf8E5M2, #ascend.gm> r) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<16xf8E5M2, #ascend.ub>
    // expected-error@+1 {{element type f8E5M2 is unknown to the instruction set}}
    ascend.mte.copy %x to %a : memref<16xf8E5M2, #ascend.gm> to memref<16xf8E5M2, #ascend.ub>
  }
}

// -----

ascend.kernel @k(%x: memref<16x16xf16, #ascend.gm> r) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<16x16xf16, #ascend.ub>
    // expected-error@+1 {{takes 1 sources, got 2}}
    ascend.mte.copy %x, %x to %a : memref<16x16xf16, #ascend.gm>, memref<16x16xf16, #ascend.gm> to memref<16x16xf16, #ascend.ub>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<1x1x16x16xf16, #ascend.l1>
    %b = ascend.alloc "b" : memref<1x1x16x16xf16, #ascend.ub>
    // expected-error@+1 {{moves from l1 to l0a or l0b}}
    ascend.mte.load2d %a to %b : memref<1x1x16x16xf16, #ascend.l1> to memref<1x1x16x16xf16, #ascend.ub>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<1x1x16x16xf16, #ascend.l1>
    %b = ascend.alloc "b" : memref<2x1x16x16xf16, #ascend.l0a>
    // expected-error@+1 {{source [1, 1, 16, 16] and destination [2, 1, 16, 16] differ}}
    ascend.mte.load2d %a to %b : memref<1x1x16x16xf16, #ascend.l1> to memref<2x1x16x16xf16, #ascend.l0a>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<1x4x4x16xf16, #ascend.l1>
    %b = ascend.alloc "b" : memref<1x1x16x16xf16, #ascend.l0b>
    // expected-error@+1 {{operands in the wrong memory space}}
    ascend.mte.load3d %a to %b {in_h = 4, in_w = 4, kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, pad_top = 0, pad_left = 0, out_w = 4} m_start(0) k_start(0) : memref<1x4x4x16xf16, #ascend.l1> to memref<1x1x16x16xf16, #ascend.l0b>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<1x4x4x16xf16, #ascend.l1>
    %b = ascend.alloc "b" : memref<1x16x16xf16, #ascend.l0a>
    // expected-error@+1 {{moves (c1, h, w, c0) to (m1, k1, 16, c0)}}
    ascend.mte.load3d %a to %b {in_h = 4, in_w = 4, kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, pad_top = 0, pad_left = 0, out_w = 4} m_start(0) k_start(0) : memref<1x4x4x16xf16, #ascend.l1> to memref<1x16x16xf16, #ascend.l0a>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<2x4x4x4xf16, #ascend.l1>
    %b = ascend.alloc "b" : memref<1x1x16x16xf16, #ascend.l0a>
    // expected-error@+1 {{moves (c1, h, w, c0) to (m1, k1, 16, c0)}}
    ascend.mte.load3d %a to %b {in_h = 4, in_w = 4, kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, pad_top = 0, pad_left = 0, out_w = 4} m_start(0) k_start(0) : memref<2x4x4x4xf16, #ascend.l1> to memref<1x1x16x16xf16, #ascend.l0a>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<1x4x4x16xf16, #ascend.l1>
    %b = ascend.alloc "b" : memref<1x1x16x16xf16, #ascend.l0a>
    // expected-error@+1 {{in_h 5, in_w 4 differ from the source}}
    ascend.mte.load3d %a to %b {in_h = 5, in_w = 4, kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, pad_top = 0, pad_left = 0, out_w = 4} m_start(0) k_start(0) : memref<1x4x4x16xf16, #ascend.l1> to memref<1x1x16x16xf16, #ascend.l0a>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<1x4x4x16xf16, #ascend.l1>
    %b = ascend.alloc "b" : memref<1x1x16x16xf16, #ascend.l0a>
    // expected-error@+1 {{stride_w must be at least 1, got 0}}
    ascend.mte.load3d %a to %b {in_h = 4, in_w = 4, kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 0, dilation_h = 1, dilation_w = 1, pad_top = 0, pad_left = 0, out_w = 4} m_start(0) k_start(0) : memref<1x4x4x16xf16, #ascend.l1> to memref<1x1x16x16xf16, #ascend.l0a>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<1x4x4x16xf16, #ascend.l1>
    %b = ascend.alloc "b" : memref<1x1x16x16xf16, #ascend.l0a>
    // expected-error@+1 {{Expected 'in_w'}}
    ascend.mte.load3d %a to %b {in_h = 4, kernel_h = 1} m_start(0) k_start(0) : memref<1x4x4x16xf16, #ascend.l1> to memref<1x1x16x16xf16, #ascend.l0a>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<1x4x4x16xf16, #ascend.l1>
    %b = ascend.alloc "b" : memref<1x1x16x16xf16, #ascend.l0a>
    // expected-error@+1 {{needs the 11 values in_h, in_w, kernel_h}}
    ascend.mte.load3d %a to %b {in_h = 4, in_w = 4} m_start(0) k_start(0) : memref<1x4x4x16xf16, #ascend.l1> to memref<1x1x16x16xf16, #ascend.l0a>
  }
}
