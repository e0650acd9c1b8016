// RUN: ge-opt --no-locations --expand-dft --split-input-file %s | FileCheck %s

// One product in place where the axis stands in front of the parts, between transpositions elsewhere.
// CHECK-LABEL: func.func @frames
// CHECK: ge.matmul %{{.*}} : (tensor<98x400xf32>, tensor<400x402xf32>) -> tensor<98x402xf32>
// CHECK-NOT: ge.transpose
func.func @frames(%x: tensor<98x400x1xf32>) -> tensor<98x201x2xf32> {
  %0 = ge.dft %x {axis = 1, length = 400, onesided = true} : (tensor<98x400x1xf32>) -> tensor<98x201x2xf32>
  return %0 : tensor<98x201x2xf32>
}

// -----

// CHECK-LABEL: func.func @in_front
// CHECK: ge.transpose %x {perm = [1, 0, 2]}
// CHECK: ge.matmul %{{.*}} : (tensor<5x16xf32>, tensor<16x12xf32>) -> tensor<5x12xf32>
// CHECK: ge.transpose %{{.*}} {perm = [1, 0, 2]}
func.func @in_front(%x: tensor<8x5x2xf32>) -> tensor<6x5x2xf32> {
  %0 = ge.dft %x {axis = 0, length = 6, inverse = true} : (tensor<8x5x2xf32>) -> tensor<6x5x2xf32>
  return %0 : tensor<6x5x2xf32>
}

// -----

// CHECK-LABEL: func.func @stays
// CHECK-COUNT-2: ge.dft
func.func @stays(%x: tensor<?x8x1xf32>, %d: tensor<2x8x1xf64>) -> (tensor<?x8x2xf32>, tensor<2x8x2xf64>) {
  %0 = ge.dft %x {axis = 1, length = 8} : (tensor<?x8x1xf32>) -> tensor<?x8x2xf32>
  %1 = ge.dft %d {axis = 1, length = 8} : (tensor<2x8x1xf64>) -> tensor<2x8x2xf64>
  return %0, %1 : tensor<?x8x2xf32>, tensor<2x8x2xf64>
}
