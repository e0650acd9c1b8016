// RUN: ge-opt --no-locations --lower-to-kernels --split-input-file %s | FileCheck %s

// One instruction a position of the window, over all rows and columns of the band; those that touch the padding
// leave out its rows and columns.
// CHECK-LABEL: func.func @windows
// CHECK-NEXT: ascend.task.call @max_pool_0(%x) {type = "MaxPoolV3"
// CHECK: ascend.kernel @max_pool_0(%x: memref<2x4x4x16xf16, #ascend.gm> r, %y: memref<2x2x2x16xf16, #ascend.gm> w) blocks(1)
// CHECK: ascend.vec.max {{.*}} : memref<2x2x2x16xf16, strided<[256, 128, 32, 1]{{.*}} to memref<2x2x2x16xf16, strided<[64, 32, 16, 1]
// CHECK: ascend.vec.max {{.*}} to memref<2x2x2x16xf16
// CHECK: ascend.vec.max {{.*}} to memref<2x2x2x16xf16
// CHECK-COUNT-2: ascend.vec.max {{.*}} to memref<2x1x{{[12]}}x16xf16
// CHECK-COUNT-3: ascend.vec.max {{.*}} to memref<2x{{[12]}}x{{[12]}}x16xf16
// CHECK-NOT: ascend.vec
func.func @windows(%x: tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> tensor<1x32x2x2xf16, #layout.nc1hwc0<c0 = 16, pad = zero>> {
  %0 = ge.max_pool %x {kernel = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]} : (tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> tensor<1x32x2x2xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  return %0 : tensor<1x32x2x2xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
}

// -----

// A large window at every pixel: rows first, columns then, the first instruction of each taking two positions.
// CHECK-LABEL: func.func @two_passes
// CHECK-COUNT-4: ascend.vec.max {{.*}} to %middle
// CHECK-COUNT-4: ascend.vec.max {{.*}} to %y_ub
// CHECK-NOT: ascend.vec.max
func.func @two_passes(%x: tensor<1x16x9x9xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> tensor<1x16x5x5xf16, #layout.nc1hwc0<c0 = 16, pad = zero>> {
  %0 = ge.max_pool %x {kernel = [5, 5]} : (tensor<1x16x9x9xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> tensor<1x16x5x5xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  return %0 : tensor<1x16x5x5xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
}

// -----

// Windows of different sizes are divided by a table, one value an output position.
// CHECK-LABEL: func.func @border_counts
// CHECK-NEXT: %[[T:.*]] = ge.constant dense<{{\[\[}}2.500000e-01, {{.*}} : tensor<2x2xf32>
// CHECK-NEXT: ascend.task.call @avg_pool_0(%x, %[[T]]) {type = "AvgPoolV2"
// CHECK: ascend.vec.conv {{.*}}xf16{{.*}} to {{.*}}xf32
// CHECK: ascend.vec.mul {{.*}} : {{.*}}, memref<1x2x2x16xf32, strided<[0, 2, 1, 0]
// CHECK-NEXT: ascend.vec.conv {{.*}}xf32{{.*}} to {{.*}}xf16
func.func @border_counts(%x: tensor<1x16x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> tensor<1x16x2x2xf16, #layout.nc1hwc0<c0 = 16, pad = zero>> {
  %0 = ge.avg_pool %x {kernel = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]} : (tensor<1x16x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> tensor<1x16x2x2xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  return %0 : tensor<1x16x2x2xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
}

// -----

// CHECK-LABEL: func.func @one_count
// CHECK-NEXT: ascend.task.call @avg_pool_0(%x)
// CHECK: ascend.vec.muls {{.*}} imm 0.11111
func.func @one_count(%x: tensor<1x16x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> tensor<1x16x2x2xf16, #layout.nc1hwc0<c0 = 16, pad = zero>> {
  %0 = ge.avg_pool %x {kernel = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], count_include_pad = true} : (tensor<1x16x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> tensor<1x16x2x2xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  return %0 : tensor<1x16x2x2xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
}

// -----

// A whole plane: 16 positions, then 8, 4, 2, 1, many channel blocks in one instruction.
// CHECK-LABEL: func.func @plane
// CHECK: ascend.kernel @global_avg_pool_0({{.*}}) blocks(1)
// CHECK: ascend.vec.add {{.*}} to memref<4x8x16xf32
// CHECK: ascend.vec.add {{.*}} to memref<4x4x16xf32
// CHECK: ascend.vec.add {{.*}} to memref<4x2x16xf32
// CHECK: ascend.vec.add {{.*}} to memref<4x1x16xf32
// CHECK: ascend.vec.muls {{.*}} imm 6.250000e-02
// CHECK-NEXT: ascend.vec.conv
func.func @plane(%x: tensor<1x64x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> tensor<1x64x1x1xf16, #layout.nc1hwc0<c0 = 16, pad = zero>> {
  %0 = ge.global_avg_pool %x : (tensor<1x64x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> tensor<1x64x1x1xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  return %0 : tensor<1x64x1x1xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
}
