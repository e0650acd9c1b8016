// RUN: ge-opt %s | ge-opt | FileCheck %s

// A mixed kernel: each core of a team has blocks of its own, and they exchange what lies in the last argument.

// CHECK-LABEL: ascend.kernel @halves
ascend.kernel @halves(%y : memref<64xf32, #ascend.gm> w, %exchanged : memref<128xf32, #ascend.gm> rw) blocks(1) attributes {core = "mixed"} {
  // CHECK: ascend.blocks cube %{{.*}} = 0 to 1 {
  ascend.blocks cube %blk = 0 to 1 {
    // CHECK: ascend.alloc "ring" versions(2) address(1) bytes(256) : memref<64xf32, #ascend.gm>
    %ring = ascend.alloc "ring" versions(2) address(1) bytes(256) : memref<64xf32, #ascend.gm>
    // CHECK: ascend.sync.block_wait 1
    ascend.sync.block_wait 1
    // CHECK: ascend.sync.block_set [FIX] 0
    ascend.sync.block_set [FIX] 0
  }
  // CHECK: ascend.blocks vector_0 %{{.*}} = 0 to 1 {
  ascend.blocks vector_0 %blk = 0 to 1 {
    ascend.sync.block_set [MTE2] 1
    ascend.sync.block_wait 0
  }
  // CHECK: ascend.blocks vector_1 %{{.*}} = 0 to 1 {
  ascend.blocks vector_1 %blk = 0 to 1 {
    ascend.sync.block_set [MTE2] 1
    ascend.sync.block_wait 0
  }
}
