// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// Matrix multiply-accumulate: when it overwrites the accumulator, and when it adds to it.

// CHECK: ascend.kernel @mmad
ascend.kernel @mmad() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<2x3x16x16xf16, #ascend.l0a>
    %b = ascend.alloc "b" : memref<3x4x16x16xf16, #ascend.l0b>
    %c = ascend.alloc "c" : memref<4x2x16x16xf32, #ascend.l0c>
    // CHECK: ascend.cube.mmad %a, %b to %c {m = 32, k = 48, n = 64} : memref<2x3x16x16xf16, #ascend.l0a>, memref<3x4x16x16xf16, #ascend.l0b> to memref<4x2x16x16xf32, #ascend.l0c>
    ascend.cube.mmad %a, %b to %c {m = 32, k = 48, n = 64} : memref<2x3x16x16xf16, #ascend.l0a>, memref<3x4x16x16xf16, #ascend.l0b> to memref<4x2x16x16xf32, #ascend.l0c>
    // CHECK-NEXT: ascend.cube.mmad %a, %b to %c accumulate {m = 1, k = 33, n = 49} :
    ascend.cube.mmad %a, %b to %c accumulate {m = 1, k = 33, n = 49} : memref<2x3x16x16xf16, #ascend.l0a>, memref<3x4x16x16xf16, #ascend.l0b> to memref<4x2x16x16xf32, #ascend.l0c>
    ascend.loop %i = 0 to 4 {
      ascend.loop %j = 0 to 2 {
        // CHECK: ascend.cube.mmad %a, %b to %c first_of(%i, %j) {m = 32, k = 48, n = 64} :
        ascend.cube.mmad %a, %b to %c first_of(%i, %j) {m = 32, k = 48, n = 64} : memref<2x3x16x16xf16, #ascend.l0a>, memref<3x4x16x16xf16, #ascend.l0b> to memref<4x2x16x16xf32, #ascend.l0c>
      }
    }
  }
}

// int8 blocks of K are 32 deep.
// CHECK: ascend.kernel @bytes
ascend.kernel @bytes() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<1x2x16x32xi8, #ascend.l0a>
    %b = ascend.alloc "b" : memref<2x1x16x32xi8, #ascend.l0b>
    %c = ascend.alloc "c" : memref<1x1x16x16xi32, #ascend.l0c>
    // CHECK: ascend.cube.mmad %a, %b to %c {m = 16, k = 64, n = 16} : memref<1x2x16x32xi8, #ascend.l0a>, memref<2x1x16x32xi8, #ascend.l0b> to memref<1x1x16x16xi32, #ascend.l0c>
    ascend.cube.mmad %a, %b to %c {m = 16, k = 64, n = 16} : memref<1x2x16x32xi8, #ascend.l0a>, memref<2x1x16x32xi8, #ascend.l0b> to memref<1x1x16x16xi32, #ascend.l0c>
  }
}

// Chips with FixPipe: a bias starts the accumulator, the result leaves by a pipe of its own.
// CHECK: ascend.kernel @fixpipe(%y: memref<16x16xf16, #ascend.gm> w) blocks(1) attributes {core = "cube"}
ascend.kernel @fixpipe(%y : memref<16x16xf16, #ascend.gm> w) blocks(1) attributes {core = "cube"} {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<1x2x16x16xf16, #ascend.l0a>
    %b = ascend.alloc "b" : memref<2x1x16x16xf16, #ascend.l0b>
    %bias = ascend.alloc "bias" : memref<1x16xf32, #ascend.bt>
    %c = ascend.alloc "c" : memref<1x1x16x16xf32, #ascend.l0c>
    // CHECK: ascend.cube.mmad_bias %a, %b, %bias to %c {m = 16, k = 32, n = 16} :
    ascend.cube.mmad_bias %a, %b, %bias to %c {m = 16, k = 32, n = 16} : memref<1x2x16x16xf16, #ascend.l0a>, memref<2x1x16x16xf16, #ascend.l0b>, memref<1x16xf32, #ascend.bt> to memref<1x1x16x16xf32, #ascend.l0c>
    %sum = ascend.view %c[0] : memref<1x1x16x16xf32, #ascend.l0c> to memref<16x16xf32, strided<[16, 1]>, #ascend.l0c>
    // CHECK: ascend.cube.fixpipe leaky_relu %{{.*}} to %y imm 1.000000e-01 :
    ascend.cube.fixpipe leaky_relu %sum to %y imm 0.1 : memref<16x16xf32, strided<[16, 1]>, #ascend.l0c> to memref<16x16xf16, #ascend.gm>
    // CHECK: ascend.cube.fixpipe relu %{{.*}} to %y imm 1.000000e+00 :
    ascend.cube.fixpipe relu %sum to %y imm 1.0 : memref<16x16xf32, strided<[16, 1]>, #ascend.l0c> to memref<16x16xf16, #ascend.gm>
    // CHECK-NEXT: ascend.cube.fixpipe %{{.*}} to %y imm 5.000000e-01 :
    ascend.cube.fixpipe %sum to %y imm 0.5 : memref<16x16xf32, strided<[16, 1]>, #ascend.l0c> to memref<16x16xf16, #ascend.gm>
  }
}

// Sums in i32 become 8 bits by words of FixPipe's own buffer, one a channel.
// CHECK: ascend.kernel @requantise
ascend.kernel @requantise(%y : memref<16x16xi8, #ascend.gm> w, %words : memref<16xui64, #ascend.gm> r) blocks(1) attributes {core = "cube"} {
  ascend.blocks %blk = 0 to 1 {
    %l1 = ascend.alloc "l1" : memref<16xui64, #ascend.l1>
    %fb = ascend.alloc "fb" : memref<16xui64, #ascend.fb>
    %c = ascend.alloc "c" : memref<16x16xi32, #ascend.l0c>
    ascend.mte.copy %words to %l1 : memref<16xui64, #ascend.gm> to memref<16xui64, #ascend.l1>
    // CHECK: ascend.mte.copy %l1 to %fb
    ascend.mte.copy %l1 to %fb : memref<16xui64, #ascend.l1> to memref<16xui64, #ascend.fb>
    %row = ascend.view %fb[0] : memref<16xui64, #ascend.fb> to memref<16x16xui64, strided<[0, 1]>, #ascend.fb>
    // CHECK: ascend.cube.requantise %c, %{{.*}} to %y : memref<16x16xi32, #ascend.l0c>, memref<16x16xui64, strided<[0, 1]>, #ascend.fb> to memref<16x16xi8, #ascend.gm>
    ascend.cube.requantise %c, %row to %y : memref<16x16xi32, #ascend.l0c>, memref<16x16xui64, strided<[0, 1]>, #ascend.fb> to memref<16x16xi8, #ascend.gm>
    // CHECK: ascend.cube.requantise relu %c, %{{.*}} to %y :
    ascend.cube.requantise relu %c, %row to %y : memref<16x16xi32, #ascend.l0c>, memref<16x16xui64, strided<[0, 1]>, #ascend.fb> to memref<16x16xi8, #ascend.gm>
  }
}
