// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// Gathers, scatters and what is made of index tensors.

// CHECK-LABEL: func.func @gather
func.func @gather(%x: tensor<5x?x7xf32>, %i: tensor<2x3xi64>, %s: tensor<i32>) {
  // CHECK: %a = ge.gather %x, %i : (tensor<5x?x7xf32>, tensor<2x3xi64>) -> tensor<2x3x?x7xf32>
  %a = ge.gather %x, %i : (tensor<5x?x7xf32>, tensor<2x3xi64>) -> tensor<2x3x?x7xf32>
  // CHECK: %b = ge.gather %x, %s {axis = -1} : (tensor<5x?x7xf32>, tensor<i32>) -> tensor<5x?xf32>
  %b = ge.gather %x, %s {axis = -1} : (tensor<5x?x7xf32>, tensor<i32>) -> tensor<5x?xf32>
  return
}

// CHECK-LABEL: func.func @gather_elements
func.func @gather_elements(%x: tensor<3x4xi8>, %i: tensor<3x2xi64>) {
  // CHECK: %a = ge.gather_elements %x, %i {axis = 1} : (tensor<3x4xi8>, tensor<3x2xi64>) -> tensor<3x2xi8>
  %a = ge.gather_elements %x, %i {axis = 1} : (tensor<3x4xi8>, tensor<3x2xi64>) -> tensor<3x2xi8>
  return
}

// CHECK-LABEL: func.func @gather_nd
func.func @gather_nd(%x: tensor<2x3x4xf16>, %i: tensor<2x5x1xi64>, %all: tensor<6x3xi64>) {
  // CHECK: %a = ge.gather_nd %x, %i {batch_dims = 1} : (tensor<2x3x4xf16>, tensor<2x5x1xi64>) -> tensor<2x5x4xf16>
  %a = ge.gather_nd %x, %i {batch_dims = 1} : (tensor<2x3x4xf16>, tensor<2x5x1xi64>) -> tensor<2x5x4xf16>
  // CHECK: %b = ge.gather_nd %x, %all : (tensor<2x3x4xf16>, tensor<6x3xi64>) -> tensor<6xf16>
  %b = ge.gather_nd %x, %all : (tensor<2x3x4xf16>, tensor<6x3xi64>) -> tensor<6xf16>
  return
}

// CHECK-LABEL: func.func @scatter_elements
func.func @scatter_elements(%x: tensor<3x4xf32>, %i: tensor<2x4xi64>, %u: tensor<2x4xf32>) {
  // CHECK: %a = ge.scatter_elements %x, %i, %u : (tensor<3x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %a = ge.scatter_elements %x, %i, %u : (tensor<3x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<3x4xf32>
  // CHECK: %b = ge.scatter_elements %x, %i, %u {axis = 1, reduction = "add"} : (tensor<3x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %b = ge.scatter_elements %x, %i, %u {axis = 1, reduction = "add"} : (tensor<3x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<3x4xf32>
  return
}

// CHECK-LABEL: func.func @scatter_nd
func.func @scatter_nd(%x: tensor<4x5x6xf32>, %i: tensor<2x1xi64>, %u: tensor<2x5x6xf32>) {
  // CHECK: %a = ge.scatter_nd %x, %i, %u {reduction = "max"} : (tensor<4x5x6xf32>, tensor<2x1xi64>, tensor<2x5x6xf32>) -> tensor<4x5x6xf32>
  %a = ge.scatter_nd %x, %i, %u {reduction = "max"} : (tensor<4x5x6xf32>, tensor<2x1xi64>, tensor<2x5x6xf32>) -> tensor<4x5x6xf32>
  return
}

// CHECK-LABEL: func.func @tensor_scatter
func.func @tensor_scatter(%x: tensor<2x4x16x8xf16>, %u: tensor<2x4x3x8xf16>, %s: tensor<2xi64>) {
  // CHECK: %a = ge.tensor_scatter %x, %u : (tensor<2x4x16x8xf16>, tensor<2x4x3x8xf16>) -> tensor<2x4x16x8xf16>
  %a = ge.tensor_scatter %x, %u : (tensor<2x4x16x8xf16>, tensor<2x4x3x8xf16>) -> tensor<2x4x16x8xf16>
  // CHECK: %b = ge.tensor_scatter %x, %u, %s {axis = 2, circular = true} : (tensor<2x4x16x8xf16>, tensor<2x4x3x8xf16>, tensor<2xi64>) -> tensor<2x4x16x8xf16>
  %b = ge.tensor_scatter %x, %u, %s {axis = 2, circular = true} : (tensor<2x4x16x8xf16>, tensor<2x4x3x8xf16>, tensor<2xi64>) -> tensor<2x4x16x8xf16>
  return
}

// CHECK-LABEL: func.func @one_hot
func.func @one_hot(%i: tensor<2x3xi32>, %v: tensor<2xf32>) {
  // CHECK: %a = ge.one_hot %i, %v {depth = 10} : (tensor<2x3xi32>, tensor<2xf32>) -> tensor<2x3x10xf32>
  %a = ge.one_hot %i, %v {depth = 10} : (tensor<2x3xi32>, tensor<2xf32>) -> tensor<2x3x10xf32>
  // CHECK: %b = ge.one_hot %i, %v {depth = 10, axis = 0} : (tensor<2x3xi32>, tensor<2xf32>) -> tensor<10x2x3xf32>
  %b = ge.one_hot %i, %v {depth = 10, axis = 0} : (tensor<2x3xi32>, tensor<2xf32>) -> tensor<10x2x3xf32>
  return
}

// CHECK-LABEL: func.func @reverse_sequence
func.func @reverse_sequence(%x: tensor<4x3x5xf32>, %n: tensor<3xi64>) {
  // CHECK: %a = ge.reverse_sequence %x, %n : (tensor<4x3x5xf32>, tensor<3xi64>) -> tensor<4x3x5xf32>
  %a = ge.reverse_sequence %x, %n : (tensor<4x3x5xf32>, tensor<3xi64>) -> tensor<4x3x5xf32>
  return
}
