// RUN: ge-opt %s --split-input-file --verify-diagnostics
// Each case breaks one rule of ascend.cube.mmad.

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<1x1x16x16xf16, #ascend.l0a>
    %b = ascend.alloc "b" : memref<1x1x16x16xf16, #ascend.l0b>
    %c = ascend.alloc "c" : memref<1x1x16x16xf32, #ascend.l0c>
    // expected-error@+1 {{operands in the wrong memory space}}
    ascend.cube.mmad %b, %a to %c {m = 16, k = 16, n = 16} : memref<1x1x16x16xf16, #ascend.l0b>, memref<1x1x16x16xf16, #ascend.l0a> to memref<1x1x16x16xf32, #ascend.l0c>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<1x1x16x16xf16, #ascend.l0a>
    %b = ascend.alloc "b" : memref<1x1x16x16xf16, #ascend.l0b>
    %c = ascend.alloc "c" : memref<1x1x16x16xf32, #ascend.l0c>
    // expected-error@+1 {{accumulate and first_of exclude each other}}
    ascend.cube.mmad %a, %b to %c accumulate first_of(%blk) {m = 16, k = 16, n = 16} : memref<1x1x16x16xf16, #ascend.l0a>, memref<1x1x16x16xf16, #ascend.l0b> to memref<1x1x16x16xf32, #ascend.l0c>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<1x1x16x16xf16, #ascend.l0a>
    %b = ascend.alloc "b" : memref<2x1x16x16xf16, #ascend.l0b>
    %c = ascend.alloc "c" : memref<1x1x16x16xf32, #ascend.l0c>
    // expected-error@+1 {{needs (m1,k1,16,k0) x (k1,n1,16,k0) into (n1,m1,16,16), got (1, 1, 16, 16) (2, 1, 16, 16) (1, 1, 16, 16)}}
    ascend.cube.mmad %a, %b to %c {m = 16, k = 16, n = 16} : memref<1x1x16x16xf16, #ascend.l0a>, memref<2x1x16x16xf16, #ascend.l0b> to memref<1x1x16x16xf32, #ascend.l0c>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<1x1x16x16xf16, #ascend.l0a>
    %b = ascend.alloc "b" : memref<1x1x16x16xf16, #ascend.l0b>
    %c = ascend.alloc "c" : memref<2x1x16x16xf32, #ascend.l0c>
    // expected-error@+1 {{needs (m1,k1,16,k0) x (k1,n1,16,k0) into (n1,m1,16,16)}}
    ascend.cube.mmad %a, %b to %c {m = 16, k = 16, n = 16} : memref<1x1x16x16xf16, #ascend.l0a>, memref<1x1x16x16xf16, #ascend.l0b> to memref<2x1x16x16xf32, #ascend.l0c>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<1x1x16x8xf16, #ascend.l0a>
    %b = ascend.alloc "b" : memref<1x1x16x16xf16, #ascend.l0b>
    %c = ascend.alloc "c" : memref<1x1x16x16xf32, #ascend.l0c>
    // expected-error@+1 {{needs (m1,k1,16,k0) x (k1,n1,16,k0) into (n1,m1,16,16)}}
    ascend.cube.mmad %a, %b to %c {m = 16, k = 16, n = 16} : memref<1x1x16x8xf16, #ascend.l0a>, memref<1x1x16x16xf16, #ascend.l0b> to memref<1x1x16x16xf32, #ascend.l0c>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<1x1x16x16xf16, #ascend.l0a>
    %b = ascend.alloc "b" : memref<1x1x16x16xf16, #ascend.l0b>
    %c = ascend.alloc "c" : memref<1x1x16x32xf32, #ascend.l0c>
    // expected-error@+1 {{needs (m1,k1,16,k0) x (k1,n1,16,k0) into (n1,m1,16,16)}}
    ascend.cube.mmad %a, %b to %c {m = 16, k = 16, n = 16} : memref<1x1x16x16xf16, #ascend.l0a>, memref<1x1x16x16xf16, #ascend.l0b> to memref<1x1x16x32xf32, #ascend.l0c>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<1x1x16x16xf16, #ascend.l0a>
    %b = ascend.alloc "b" : memref<1x1x16x16xf16, #ascend.l0b>
    %c = ascend.alloc "c" : memref<1x1x16x16xf32, #ascend.l0c>
    // expected-error@+1 {{m 17, k 16, n 16 do not fit the operands}}
    ascend.cube.mmad %a, %b to %c {m = 17, k = 16, n = 16} : memref<1x1x16x16xf16, #ascend.l0a>, memref<1x1x16x16xf16, #ascend.l0b> to memref<1x1x16x16xf32, #ascend.l0c>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<1x1x16x16xf16, #ascend.l0a>
    %b = ascend.alloc "b" : memref<1x1x16x16xf16, #ascend.l0b>
    %c = ascend.alloc "c" : memref<1x1x16x16xf32, #ascend.l0c>
    // expected-error@+1 {{m 16, k 0, n 16 do not fit the operands}}
    ascend.cube.mmad %a, %b to %c {m = 16, k = 0, n = 16} : memref<1x1x16x16xf16, #ascend.l0a>, memref<1x1x16x16xf16, #ascend.l0b> to memref<1x1x16x16xf32, #ascend.l0c>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<1x1x16x16xf16, #ascend.l0a>
    %b = ascend.alloc "b" : memref<1x1x16x16xf16, #ascend.l0b>
    %c = ascend.alloc "c" : memref<1x1x16x16xf32, #ascend.l0c>
    // expected-error@+1 {{expected m, k, n}}
    ascend.cube.mmad %a, %b to %c {m = 16, k = 16} : memref<1x1x16x16xf16, #ascend.l0a>, memref<1x1x16x16xf16, #ascend.l0b> to memref<1x1x16x16xf32, #ascend.l0c>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<1x1x16x16xf16, #ascend.l0a>
    %b = ascend.alloc "b" : memref<1x1x16x16xf16, #ascend.l0b>
    %bias = ascend.alloc "bias" : memref<1x16xf16, #ascend.bt>
    %c = ascend.alloc "c" : memref<1x1x16x16xf32, #ascend.l0c>
    // expected-error@+1 {{needs a bias (n1, 16) of the accumulator's element type}}
    ascend.cube.mmad_bias %a, %b, %bias to %c {m = 16, k = 16, n = 16} : memref<1x1x16x16xf16, #ascend.l0a>, memref<1x1x16x16xf16, #ascend.l0b>, memref<1x16xf16, #ascend.bt> to memref<1x1x16x16xf32, #ascend.l0c>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<16x16xf32, #ascend.ub>
    %b = ascend.alloc "b" : memref<16x16xf16, #ascend.ub>
    // expected-error@+1 {{moves from l0c to gm, l1 or ub}}
    ascend.cube.fixpipe %a to %b imm 1.0 : memref<16x16xf32, #ascend.ub> to memref<16x16xf16, #ascend.ub>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<16x16xi32, #ascend.l0c>
    %w = ascend.alloc "w" : memref<16x16xui64, #ascend.fb>
    %b = ascend.alloc "b" : memref<16x16xi8, #ascend.ub>
    // expected-error@+1 {{activation 'clip' is none of relu}}
    ascend.cube.requantise clip %a, %w to %b : memref<16x16xi32, #ascend.l0c>, memref<16x16xui64, #ascend.fb> to memref<16x16xi8, #ascend.ub>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<16x16xi32, #ascend.l0c>
    %w = ascend.alloc "w" : memref<16x16xui64, #ascend.fb>
    %b = ascend.alloc "b" : memref<16x16xi8, #ascend.ub>
    %h = ascend.alloc "h" : memref<16x16xf16, #ascend.ub>
    // expected-error@+1 {{takes i32 by ui64 to i8 or ui8}}
    ascend.cube.requantise %a, %w to %h : memref<16x16xi32, #ascend.l0c>, memref<16x16xui64, #ascend.fb> to memref<16x16xf16, #ascend.ub>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<16x16xi32, #ascend.l0c>
    %w = ascend.alloc "w" : memref<16x16xui64, #ascend.fb>
    %b = ascend.alloc "b" : memref<16x16xi8, #ascend.ub>
    %u = ascend.alloc "u" : memref<16x16xui64, #ascend.ub>
    // expected-error@+1 {{takes its words from fb}}
    ascend.cube.requantise %a, %u to %b : memref<16x16xi32, #ascend.l0c>, memref<16x16xui64, #ascend.ub> to memref<16x16xi8, #ascend.ub>
  }
}

// -----

// expected-error@+1 {{core must be cube or vector or mixed}}
ascend.kernel @k() blocks(1) attributes {core = "both"} {
  ascend.blocks %blk = 0 to 1 {
  }
}
