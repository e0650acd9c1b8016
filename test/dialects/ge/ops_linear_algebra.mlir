// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// Determinants and Einstein's sums.

// CHECK-LABEL: func.func @det
func.func @det(%x: tensor<?x3x3xf32>) {
  // CHECK: %y = ge.det %x : (tensor<?x3x3xf32>) -> tensor<?xf32>
  %y = ge.det %x : (tensor<?x3x3xf32>) -> tensor<?xf32>
  return
}

// CHECK-LABEL: func.func @einsum
func.func @einsum(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // CHECK: %y = ge.einsum %a, %b {equation = "ij,jk->ki"} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<5x3xf32>
  %y = ge.einsum %a, %b {equation = "ij,jk->ki"} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<5x3xf32>
  // CHECK: %z = ge.einsum %a {equation = "ij->j"} : (tensor<3x4xf32>) -> tensor<4xf32>
  %z = ge.einsum %a {equation = "ij->j"} : (tensor<3x4xf32>) -> tensor<4xf32>
  return
}
