// RUN: ge-opt --no-locations --lower-to-kernels --split-input-file %s | FileCheck %s

// The sum begins with the channel itself; every other position of the window is one instruction over the channels
// for which it lies inside: 62, 63, 63, 62 of 64.
// CHECK-LABEL: func.func @five_channels
// CHECK-NEXT: ascend.task.call @lrn_0(%x) {type = "LRN", {{.*}}in_place = array<i64: 0>}
// CHECK: ascend.kernel @lrn_0(%x: memref<1x64x100xf16, #ascend.gm> r, %y: memref<1x64x100xf16, #ascend.gm> w)
// CHECK: ascend.vec.conv {{.*}}xf16{{.*}} to {{.*}}xf32
// CHECK: ascend.vec.mul
// CHECK: ascend.vec.muls {{.*}} imm 2.000000e-05
// CHECK: ascend.vec.adds {{.*}} imm 1.000000e+00
// CHECK: ascend.vec.add {{.*}} to memref<62x
// CHECK: ascend.vec.add {{.*}} to memref<63x
// CHECK: ascend.vec.add {{.*}} to memref<63x
// CHECK: ascend.vec.add {{.*}} to memref<62x
// CHECK: ascend.vec.ln
// CHECK: ascend.vec.muls {{.*}} imm -7.500000e-01
// CHECK: ascend.vec.exp
// CHECK: ascend.vec.mul
// CHECK: ascend.vec.conv {{.*}}xf32{{.*}} to {{.*}}xf16
func.func @five_channels(%x: tensor<1x64x10x10xf16>) -> tensor<1x64x10x10xf16> {
  %0 = ge.lrn %x {size = 5} : (tensor<1x64x10x10xf16>) -> tensor<1x64x10x10xf16>
  return %0 : tensor<1x64x10x10xf16>
}

// -----

// CHECK-LABEL: func.func @refused
// CHECK: ge.lrn {{.*}}ge.no_kernel = "4000 channels of 16 positions do not fit the unified buffer"
func.func @refused(%x: tensor<1x4000x4x4xf16>) -> tensor<1x4000x4x4xf16> {
  %0 = ge.lrn %x {size = 5} : (tensor<1x4000x4x4xf16>) -> tensor<1x4000x4x4xf16>
  return %0 : tensor<1x4000x4x4xf16>
}
