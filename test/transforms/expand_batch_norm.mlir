// RUN: ge-opt --no-locations --expand-batch-norm --split-input-file %s | FileCheck %s

// factor = 4 / sqrt(4), 3 / sqrt(1); shift = 5 - 1 * 2, 7 - 2 * 3.
// CHECK-LABEL: func.func @feature_map
func.func @feature_map(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %s = ge.constant dense<[4.0, 3.0]> : tensor<2xf32>
  %b = ge.constant dense<[5.0, 7.0]> : tensor<2xf32>
  %m = ge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %v = ge.constant dense<[4.0, 1.0]> : tensor<2xf32>
  // CHECK-NEXT: %[[F:.*]] = ge.constant dense<{{\[\[\[\[}}2.000000e+00]], {{\[\[}}3.000000e+00]]]]> : tensor<1x2x1x1xf32>
  // CHECK-NEXT: %[[S:.*]] = ge.constant dense<{{\[\[\[\[}}3.000000e+00]], {{\[\[}}1.000000e+00]]]]> : tensor<1x2x1x1xf32>
  // CHECK-NEXT: %[[M:.*]] = ge.mul %x, %[[F]]
  // CHECK-NEXT: ge.add %[[M]], %[[S]]
  // CHECK-NEXT: return
  %0 = ge.batch_norm %x, %s, %b, %m, %v {epsilon = 0.0} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  return %0 : tensor<1x2x4x4xf32>
}

// -----

// A matrix: the channels are its columns.
// CHECK-LABEL: func.func @matrix
func.func @matrix(%x: tensor<3x1xf32>) -> tensor<3x1xf32> {
  %one = ge.constant dense<1.0> : tensor<1xf32>
  // CHECK: ge.mul {{.*}} : (tensor<3x1xf32>, tensor<1x1xf32>)
  %0 = ge.batch_norm %x, %one, %one, %one, %one : (tensor<3x1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<3x1xf32>
  return %0 : tensor<3x1xf32>
}

// -----

// Statistics of the run: factor and shift are computed, in fp32.
// CHECK-LABEL: func.func @late
// CHECK: %[[ROOT:.*]] = ge.sqrt
// CHECK: %[[FACTOR:.*]] = ge.div %{{.*}}, %[[ROOT]] {ge.precision = "fp32"} : (tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>)
// CHECK: %[[SHIFT:.*]] = ge.sub
// CHECK: %[[SCALED:.*]] = ge.mul %x, %[[FACTOR]]
// CHECK: ge.add %[[SCALED]], %[[SHIFT]]
func.func @late(%x: tensor<1x2x4x4xf32>, %s: tensor<2xf32>, %b: tensor<2xf32>, %m: tensor<2xf32>, %v: tensor<2xf32>) -> tensor<1x2x4x4xf32> {
  %0 = ge.batch_norm %x, %s, %b, %m, %v : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  return %0 : tensor<1x2x4x4xf32>
}

// -----

// A variance of 0: stays.
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %one = ge.constant dense<1.0> : tensor<1xf32>
  %zero = ge.constant dense<0.0> : tensor<1xf32>
  // CHECK: ge.batch_norm
  %0 = ge.batch_norm %x, %one, %one, %one, %zero {epsilon = 0.0} : (tensor<1x1x4x4xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x4x4xf32>
  return %0 : tensor<1x1x4x4xf32>
}
