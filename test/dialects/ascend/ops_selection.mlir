// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// Masks, rounding, look-up by index, registers: custom form -> generic form -> custom form.

// CHECK: ascend.kernel @masks
ascend.kernel @masks() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<8x16xf16, #ascend.ub>
    %b = ascend.alloc "b" : memref<8x16xf16, #ascend.ub>
    %m = ascend.alloc "m" : memref<8x16xi1, #ascend.ub>
    // CHECK: ascend.vec.cmp lt %a, %b to %m : memref<8x16xf16, #ascend.ub>, memref<8x16xf16, #ascend.ub> to memref<8x16xi1, #ascend.ub>
    ascend.vec.cmp lt %a, %b to %m : memref<8x16xf16, #ascend.ub>, memref<8x16xf16, #ascend.ub> to memref<8x16xi1, #ascend.ub>
    // CHECK-NEXT: ascend.vec.sel %m, %a, %b to %a : memref<8x16xi1, #ascend.ub>, memref<8x16xf16, #ascend.ub>, memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    ascend.vec.sel %m, %a, %b to %a : memref<8x16xi1, #ascend.ub>, memref<8x16xf16, #ascend.ub>, memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
  }
}

// CHECK: ascend.kernel @rounding
ascend.kernel @rounding() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<16xf32, #ascend.ub>
    %i = ascend.alloc "i" : memref<16xi32, #ascend.ub>
    // CHECK: ascend.vec.convf %a to %i : memref<16xf32, #ascend.ub> to memref<16xi32, #ascend.ub>
    ascend.vec.convf %a to %i : memref<16xf32, #ascend.ub> to memref<16xi32, #ascend.ub>
    // CHECK-NEXT: ascend.vec.convc %a to %i : memref<16xf32, #ascend.ub> to memref<16xi32, #ascend.ub>
    ascend.vec.convc %a to %i : memref<16xf32, #ascend.ub> to memref<16xi32, #ascend.ub>
    // CHECK-NEXT: ascend.vec.convz %a to %i : memref<16xf32, #ascend.ub> to memref<16xi32, #ascend.ub>
    ascend.vec.convz %a to %i : memref<16xf32, #ascend.ub> to memref<16xi32, #ascend.ub>
  }
}

// CHECK: ascend.kernel @indices
ascend.kernel @indices(%x: memref<100x32xf16, #ascend.gm> r) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %i = ascend.alloc "i" : memref<64xi32, #ascend.ub>
    %t = ascend.alloc "t" : memref<4x32xf16, #ascend.ub>
    %y = ascend.alloc "y" : memref<64xf16, #ascend.ub>
    // CHECK: ascend.vec.gather %t, %i to %y : memref<4x32xf16, #ascend.ub>, memref<64xi32, #ascend.ub> to memref<64xf16, #ascend.ub>
    ascend.vec.gather %t, %i to %y : memref<4x32xf16, #ascend.ub>, memref<64xi32, #ascend.ub> to memref<64xf16, #ascend.ub>
    ascend.loop %n = 0 to 4 {
      // CHECK: %one = ascend.view %i[%n] : memref<64xi32, #ascend.ub> to memref<1xi32, #ascend.ub>
      %one = ascend.view %i[%n] : memref<64xi32, #ascend.ub> to memref<1xi32, #ascend.ub>
      // CHECK-NEXT: %r = ascend.scalar.load %one extent(100) : memref<1xi32, #ascend.ub>
      %r = ascend.scalar.load %one extent(100) : memref<1xi32, #ascend.ub>
      // CHECK-NEXT: %row = ascend.view %x[%r * 32] : memref<100x32xf16, #ascend.gm> to memref<32xf16, #ascend.gm>
      %row = ascend.view %x[%r * 32] : memref<100x32xf16, #ascend.gm> to memref<32xf16, #ascend.gm>
      %to = ascend.view %t[%n * 32] : memref<4x32xf16, #ascend.ub> to memref<32xf16, #ascend.ub>
      ascend.mte.copy %row to %to : memref<32xf16, #ascend.gm> to memref<32xf16, #ascend.ub>
    }
  }
}
