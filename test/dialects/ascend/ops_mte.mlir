// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// Moves: custom form -> generic form -> custom form.

// CHECK: ascend.kernel @copies
ascend.kernel @copies(%x: memref<16x16xf16, #ascend.gm> r, %y: memref<16x16xf16, #ascend.gm> w) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %l1 = ascend.alloc "l1" : memref<16x16xf16, #ascend.l1>
    %a = ascend.alloc "a" : memref<16x16xf16, #ascend.ub>
    %b = ascend.alloc "b" : memref<16x16xf16, #ascend.ub>
    // CHECK: ascend.mte.copy %x to %l1 : memref<16x16xf16, #ascend.gm> to memref<16x16xf16, #ascend.l1>
    ascend.mte.copy %x to %l1 : memref<16x16xf16, #ascend.gm> to memref<16x16xf16, #ascend.l1>
    // CHECK-NEXT: ascend.mte.copy %x to %a : memref<16x16xf16, #ascend.gm> to memref<16x16xf16, #ascend.ub>
    ascend.mte.copy %x to %a : memref<16x16xf16, #ascend.gm> to memref<16x16xf16, #ascend.ub>
    // CHECK-NEXT: ascend.mte.copy %l1 to %b : memref<16x16xf16, #ascend.l1> to memref<16x16xf16, #ascend.ub>
    ascend.mte.copy %l1 to %b : memref<16x16xf16, #ascend.l1> to memref<16x16xf16, #ascend.ub>
    // CHECK-NEXT: ascend.mte.copy %a to %b : memref<16x16xf16, #ascend.ub> to memref<16x16xf16, #ascend.ub>
    ascend.mte.copy %a to %b : memref<16x16xf16, #ascend.ub> to memref<16x16xf16, #ascend.ub>
    // CHECK-NEXT: ascend.mte.copy %a to %l1 : memref<16x16xf16, #ascend.ub> to memref<16x16xf16, #ascend.l1>
    ascend.mte.copy %a to %l1 : memref<16x16xf16, #ascend.ub> to memref<16x16xf16, #ascend.l1>
    // CHECK-NEXT: ascend.mte.copy %b to %y : memref<16x16xf16, #ascend.ub> to memref<16x16xf16, #ascend.gm>
    ascend.mte.copy %b to %y : memref<16x16xf16, #ascend.ub> to memref<16x16xf16, #ascend.gm>
  }
}

// CHECK: ascend.kernel @fractals
ascend.kernel @fractals() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %w = ascend.alloc "w" : memref<2x3x16x16xf16, #ascend.l1>
    %l0a = ascend.alloc "l0a" : memref<2x3x16x16xf16, #ascend.l0a>
    %l0b = ascend.alloc "l0b" : memref<2x3x16x16xf16, #ascend.l0b>
    // CHECK: ascend.mte.load2d %w to %l0a : memref<2x3x16x16xf16, #ascend.l1> to memref<2x3x16x16xf16, #ascend.l0a>
    ascend.mte.load2d %w to %l0a : memref<2x3x16x16xf16, #ascend.l1> to memref<2x3x16x16xf16, #ascend.l0a>
    // CHECK-NEXT: ascend.mte.load2d %w to %l0b transpose : memref<2x3x16x16xf16, #ascend.l1> to memref<2x3x16x16xf16, #ascend.l0b>
    ascend.mte.load2d %w to %l0b transpose : memref<2x3x16x16xf16, #ascend.l1> to memref<2x3x16x16xf16, #ascend.l0b>
  }
}

// CHECK: ascend.kernel @img2col
ascend.kernel @img2col() blocks(2) {
  ascend.blocks %blk = 0 to 2 {
    %x = ascend.alloc "x" : memref<2x9x11x16xf16, #ascend.l1>
    ascend.loop %m = 0 to 4 {
      ascend.loop %k = 0 to 3 {
        %l0a = ascend.alloc "l0a" : memref<2x3x16x16xf16, #ascend.l0a>
        // CHECK: ascend.mte.load3d %x to %l0a {in_h = 9, in_w = 11, kernel_h = 3, kernel_w = 2, stride_h = 2, stride_w = 1, dilation_h = 1, dilation_w = 3, pad_top = 1, pad_left = 0, out_w = 7} m_start(%blk * 64 + %m * 32 + 16) k_start(%k * 3 + 1) : memref<2x9x11x16xf16, #ascend.l1> to memref<2x3x16x16xf16, #ascend.l0a>
        ascend.mte.load3d %x to %l0a {in_h = 9, in_w = 11, kernel_h = 3, kernel_w = 2, stride_h = 2, stride_w = 1, dilation_h = 1, dilation_w = 3, pad_top = 1, pad_left = 0, out_w = 7} m_start(%blk * 64 + %m * 32 + 16) k_start(%k * 3 + 1) : memref<2x9x11x16xf16, #ascend.l1> to memref<2x3x16x16xf16, #ascend.l0a>
        // CHECK-NEXT: m_start(0) k_start(%m + %k * 3) :
        ascend.mte.load3d %x to %l0a {in_h = 9, in_w = 11, kernel_h = 3, kernel_w = 2, stride_h = 2, stride_w = 1, dilation_h = 1, dilation_w = 3, pad_top = 1, pad_left = 0, out_w = 7} m_start(0) k_start(%m + %k * 3) : memref<2x9x11x16xf16, #ascend.l1> to memref<2x3x16x16xf16, #ascend.l0a>
      }
    }
  }
}

// CHECK: ascend.kernel @img2col_of_few_channels
ascend.kernel @img2col_of_few_channels() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %x = ascend.alloc "x" : memref<1x9x11x4xf16, #ascend.l1>
    %l0a = ascend.alloc "l0a" : memref<2x3x16x16xf16, #ascend.l0a>
    // CHECK: ascend.mte.load3d %x to %l0a {{.*}} : memref<1x9x11x4xf16, #ascend.l1> to memref<2x3x16x16xf16, #ascend.l0a>
    ascend.mte.load3d %x to %l0a {in_h = 9, in_w = 11, kernel_h = 3, kernel_w = 3, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, pad_top = 1, pad_left = 1, out_w = 11} m_start(0) k_start(0) : memref<1x9x11x4xf16, #ascend.l1> to memref<2x3x16x16xf16, #ascend.l0a>
  }
}
