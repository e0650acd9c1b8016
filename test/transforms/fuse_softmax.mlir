// RUN: ge-opt --no-locations --fuse-softmax --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @kept_axes
// CHECK-NEXT: %[[Y:.*]] = ge.softmax %x {axis = 1}
// CHECK-NEXT: return %[[Y]]
func.func @kept_axes(%x: tensor<2x5x8xf32>) -> tensor<2x5x8xf32> {
  %0 = ge.reduce_max %x {axes = [1]} : (tensor<2x5x8xf32>) -> tensor<2x1x8xf32>
  %1 = ge.sub %x, %0 : (tensor<2x5x8xf32>, tensor<2x1x8xf32>) -> tensor<2x5x8xf32>
  %2 = ge.exp %1 : (tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
  %3 = ge.reduce_sum %2 {axes = [-2]} : (tensor<2x5x8xf32>) -> tensor<2x1x8xf32>
  %4 = ge.div %2, %3 : (tensor<2x5x8xf32>, tensor<2x1x8xf32>) -> tensor<2x5x8xf32>
  return %4 : tensor<2x5x8xf32>
}

// -----

// As TensorFlow writes it.
// CHECK-LABEL: func.func @dropped_axes
// CHECK-NEXT: %[[Y:.*]] = ge.softmax %x {axis = 1}
// CHECK-NEXT: return %[[Y]]
func.func @dropped_axes(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %least = ge.constant dense<0xFF800000> : tensor<f32>
  %0 = ge.reduce_max %x {axes = [1], keepdims = false} : (tensor<3x5xf32>) -> tensor<3xf32>
  %1 = ge.maximum %least, %0 : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32>
  %2 = ge.reshape %1 {shape = [3, 1]} : (tensor<3xf32>) -> tensor<3x1xf32>
  %3 = ge.sub %x, %2 : (tensor<3x5xf32>, tensor<3x1xf32>) -> tensor<3x5xf32>
  %4 = ge.exp %3 : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %5 = ge.reduce_sum %4 {axes = [1], keepdims = false} : (tensor<3x5xf32>) -> tensor<3xf32>
  %6 = ge.reshape %5 {shape = [3, 1]} : (tensor<3xf32>) -> tensor<3x1xf32>
  %7 = ge.div %4, %6 : (tensor<3x5xf32>, tensor<3x1xf32>) -> tensor<3x5xf32>
  return %7 : tensor<3x5xf32>
}

// -----

// A square matrix whose sums of rows are laid along the columns.
// CHECK-LABEL: func.func @other_way
// CHECK-NOT: ge.softmax
func.func @other_way(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = ge.reduce_max %x {axes = [1]} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %1 = ge.sub %x, %0 : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %2 = ge.exp %1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = ge.reduce_sum %2 {axes = [1], keepdims = false} : (tensor<4x4xf32>) -> tensor<4xf32>
  %4 = ge.div %2, %3 : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: func.func @other_axis
// CHECK-NOT: ge.softmax
func.func @other_axis(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = ge.reduce_max %x {axes = [0]} : (tensor<4x4xf32>) -> tensor<1x4xf32>
  %1 = ge.sub %x, %0 : (tensor<4x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
  %2 = ge.exp %1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = ge.reduce_sum %2 {axes = [1]} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %4 = ge.div %2, %3 : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: func.func @sum_leaves_the_graph
// CHECK-NOT: ge.softmax
func.func @sum_leaves_the_graph(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x1xf32>) {
  %0 = ge.reduce_max %x {axes = [1]} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %1 = ge.sub %x, %0 : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %2 = ge.exp %1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = ge.reduce_sum %2 {axes = [1]} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %4 = ge.div %2, %3 : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  return %4, %3 : tensor<4x4xf32>, tensor<4x1xf32>
}
