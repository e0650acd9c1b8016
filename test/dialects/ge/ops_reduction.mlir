// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// Reductions with and without the reduced axes.

// CHECK-LABEL: func.func @kept
func.func @kept(%x: tensor<2x3x?xf32>) {
  // CHECK: %mean = ge.reduce_mean %x {axes = [1, -1]} : (tensor<2x3x?xf32>) -> tensor<2x1x1xf32>
  %mean = ge.reduce_mean %x {axes = [1, -1]} : (tensor<2x3x?xf32>) -> tensor<2x1x1xf32>
  // CHECK: %sum = ge.reduce_sum %x {axes = [1, -1]} : (tensor<2x3x?xf32>) -> tensor<2x1x1xf32>
  %sum = ge.reduce_sum %x {axes = [1, -1]} : (tensor<2x3x?xf32>) -> tensor<2x1x1xf32>
  // CHECK: %max = ge.reduce_max %x {axes = [1, -1]} : (tensor<2x3x?xf32>) -> tensor<2x1x1xf32>
  %max = ge.reduce_max %x {axes = [1, -1]} : (tensor<2x3x?xf32>) -> tensor<2x1x1xf32>
  // CHECK: %min = ge.reduce_min %x {axes = [1, -1]} : (tensor<2x3x?xf32>) -> tensor<2x1x1xf32>
  %min = ge.reduce_min %x {axes = [1, -1]} : (tensor<2x3x?xf32>) -> tensor<2x1x1xf32>
  return
}

// CHECK-LABEL: func.func @dropped
func.func @dropped(%x: tensor<2x3x?xf32>) {
  // CHECK: %a = ge.reduce_sum %x {axes = [0], keepdims = false} : (tensor<2x3x?xf32>) -> tensor<3x?xf32>
  %a = ge.reduce_sum %x {axes = [0], keepdims = false} : (tensor<2x3x?xf32>) -> tensor<3x?xf32>
  // CHECK: %b = ge.reduce_max %x {axes = [0, 1, 2], keepdims = false} : (tensor<2x3x?xf32>) -> tensor<f32>
  %b = ge.reduce_max %x {axes = [0, 1, 2], keepdims = false} : (tensor<2x3x?xf32>) -> tensor<f32>
  return
}
