// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// ge.matmul: transposes, batch broadcasting, bias.

// CHECK-LABEL: func.func @plain
func.func @plain(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // CHECK: %y = ge.matmul %a, %b : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %y = ge.matmul %a, %b : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// CHECK-LABEL: func.func @gemm
func.func @gemm(%a: tensor<4x3xf16>, %b: tensor<5x4xf16>, %c: tensor<5xf16>) {
  // CHECK: %y = ge.matmul %a, %b, %c {transpose_a = true, transpose_b = true} : (tensor<4x3xf16>, tensor<5x4xf16>, tensor<5xf16>) -> tensor<3x5xf16>
  %y = ge.matmul %a, %b, %c {transpose_a = true, transpose_b = true} : (tensor<4x3xf16>, tensor<5x4xf16>, tensor<5xf16>) -> tensor<3x5xf16>
  return
}

// CHECK-LABEL: func.func @batches_broadcast
func.func @batches_broadcast(%a: tensor<2x1x3x4xf32>, %b: tensor<6x4x5xf32>) {
  // CHECK: %y = ge.matmul %a, %b : (tensor<2x1x3x4xf32>, tensor<6x4x5xf32>) -> tensor<2x6x3x5xf32>
  %y = ge.matmul %a, %b : (tensor<2x1x3x4xf32>, tensor<6x4x5xf32>) -> tensor<2x6x3x5xf32>
  return
}

// CHECK-LABEL: func.func @unknown_batch
func.func @unknown_batch(%a: tensor<?x4xf32>, %b: tensor<5x4xf32>) {
  // CHECK: %y = ge.matmul %a, %b {transpose_b = true} : (tensor<?x4xf32>, tensor<5x4xf32>) -> tensor<?x5xf32>
  %y = ge.matmul %a, %b {transpose_b = true} : (tensor<?x4xf32>, tensor<5x4xf32>) -> tensor<?x5xf32>
  return
}
