// RUN: ge-opt %s --split-input-file --verify-diagnostics --plan-onchip-buffers --insert-sync

// What the passes over a kernel refuse.

// expected-error@+1 {{kernel too_large needs 262208 bytes of UB, Ascend310P3 has 262144}}
ascend.kernel @too_large() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %0 = ascend.alloc "a" : memref<131072xf16, #ascend.ub>
    %1 = ascend.alloc "b" : memref<17xf16, #ascend.ub>
  }
}

// -----

// The second run of the loop would need a flag from one pipe to the other and back inside one statement.
ascend.kernel @outside_its_loop(%x: memref<128xf16, #ascend.gm> r) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    // expected-error@+1 {{buffer u is written and used by several pipes in one inner loop; allocate it inside that loop}}
    %u = ascend.alloc "u" : memref<128xf16, #ascend.ub>
    ascend.loop %i = 0 to 4 {
      ascend.mte.copy %x to %u : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
      ascend.vec.relu %u to %u : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
    }
  }
}

// -----

ascend.kernel @slot_of_different_pipes(%x: memref<128xf16, #ascend.gm> r, %y: memref<128xf16, #ascend.gm> w) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    ascend.loop %i = 0 to 4 {
      %u = ascend.alloc "u" : memref<128xf16, #ascend.ub>
      ascend.mte.copy %x to %u : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
      ascend.vec.relu %u to %u : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
    }
    // expected-error@+1 {{the allocs of slot u are used by different pipes}}
    %t = ascend.alloc "u" : memref<128xf16, #ascend.ub>
    ascend.mte.copy %x to %t : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
    ascend.mte.copy %t to %y : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.gm>
  }
}
