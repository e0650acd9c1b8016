// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// Kernels, block ranges, loops, allocs and views: custom form -> generic form -> custom form.

// CHECK: ascend.kernel @no_arguments() blocks(1) {
// CHECK-NEXT: ascend.blocks %blk = 0 to 1 {
ascend.kernel @no_arguments() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
  }
}

// CHECK: ascend.kernel @every_access(%r: memref<16xf16, #ascend.gm> r, %w: memref<16xf32, #ascend.gm> w, %rw: memref<4x4xi32, #ascend.gm> rw) blocks(8) attributes {ge.note = "kept"} {
// CHECK-NEXT: ascend.blocks %blk = 0 to 7 {
// CHECK: ascend.blocks %[[LAST:.*]] = 7 to 8 {
ascend.kernel @every_access(%r: memref<16xf16, #ascend.gm> r, %w: memref<16xf32, #ascend.gm> w, %rw: memref<4x4xi32, #ascend.gm> rw) blocks(8) attributes {ge.note = "kept"} {
  ascend.blocks %blk = 0 to 7 {
  }
  ascend.blocks %last = 7 to 8 {
  }
}

// CHECK: ascend.kernel @nested_loops
ascend.kernel @nested_loops(%x: memref<4096xf16, #ascend.gm> r) blocks(2) {
  ascend.blocks %blk = 0 to 2 {
    // CHECK: ascend.loop %i = 0 to 3 {
    ascend.loop %i = 0 to 3 {
      // CHECK-NEXT: ascend.loop %j = 0 to 1 {
      ascend.loop %j = 0 to 1 {
        // A view's offset is affine in the block index and the counters around it.
        // CHECK-NEXT: %all = ascend.view %x[%blk * 2048 + %i * 256 + %j + 7] : memref<4096xf16, #ascend.gm> to memref<2x16xf16, strided<[128, 1]>, #ascend.gm>
        %all = ascend.view %x[%blk * 2048 + %i * 256 + %j + 7] : memref<4096xf16, #ascend.gm> to memref<2x16xf16, strided<[128, 1]>, #ascend.gm>
        // CHECK-NEXT: %start = ascend.view %x[0] : memref<4096xf16, #ascend.gm> to memref<16xf16, #ascend.gm>
        %start = ascend.view %x[0] : memref<4096xf16, #ascend.gm> to memref<16xf16, #ascend.gm>
        // CHECK-NEXT: %back = ascend.view %x[%i * -256 + 512] : memref<4096xf16, #ascend.gm> to memref<16xf16, #ascend.gm>
        %back = ascend.view %x[%i * -256 + 512] : memref<4096xf16, #ascend.gm> to memref<16xf16, #ascend.gm>
        // Stride 0 repeats; the element type may differ from the buffer's.
        // CHECK-NEXT: %repeat = ascend.view %x[%j] : memref<4096xf16, #ascend.gm> to memref<8x16xf16, strided<[0, 1]>, #ascend.gm>
        %repeat = ascend.view %x[%j] : memref<4096xf16, #ascend.gm> to memref<8x16xf16, strided<[0, 1]>, #ascend.gm>
        // CHECK-NEXT: %words = ascend.view %x[3] : memref<4096xf16, #ascend.gm> to memref<8xi32, #ascend.gm>
        %words = ascend.view %x[3] : memref<4096xf16, #ascend.gm> to memref<8xi32, #ascend.gm>
      }
    }
  }
}

// CHECK: ascend.kernel @every_space
ascend.kernel @every_space() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    // CHECK: %{{.*}} = ascend.alloc "a" : memref<2x5x7x16xf16, #ascend.l1>
    %0 = ascend.alloc "a" : memref<2x5x7x16xf16, #ascend.l1>
    // CHECK-NEXT: %{{.*}} = ascend.alloc "b" versions(2) : memref<1x1x16x16xf16, #ascend.l0a>
    %1 = ascend.alloc "b" versions(2) : memref<1x1x16x16xf16, #ascend.l0a>
    // CHECK-NEXT: %{{.*}} = ascend.alloc "c" versions(2) phase(1) : memref<1x1x16x16xf16, #ascend.l0b>
    %2 = ascend.alloc "c" versions(2) phase(1) : memref<1x1x16x16xf16, #ascend.l0b>
    // CHECK-NEXT: %{{.*}} = ascend.alloc "d" address(512) bytes(1024) : memref<1x1x16x16xf32, #ascend.l0c>
    %3 = ascend.alloc "d" address(512) bytes(1024) : memref<1x1x16x16xf32, #ascend.l0c>
    // CHECK-NEXT: %{{.*}} = ascend.alloc "e" versions(3) phase(2) address(0) bytes(32) : memref<16xf16, #ascend.ub>
    %4 = ascend.alloc "e" versions(3) phase(2) address(0) bytes(32) : memref<16xf16, #ascend.ub>
    // CHECK-NEXT: %{{.*}} = ascend.alloc "of \22bias\22" : memref<16xf32, #ascend.bt>
    %5 = ascend.alloc "of \22bias\22" : memref<16xf32, #ascend.bt>
    // CHECK-NEXT: %{{.*}} = ascend.alloc "g" : memref<16xui8, #ascend.fb>
    %6 = ascend.alloc "g" : memref<16xui8, #ascend.fb>
  }
}
