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

// CHECK-LABEL: func.func @more_reductions
func.func @more_reductions(%x: tensor<2x3x4xf16>) {
  // CHECK: %reduce_prod = ge.reduce_prod %x {axes = [1]} : (tensor<2x3x4xf16>) -> tensor<2x1x4xf16>
  %reduce_prod = ge.reduce_prod %x {axes = [1]} : (tensor<2x3x4xf16>) -> tensor<2x1x4xf16>
  // CHECK: %reduce_sum_square = ge.reduce_sum_square %x {axes = [1]} : (tensor<2x3x4xf16>) -> tensor<2x1x4xf16>
  %reduce_sum_square = ge.reduce_sum_square %x {axes = [1]} : (tensor<2x3x4xf16>) -> tensor<2x1x4xf16>
  // CHECK: %reduce_l2 = ge.reduce_l2 %x {axes = [1]} : (tensor<2x3x4xf16>) -> tensor<2x1x4xf16>
  %reduce_l2 = ge.reduce_l2 %x {axes = [1]} : (tensor<2x3x4xf16>) -> tensor<2x1x4xf16>
  // CHECK: %reduce_log_sum_exp = ge.reduce_log_sum_exp %x {axes = [1]} : (tensor<2x3x4xf16>) -> tensor<2x1x4xf16>
  %reduce_log_sum_exp = ge.reduce_log_sum_exp %x {axes = [1]} : (tensor<2x3x4xf16>) -> tensor<2x1x4xf16>
  // CHECK: %none = ge.reduce_l2 %x {axes = []} : (tensor<2x3x4xf16>) -> tensor<2x3x4xf16>
  %none = ge.reduce_l2 %x {axes = []} : (tensor<2x3x4xf16>) -> tensor<2x3x4xf16>
  return
}

// CHECK-LABEL: func.func @places
func.func @places(%x: tensor<2x3x4xf16>) {
  // CHECK: %first = ge.arg_max %x : (tensor<2x3x4xf16>) -> tensor<1x3x4xi64>
  %first = ge.arg_max %x : (tensor<2x3x4xf16>) -> tensor<1x3x4xi64>
  // CHECK: %last = ge.arg_min %x {axis = -1, keepdims = false, select_last = true} : (tensor<2x3x4xf16>) -> tensor<2x3xi64>
  %last = ge.arg_min %x {axis = -1, keepdims = false, select_last = true} : (tensor<2x3x4xf16>) -> tensor<2x3xi64>
  return
}

// CHECK-LABEL: func.func @running
func.func @running(%x: tensor<2x3x4xf16>) {
  // CHECK: %sums = ge.cum_sum %x {axis = 0} : (tensor<2x3x4xf16>) -> tensor<2x3x4xf16>
  %sums = ge.cum_sum %x {axis = 0} : (tensor<2x3x4xf16>) -> tensor<2x3x4xf16>
  // CHECK: %products = ge.cum_prod %x {axis = -1, exclusive = true, reverse = true} : (tensor<2x3x4xf16>) -> tensor<2x3x4xf16>
  %products = ge.cum_prod %x {axis = -1, exclusive = true, reverse = true} : (tensor<2x3x4xf16>) -> tensor<2x3x4xf16>
  return
}
