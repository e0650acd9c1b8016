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
