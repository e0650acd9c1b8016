// RUN: ge-opt %s --split-input-file -p fuse-integer-sums,ge-canonicalize --no-locations | FileCheck %s

// CHECK-LABEL: func.func @by_both_scales
func.func @by_both_scales(%sums: tensor<4x8xi32>, %a: tensor<f32>, %w: tensor<8xf32>) -> tensor<4x8xf32> {
  // CHECK-NEXT: %y = ge.dequantize_sums %sums, %a, %w : (tensor<4x8xi32>, tensor<f32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: return
  %s = ge.mul %a, %w : (tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
  %f = ge.cast %sums : (tensor<4x8xi32>) -> tensor<4x8xf32>
  %y = ge.mul %s, %f : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @by_one_scale
func.func @by_one_scale(%sums: tensor<?x8xi32>, %s: tensor<f32>) -> tensor<?x8xf32> {
  // CHECK-NEXT: %y = ge.dequantize_sums %sums, %s : (tensor<?x8xi32>, tensor<f32>) -> tensor<?x8xf32>
  %f = ge.cast %sums : (tensor<?x8xi32>) -> tensor<?x8xf32>
  %y = ge.mul %f, %s : (tensor<?x8xf32>, tensor<f32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

// The scale is larger than the sums; numbers of another type; a scale in fp16.

// CHECK-LABEL: func.func @not_these
func.func @not_these(%sums: tensor<8xi32>, %s: tensor<4x8xf32>, %long: tensor<8xi64>, %v: tensor<8xf32>, %h: tensor<8xf16>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf16>) {
  // CHECK-NOT: ge.dequantize_sums
  %f = ge.cast %sums : (tensor<8xi32>) -> tensor<8xf32>
  %a = ge.mul %f, %s : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %g = ge.cast %long : (tensor<8xi64>) -> tensor<8xf32>
  %b = ge.mul %g, %v : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %k = ge.cast %sums : (tensor<8xi32>) -> tensor<8xf16>
  %c = ge.mul %k, %h : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  return %a, %b, %c : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf16>
}
