// RUN: ge-opt %s --verify-diagnostics --split-input-file

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<16xf16, #ascend.ub>
    // expected-error@+1 {{compares two operands of one element type to i1}}
    ascend.vec.cmp lt %a, %a to %a : memref<16xf16, #ascend.ub>, memref<16xf16, #ascend.ub> to memref<16xf16, #ascend.ub>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<16xf16, #ascend.ub>
    %m = ascend.alloc "m" : memref<16xi1, #ascend.ub>
    // expected-error@+1 {{predicate must be one of eq, ne, lt, le, gt, ge}}
    ascend.vec.cmp less %a, %a to %m : memref<16xf16, #ascend.ub>, memref<16xf16, #ascend.ub> to memref<16xi1, #ascend.ub>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<16xf16, #ascend.ub>
    // expected-error@+1 {{takes an i1 mask and two sources of the destination's element type}}
    ascend.vec.sel %a, %a, %a to %a : memref<16xf16, #ascend.ub>, memref<16xf16, #ascend.ub>, memref<16xf16, #ascend.ub> to memref<16xf16, #ascend.ub>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<16xf16, #ascend.ub>
    // expected-error@+1 {{takes a table of the destination's element type and i32 indices}}
    ascend.vec.gather %a, %a to %a : memref<16xf16, #ascend.ub>, memref<16xf16, #ascend.ub> to memref<16xf16, #ascend.ub>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<16xf16, #ascend.ub>
    %i = ascend.alloc "i" : memref<8xi32, #ascend.ub>
    // expected-error@+1 {{needs one index an element of the destination}}
    ascend.vec.gather %a, %i to %a : memref<16xf16, #ascend.ub>, memref<8xi32, #ascend.ub> to memref<16xf16, #ascend.ub>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %i = ascend.alloc "i" : memref<8xi32, #ascend.ub>
    // expected-error@+1 {{loads one i32 of ub}}
    %r = ascend.scalar.load %i extent(4) : memref<8xi32, #ascend.ub>
  }
}
