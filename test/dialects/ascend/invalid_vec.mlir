// RUN: ge-opt %s --split-input-file --verify-diagnostics
// Each case breaks one rule of the Vector engine's operators.

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<8x16xf16, #ascend.ub>
    %b = ascend.alloc "b" : memref<8x16xf16, #ascend.l1>
    // expected-error@+1 {{operands in the wrong memory space}}
    ascend.vec.add %a, %b to %a : memref<8x16xf16, #ascend.ub>, memref<8x16xf16, #ascend.l1> to memref<8x16xf16, #ascend.ub>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<8x16xf16, #ascend.ub>
    %b = ascend.alloc "b" : memref<16x8xf16, #ascend.ub>
    // expected-error@+1 {{source [16, 8] and destination [8, 16] differ}}
    ascend.vec.add %a, %b to %a : memref<8x16xf16, #ascend.ub>, memref<16x8xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<8x16xf16, #ascend.ub>
    %b = ascend.alloc "b" : memref<8x16xf32, #ascend.ub>
    // expected-error@+1 {{operands of different element types}}
    ascend.vec.add %a, %b to %a : memref<8x16xf16, #ascend.ub>, memref<8x16xf32, #ascend.ub> to memref<8x16xf16, #ascend.ub>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<8x16xf16, #ascend.ub>
    %b = ascend.alloc "b" : memref<8x16xf16, #ascend.ub>
    // expected-error@+1 {{takes 2 sources, got 1}}
    ascend.vec.add %a to %b : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<8x16xf16, #ascend.ub>
    %b = ascend.alloc "b" : memref<8x16xf16, #ascend.ub>
    // expected-error@+1 {{takes 1 sources, got 2}}
    ascend.vec.relu %a, %a to %b : memref<8x16xf16, #ascend.ub>, memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<8x16xf16, #ascend.ub>
    %b = ascend.alloc "b" : memref<8x16xf16, #ascend.ub>
    // expected-error@+1 {{immediate}}
    ascend.vec.adds %a to %b : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<8x16xf16, #ascend.ub>
    %b = ascend.alloc "b" : memref<8x16xf16, #ascend.ub>
    // expected-error@+1 {{immediate}}
    ascend.vec.relu %a to %b imm 1.0 : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<8x16xf16, #ascend.ub>
    %b = ascend.alloc "b" : memref<8x16xf16, #ascend.ub>
    // expected-error@+1 {{reduces (..., n) to (..., 1), got (8, 16) to (8, 16)}}
    ascend.vec.cadd %a to %b : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<8x16xf16, #ascend.ub>
    %b = ascend.alloc "b" : memref<1x16xf16, #ascend.ub>
    // expected-error@+1 {{reduces (..., n) to (..., 1), got (8, 16) to (1, 16)}}
    ascend.vec.cmax %a to %b : memref<8x16xf16, #ascend.ub> to memref<1x16xf16, #ascend.ub>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<8x16xf16, #ascend.ub>
    %b = ascend.alloc "b" : memref<16x8xf16, #ascend.ub>
    // expected-error@+1 {{needs (..., a, b) to (..., b, a) with multiples of 16, got (8, 16) to (16, 8)}}
    ascend.vec.transpose %a to %b : memref<8x16xf16, #ascend.ub> to memref<16x8xf16, #ascend.ub>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<32x16xf16, #ascend.ub>
    %b = ascend.alloc "b" : memref<32x16xf16, #ascend.ub>
    // expected-error@+1 {{needs (..., a, b) to (..., b, a) with multiples of 16, got (32, 16) to (32, 16)}}
    ascend.vec.transpose %a to %b : memref<32x16xf16, #ascend.ub> to memref<32x16xf16, #ascend.ub>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<8x16xf16, #ascend.ub>
    %b = ascend.alloc "b" : memref<8x16xf16, #ascend.l0c>
    // expected-error@+1 {{moves from ub or l0c to ub}}
    ascend.vec.conv %a to %b : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.l0c>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<8x16xf16, #ascend.ub>
    %b = ascend.alloc "b" : memref<16x8xf16, #ascend.ub>
    // expected-error@+1 {{source [8, 16] and destination [16, 8] differ}}
    ascend.vec.conv %a to %b : memref<8x16xf16, #ascend.ub> to memref<16x8xf16, #ascend.ub>
  }
}
