// RUN: ge-opt --no-locations --flatten-matmul-rows --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @one_row_each
// CHECK-NEXT: %[[F:.*]] = ge.reshape %x {shape = [394, 8]}
// CHECK-NEXT: %[[P:.*]] = ge.matmul %[[F]], %w, %b {transpose_b = true} : (tensor<394x8xf32>, tensor<6x8xf32>, tensor<6xf32>) -> tensor<394x6xf32>
// CHECK-NEXT: ge.reshape %[[P]] {shape = [2, 197, 1, 6]}
func.func @one_row_each(%x: tensor<2x197x1x8xf32>, %w: tensor<6x8xf32>, %b: tensor<6xf32>) -> tensor<2x197x1x6xf32> {
  %0 = ge.matmul %x, %w, %b {transpose_b = true} : (tensor<2x197x1x8xf32>, tensor<6x8xf32>, tensor<6xf32>) -> tensor<2x197x1x6xf32>
  return %0 : tensor<2x197x1x6xf32>
}

// -----

// Whole blocks of rows, a batch of one, a right side a matrix, an unknown batch, a left side that is transposed.
// CHECK-LABEL: func.func @guards
// CHECK-NOT: ge.reshape
// CHECK: return
func.func @guards(%a: tensor<4x32x8xf32>, %b: tensor<1x3x8xf32>, %c: tensor<4x3x8xf32>, %d: tensor<?x3x8xf32>, %e: tensor<4x8x3xf32>, %w: tensor<8x6xf32>, %v: tensor<4x8x6xf32>) -> (tensor<4x32x6xf32>, tensor<1x3x6xf32>, tensor<4x3x6xf32>, tensor<?x3x6xf32>, tensor<4x3x6xf32>) {
  %0 = ge.matmul %a, %w : (tensor<4x32x8xf32>, tensor<8x6xf32>) -> tensor<4x32x6xf32>
  %1 = ge.matmul %b, %w : (tensor<1x3x8xf32>, tensor<8x6xf32>) -> tensor<1x3x6xf32>
  %2 = ge.matmul %c, %v : (tensor<4x3x8xf32>, tensor<4x8x6xf32>) -> tensor<4x3x6xf32>
  %3 = ge.matmul %d, %w : (tensor<?x3x8xf32>, tensor<8x6xf32>) -> tensor<?x3x6xf32>
  %4 = ge.matmul %e, %w {transpose_a = true} : (tensor<4x8x3xf32>, tensor<8x6xf32>) -> tensor<4x3x6xf32>
  return %0, %1, %2, %3, %4 : tensor<4x32x6xf32>, tensor<1x3x6xf32>, tensor<4x3x6xf32>, tensor<?x3x6xf32>, tensor<4x3x6xf32>
}

// -----

// Swin's windows: heads are cut out of each of 64 matrices of 49 rows, and joined again. Repacking would cost more than
// a third of the Cube's work.
// CHECK-LABEL: func.func @windows
// CHECK: ge.matmul %x, %w : (tensor<64x49x96xf32>
// CHECK: ge.matmul %{{.*}}, %p : (tensor<64x49x96xf32>
func.func @windows(%x: tensor<64x49x96xf32>, %w: tensor<96x96xf32>, %p: tensor<96x96xf32>) -> tensor<64x49x96xf32> {
  %0 = ge.matmul %x, %w : (tensor<64x49x96xf32>, tensor<96x96xf32>) -> tensor<64x49x96xf32>
  %1 = ge.reshape %0 {shape = [64, 49, 3, 32]} : (tensor<64x49x96xf32>) -> tensor<64x49x3x32xf32>
  %2 = ge.transpose %1 {perm = [0, 2, 1, 3]} : (tensor<64x49x3x32xf32>) -> tensor<64x3x49x32xf32>
  %3 = ge.relu %2 : (tensor<64x3x49x32xf32>) -> tensor<64x3x49x32xf32>
  %4 = ge.transpose %3 {perm = [0, 2, 1, 3]} : (tensor<64x3x49x32xf32>) -> tensor<64x49x3x32xf32>
  %5 = ge.reshape %4 {shape = [64, 49, 96]} : (tensor<64x49x3x32xf32>) -> tensor<64x49x96xf32>
  %6 = ge.matmul %5, %p : (tensor<64x49x96xf32>, tensor<96x96xf32>) -> tensor<64x49x96xf32>
  return %6 : tensor<64x49x96xf32>
}

// -----

// One row a matrix: sixteen times the Cube's work is dearer than any repacking.
// CHECK-LABEL: func.func @rows_first
// CHECK: ge.matmul %{{.*}}, %w : (tensor<197x768xf32>
func.func @rows_first(%x: tensor<197x1x768xf32>, %w: tensor<768x768xf32>) -> tensor<12x197x64xf32> {
  %0 = ge.matmul %x, %w : (tensor<197x1x768xf32>, tensor<768x768xf32>) -> tensor<197x1x768xf32>
  %1 = ge.reshape %0 {shape = [197, 1, 12, 64]} : (tensor<197x1x768xf32>) -> tensor<197x1x12x64xf32>
  %2 = ge.transpose %1 {perm = [1, 2, 0, 3]} : (tensor<197x1x12x64xf32>) -> tensor<1x12x197x64xf32>
  %3 = ge.reshape %2 {shape = [12, 197, 64]} : (tensor<1x12x197x64xf32>) -> tensor<12x197x64xf32>
  return %3 : tensor<12x197x64xf32>
}
