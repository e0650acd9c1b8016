// RUN: ge-opt --no-locations --split-operators --split-input-file %s | FileCheck %s

// A bias that is known when the graph runs is added; a constant stays inside.
// CHECK-LABEL: func.func @bias
// CHECK: %[[B:.*]] = ge.reshape %b {shape = [8, 1, 1]}
// CHECK: %[[C:.*]] = ge.conv2d %x, %w :
// CHECK: ge.add %[[C]], %[[B]]
// CHECK: ge.conv2d %x, %w, %{{.*}} : (tensor<1x4x6x6xf32>, tensor<8x4x3x3xf32>, tensor<8xf32>)
func.func @bias(%x: tensor<1x4x6x6xf32>, %w: tensor<8x4x3x3xf32>, %b: tensor<8xf32>) -> (tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>) {
  %0 = ge.conv2d %x, %w, %b : (tensor<1x4x6x6xf32>, tensor<8x4x3x3xf32>, tensor<8xf32>) -> tensor<1x8x4x4xf32>
  %c = ge.constant dense<1.0> : tensor<8xf32>
  %1 = ge.conv2d %x, %w, %c : (tensor<1x4x6x6xf32>, tensor<8x4x3x3xf32>, tensor<8xf32>) -> tensor<1x8x4x4xf32>
  return %0, %1 : tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>
}

// -----

// Axes between kept ones twice go behind; once, a kernel takes them.
// CHECK-LABEL: func.func @axes
// CHECK: %[[T:.*]] = ge.transpose %x {perm = [1, 3, 0, 2]}
// CHECK: ge.reduce_max %[[T]] {axes = [2, 3], keepdims = false}
// CHECK: ge.reduce_max %x {axes = [1, 3]}
func.func @axes(%x: tensor<2x3x4x5xf32>) -> (tensor<1x3x1x5xf32>, tensor<2x1x4x1xf32>) {
  %0 = ge.reduce_max %x {axes = [0, 2]} : (tensor<2x3x4x5xf32>) -> tensor<1x3x1x5xf32>
  %1 = ge.reduce_max %x {axes = [1, 3]} : (tensor<2x3x4x5xf32>) -> tensor<2x1x4x1xf32>
  return %0, %1 : tensor<1x3x1x5xf32>, tensor<2x1x4x1xf32>
}

// -----

// CHECK-LABEL: func.func @integers
// CHECK: ge.concat {{.*}} {axis = 1} : (tensor<2x3xi64>, tensor<2x1xi64>) -> tensor<2x4xi64>
// CHECK: %[[S:.*]] = ge.mul %x, %x
// CHECK: ge.mul %x, %[[S]]
func.func @integers(%x: tensor<2x3xi64>) -> (tensor<2x4xi64>, tensor<2x3xi64>) {
  %0 = ge.pad %x {pads = [0, 0, 0, 1], value = 5.0} : (tensor<2x3xi64>) -> tensor<2x4xi64>
  %c = ge.constant dense<3> : tensor<i64>
  %1 = ge.pow %x, %c : (tensor<2x3xi64>, tensor<i64>) -> tensor<2x3xi64>
  return %0, %1 : tensor<2x4xi64>, tensor<2x3xi64>
}

// -----

// A window of 60 x 80 elements: rows, then columns.
// CHECK-LABEL: func.func @large_window
// CHECK: %[[ROWS:.*]] = ge.max_pool %x {kernel = [60, 1], strides = [10, 1], pads = [5, 0, 5, 0]}
// CHECK: ge.max_pool %[[ROWS]] {kernel = [1, 80], strides = [1, 20]}
func.func @large_window(%x: tensor<1x2x120x160xf32>) -> tensor<1x2x8x5xf32> {
  %0 = ge.max_pool %x {kernel = [60, 80], strides = [10, 20], pads = [5, 0, 5, 0]} : (tensor<1x2x120x160xf32>) -> tensor<1x2x8x5xf32>
  return %0 : tensor<1x2x8x5xf32>
}
