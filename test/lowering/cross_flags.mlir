// RUN: ge-opt --insert-sync='soc=Ascend910B3' %s | FileCheck %s

// Four tiles through a ring of two: the Vector cores give both places at the start, the Cube core takes them back at the end.
// CHECK-LABEL: ascend.kernel @ring
ascend.kernel @ring(%y : memref<1024xf32, #ascend.gm> w, %sums : memref<512xf32, #ascend.gm> rw) blocks(1) attributes {core = "mixed"} {
  // CHECK: ascend.blocks cube
  // CHECK: ascend.loop
  // CHECK: ascend.sync.block_wait 1
  // CHECK-NEXT: ascend.cube.fixpipe
  // CHECK-NEXT: ascend.sync.block_set [FIX] 0
  // CHECK: ascend.sync.block_wait 1
  // CHECK-NEXT: ascend.sync.block_wait 1
  // CHECK-NEXT: }
  ascend.blocks cube %blk = 0 to 1 {
    ascend.loop %i = 0 to 4 {
      %l0c = ascend.alloc "l0c" address(0) bytes(1024) : memref<256xf32, #ascend.l0c>
      %ring = ascend.alloc "sums" versions(2) address(1) bytes(1024) : memref<256xf32, #ascend.gm>
      ascend.cube.fixpipe %l0c to %ring imm 1.0 : memref<256xf32, #ascend.l0c> to memref<256xf32, #ascend.gm>
    }
  }
  // CHECK: ascend.blocks vector_0
  // CHECK: ascend.sync.block_set [MTE2] 1
  // CHECK-NEXT: ascend.sync.block_set [MTE2] 1
  // CHECK: ascend.loop
  // CHECK: ascend.sync.block_wait 0
  // CHECK-NEXT: ascend.mte.copy
  // CHECK-NEXT: ascend.sync.block_set [MTE2] 1
  ascend.blocks vector_0 %blk = 0 to 1 {
    ascend.loop %i = 0 to 4 {
      %ring = ascend.alloc "sums" versions(2) address(1) bytes(1024) : memref<256xf32, #ascend.gm>
      %ub = ascend.alloc "ub" address(0) bytes(1024) : memref<256xf32, #ascend.ub>
      ascend.mte.copy %ring to %ub : memref<256xf32, #ascend.gm> to memref<256xf32, #ascend.ub>
      %here = ascend.view %y[%i * 256] : memref<1024xf32, #ascend.gm> to memref<256xf32, strided<[1], offset: ?>, #ascend.gm>
      ascend.mte.copy %ub to %here : memref<256xf32, #ascend.ub> to memref<256xf32, strided<[1], offset: ?>, #ascend.gm>
    }
  }
  // What a core has no part in it takes part in all the same: its flags are counted.
  // CHECK: ascend.blocks vector_1
  // CHECK: ascend.loop
  // CHECK: ascend.sync.block_wait 0
  // CHECK-NEXT: ascend.alloc "sums"
  // CHECK-NEXT: ascend.sync.block_set [MTE2] 1
  ascend.blocks vector_1 %blk = 0 to 1 {
    ascend.loop %i = 0 to 4 {
      %ring = ascend.alloc "sums" versions(2) address(1) bytes(1024) : memref<256xf32, #ascend.gm>
    }
  }
}
