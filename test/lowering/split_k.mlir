// RUN: ge-opt --no-locations --lower-to-kernels --split-input-file %s | FileCheck %s

// Sixteen columns are the work of one core: eight share K, and a second task adds up their parts, the bias and what follows.

// CHECK-LABEL: func.func @sixteen_columns
// CHECK:       %0 = ascend.task.call @matmul_part_0(%x, %w) {type = "MatMulV2", macs = 65536 : i64
// CHECK-SAME: tensor<8x256x1x1xf32
// CHECK-COUNT-8: ge.slice %0
// CHECK:       ascend.task.call @sum_of_parts_0(
// CHECK-SAME: {type = "AddN", macs = 0 : i64
// CHECK:       ascend.kernel @matmul_part_0(%a: memref<8x32x1x16x16xf16, #ascend.gm> r
// CHECK-SAME: %y: memref<8x1x16x1x16xf32, #ascend.gm> w) blocks(8)
// CHECK:       ascend.kernel @sum_of_parts_0(
// CHECK-COUNT-8: ascend.vec.add
// CHECK:       ascend.vec.conv
func.func @sixteen_columns(
    %x: tensor<1x4096xf16, #layout.fractal_nz>, %w: tensor<16x4096xf16, #layout.fractal_z>)
    -> tensor<1x16xf16, #layout.fractal_nz> {
  %b = ge.constant dense<1.0> : tensor<16xf32>
  %y = ge.matmul %x, %w, %b {transpose_b = true} : (tensor<1x4096xf16, #layout.fractal_nz>, tensor<16x4096xf16, #layout.fractal_z>, tensor<16xf32>) -> tensor<1x16xf16, #layout.fractal_nz>
  func.return %y : tensor<1x16xf16, #layout.fractal_nz>
}

// -----

// All cores have columns of their own.

// CHECK-LABEL: func.func @all_cores
// CHECK-NOT:   ge.slice
// CHECK:       ascend.task.call @matmul_0(
func.func @all_cores(
    %x: tensor<1x4096xf16, #layout.fractal_nz>, %w: tensor<256x4096xf16, #layout.fractal_z>)
    -> tensor<1x256xf16, #layout.fractal_nz> {
  %y = ge.matmul %x, %w {transpose_b = true} : (tensor<1x4096xf16, #layout.fractal_nz>, tensor<256x4096xf16, #layout.fractal_z>) -> tensor<1x256xf16, #layout.fractal_nz>
  func.return %y : tensor<1x256xf16, #layout.fractal_nz>
}
