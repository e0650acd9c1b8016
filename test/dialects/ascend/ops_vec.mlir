// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// Every operator of the Vector engine: custom form -> generic form -> custom form.

// CHECK: ascend.kernel @two_sources
ascend.kernel @two_sources() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<8x16xf16, #ascend.ub>
    %b = ascend.alloc "b" : memref<8x16xf16, #ascend.ub>
    %c = ascend.alloc "c" : memref<8x16xf16, #ascend.ub>
    // CHECK: ascend.vec.add %a, %b to %c : memref<8x16xf16, #ascend.ub>, memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    ascend.vec.add %a, %b to %c : memref<8x16xf16, #ascend.ub>, memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    // CHECK-NEXT: ascend.vec.sub %a, %b to %c : memref<8x16xf16, #ascend.ub>, memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    ascend.vec.sub %a, %b to %c : memref<8x16xf16, #ascend.ub>, memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    // CHECK-NEXT: ascend.vec.mul %a, %b to %c : memref<8x16xf16, #ascend.ub>, memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    ascend.vec.mul %a, %b to %c : memref<8x16xf16, #ascend.ub>, memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    // CHECK-NEXT: ascend.vec.div %a, %b to %c : memref<8x16xf16, #ascend.ub>, memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    ascend.vec.div %a, %b to %c : memref<8x16xf16, #ascend.ub>, memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    // CHECK-NEXT: ascend.vec.max %a, %b to %c : memref<8x16xf16, #ascend.ub>, memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    ascend.vec.max %a, %b to %c : memref<8x16xf16, #ascend.ub>, memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    // CHECK-NEXT: ascend.vec.min %a, %b to %c : memref<8x16xf16, #ascend.ub>, memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    ascend.vec.min %a, %b to %c : memref<8x16xf16, #ascend.ub>, memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    %i = ascend.alloc "i" : memref<8x16xi16, #ascend.ub>
    %j = ascend.alloc "j" : memref<8x16xi16, #ascend.ub>
    // CHECK: ascend.vec.and %i, %j to %j : memref<8x16xi16, #ascend.ub>, memref<8x16xi16, #ascend.ub> to memref<8x16xi16, #ascend.ub>
    ascend.vec.and %i, %j to %j : memref<8x16xi16, #ascend.ub>, memref<8x16xi16, #ascend.ub> to memref<8x16xi16, #ascend.ub>
    // CHECK: ascend.vec.or %i, %j to %j : memref<8x16xi16, #ascend.ub>, memref<8x16xi16, #ascend.ub> to memref<8x16xi16, #ascend.ub>
    ascend.vec.or %i, %j to %j : memref<8x16xi16, #ascend.ub>, memref<8x16xi16, #ascend.ub> to memref<8x16xi16, #ascend.ub>
  }
}

// CHECK: ascend.kernel @source_and_immediate
ascend.kernel @source_and_immediate() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<8x16xf16, #ascend.ub>
    %b = ascend.alloc "b" : memref<8x16xf16, #ascend.ub>
    // CHECK: ascend.vec.adds %a to %b imm 2.500000e+00 : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    ascend.vec.adds %a to %b imm 2.5 : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    // CHECK-NEXT: ascend.vec.muls %a to %b imm -1.000000e-01 : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    ascend.vec.muls %a to %b imm -0.1 : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    // CHECK-NEXT: ascend.vec.maxs %a to %b imm 0.000000e+00 : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    ascend.vec.maxs %a to %b imm 0.0 : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    // CHECK-NEXT: ascend.vec.mins %a to %b imm 6.000000e+00 : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    ascend.vec.mins %a to %b imm 6.0 : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    // CHECK-NEXT: ascend.vec.lrelu %a to %b imm 1.000000e-02 : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    ascend.vec.lrelu %a to %b imm 0.01 : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
  }
}

// CHECK: ascend.kernel @one_source
ascend.kernel @one_source() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<8x16xf16, #ascend.ub>
    %b = ascend.alloc "b" : memref<8x16xf16, #ascend.ub>
    // CHECK: ascend.vec.relu %a to %b : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    ascend.vec.relu %a to %b : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    // CHECK-NEXT: ascend.vec.exp %a to %b : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    ascend.vec.exp %a to %b : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    // CHECK-NEXT: ascend.vec.ln %a to %b : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    ascend.vec.ln %a to %b : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    // CHECK-NEXT: ascend.vec.sqrt %a to %b : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    ascend.vec.sqrt %a to %b : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    // CHECK-NEXT: ascend.vec.rsqrt %a to %b : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    ascend.vec.rsqrt %a to %b : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    // CHECK-NEXT: ascend.vec.rec %a to %b : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    ascend.vec.rec %a to %b : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    // CHECK-NEXT: ascend.vec.abs %a to %b : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    ascend.vec.abs %a to %b : memref<8x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
  }
}

// CHECK: ascend.kernel @rows
ascend.kernel @rows() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<8x16xf16, #ascend.ub>
    %b = ascend.alloc "b" : memref<8x1xf16, #ascend.ub>
    // CHECK: ascend.vec.cadd %a to %b : memref<8x16xf16, #ascend.ub> to memref<8x1xf16, #ascend.ub>
    ascend.vec.cadd %a to %b : memref<8x16xf16, #ascend.ub> to memref<8x1xf16, #ascend.ub>
    // CHECK-NEXT: ascend.vec.cmax %a to %b : memref<8x16xf16, #ascend.ub> to memref<8x1xf16, #ascend.ub>
    ascend.vec.cmax %a to %b : memref<8x16xf16, #ascend.ub> to memref<8x1xf16, #ascend.ub>
    // CHECK-NEXT: ascend.vec.cmin %a to %b : memref<8x16xf16, #ascend.ub> to memref<8x1xf16, #ascend.ub>
    ascend.vec.cmin %a to %b : memref<8x16xf16, #ascend.ub> to memref<8x1xf16, #ascend.ub>
  }
}

// CHECK: ascend.kernel @filled_and_transposed
ascend.kernel @filled_and_transposed() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %t = ascend.alloc "t" : memref<8x16xf16, #ascend.ub>
    %a = ascend.alloc "a" : memref<3x16x32xf16, #ascend.ub>
    %b = ascend.alloc "b" : memref<3x32x16xf16, #ascend.ub>
    // CHECK: ascend.vec.dup to %t imm -6.550400e+04 : to memref<8x16xf16, #ascend.ub>
    ascend.vec.dup to %t imm -65504.0 : to memref<8x16xf16, #ascend.ub>
    // Infinity and large whole numbers print as the bits of fp32.
    // CHECK-NEXT: ascend.vec.dup to %t imm 0xff800000 : to memref<8x16xf16, #ascend.ub>
    ascend.vec.dup to %t imm 0xFF800000 : to memref<8x16xf16, #ascend.ub>
    // CHECK-NEXT: ascend.vec.dup to %t imm 0x4B800001 : to memref<8x16xf16, #ascend.ub>
    ascend.vec.dup to %t imm 16777218.0 : to memref<8x16xf16, #ascend.ub>
    // CHECK-NEXT: ascend.vec.dup to %t imm 1.200000e+01 : to memref<8x16xf16, #ascend.ub>
    ascend.vec.dup to %t imm 12 : to memref<8x16xf16, #ascend.ub>
    // CHECK-NEXT: ascend.vec.transpose %a to %b : memref<3x16x32xf16, #ascend.ub> to memref<3x32x16xf16, #ascend.ub>
    ascend.vec.transpose %a to %b : memref<3x16x32xf16, #ascend.ub> to memref<3x32x16xf16, #ascend.ub>
  }
}

// CHECK: ascend.kernel @conversions
ascend.kernel @conversions() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %c = ascend.alloc "c" : memref<8x16xf32, #ascend.l0c>
    %d = ascend.alloc "d" : memref<8x16xf32, #ascend.ub>
    %t = ascend.alloc "t" : memref<8x16xf16, #ascend.ub>
    %e = ascend.alloc "e" : memref<8x16xi8, #ascend.ub>
    // CHECK: ascend.vec.conv %c to %d : memref<8x16xf32, #ascend.l0c> to memref<8x16xf32, #ascend.ub>
    ascend.vec.conv %c to %d : memref<8x16xf32, #ascend.l0c> to memref<8x16xf32, #ascend.ub>
    // CHECK-NEXT: ascend.vec.conv %c to %t : memref<8x16xf32, #ascend.l0c> to memref<8x16xf16, #ascend.ub>
    ascend.vec.conv %c to %t : memref<8x16xf32, #ascend.l0c> to memref<8x16xf16, #ascend.ub>
    // CHECK-NEXT: ascend.vec.conv %d to %t : memref<8x16xf32, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    ascend.vec.conv %d to %t : memref<8x16xf32, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    // CHECK-NEXT: ascend.vec.conv %e to %t : memref<8x16xi8, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    ascend.vec.conv %e to %t : memref<8x16xi8, #ascend.ub> to memref<8x16xf16, #ascend.ub>
  }
}
