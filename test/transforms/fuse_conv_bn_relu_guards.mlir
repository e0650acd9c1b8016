// RUN: ge-opt --no-locations --fuse-conv-bn-relu --split-input-file %s | FileCheck %s
// Each case breaks one condition; nothing may fuse.

// The convolution has another user.
// CHECK-LABEL: func.func @another_user
// CHECK-NOT: ge.fused
func.func @another_user(%x: tensor<1x4x4x4xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32> {
  // CHECK: ge.conv2d
  %0 = ge.conv2d %x, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %1 = ge.relu %0 : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  // CHECK: ge.sigmoid
  %2 = ge.sigmoid %0 : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  %3 = ge.mul %1, %2 : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  return %3 : tensor<1x4x4x4xf32>
}

// -----

// The convolution is an output of the graph.
// CHECK-LABEL: func.func @graph_output
// CHECK-NOT: ge.fused
func.func @graph_output(%x: tensor<1x4x4x4xf32>, %w: tensor<4x4x1x1xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) {
  %0 = ge.conv2d %x, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  // CHECK: ge.relu
  %1 = ge.relu %0 : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  return %0, %1 : tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>
}

// -----

// An Add with itself uses the value twice.
// CHECK-LABEL: func.func @twice
// CHECK-NOT: ge.fused
func.func @twice(%x: tensor<1x4x4x4xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32> {
  %0 = ge.conv2d %x, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  // CHECK: ge.add
  %1 = ge.add %0, %0 : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  return %1 : tensor<1x4x4x4xf32>
}

// -----

// The other side of the Add broadcasts, or makes the result larger: no residual.
// CHECK-LABEL: func.func @broadcast
// CHECK-NOT: ge.fused
func.func @broadcast(%x: tensor<1x4x4x4xf32>, %w: tensor<4x4x1x1xf32>, %r: tensor<1x4x1x4xf32>, %s: tensor<2x4x4x4xf32>) -> (tensor<1x4x4x4xf32>, tensor<2x4x4x4xf32>) {
  %0 = ge.conv2d %x, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  // CHECK: ge.add
  %1 = ge.add %0, %r : (tensor<1x4x4x4xf32>, tensor<1x4x1x4xf32>) -> tensor<1x4x4x4xf32>
  %2 = ge.conv2d %x, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  // CHECK: ge.add
  %3 = ge.add %2, %s : (tensor<1x4x4x4xf32>, tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32>
  return %1, %3 : tensor<1x4x4x4xf32>, tensor<2x4x4x4xf32>
}

// -----

// A constant along the width is no scale per channel, although there are as many columns as channels.
// CHECK-LABEL: func.func @along_width
func.func @along_width(%x: tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32> {
  %w = ge.constant dense<1.0> : tensor<2x2x1x1xf32>
  %c = ge.constant dense<[2.0, 3.0]> : tensor<2xf32>
  // CHECK: ge.conv2d
  // CHECK-NEXT: ge.mul
  %0 = ge.conv2d %x, %w : (tensor<1x2x2x2xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x2x2xf32>
  %1 = ge.mul %0, %c : (tensor<1x2x2x2xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
  return %1 : tensor<1x2x2x2xf32>
}

// -----

// Variance 0 and no epsilon: infinite or nan, depending on x.
// CHECK-LABEL: func.func @variance_zero
func.func @variance_zero(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %w = ge.constant dense<1.0> : tensor<1x1x1x1xf32>
  %one = ge.constant dense<1.0> : tensor<1xf32>
  %zero = ge.constant dense<0.0> : tensor<1xf32>
  %0 = ge.conv2d %x, %w : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  // CHECK: ge.batch_norm
  %1 = ge.batch_norm %0, %one, %one, %one, %zero {epsilon = 0.0} : (tensor<1x1x4x4xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x4x4xf32>
  return %1 : tensor<1x1x4x4xf32>
}

// -----

// Weights or statistics that are computed at run time.
// CHECK-LABEL: func.func @not_constant
func.func @not_constant(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x1x1xf32>, %v: tensor<1xf32>) -> (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) {
  %one = ge.constant dense<1.0> : tensor<1xf32>
  %k = ge.constant dense<1.0> : tensor<1x1x1x1xf32>
  // CHECK: ge.batch_norm
  %0 = ge.conv2d %x, %w : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  %1 = ge.batch_norm %0, %one, %one, %one, %one : (tensor<1x1x4x4xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x4x4xf32>
  // CHECK: ge.batch_norm
  %2 = ge.conv2d %x, %k : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  %3 = ge.batch_norm %2, %one, %one, %one, %v : (tensor<1x1x4x4xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x4x4xf32>
  return %1, %3 : tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>
}

// -----

// Integers have no Vector instructions here, and a cast marks where the type changes.
// CHECK-LABEL: func.func @types
// CHECK-NOT: ge.fused
func.func @types(%x: tensor<1x4x4x4xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xi32> {
  // CHECK: ge.cast
  %0 = ge.conv2d %x, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %1 = ge.cast %0 : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xi32>
  return %1 : tensor<1x4x4x4xi32>
}

// -----

// Three residuals would each take a tile of the unified buffer: the third stays outside.
// CHECK-LABEL: func.func @three_residuals
func.func @three_residuals(%x: tensor<1x4x4x4xf32>, %w: tensor<4x4x1x1xf32>, %r: tensor<1x4x4x4xf32>, %s: tensor<1x4x4x4xf32>, %t: tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32> {
  // CHECK: ge.fused ins(%x, %w, %r, %s :
  // CHECK: ge.add %{{.*}}, %t
  // CHECK-NEXT: return
  %0 = ge.conv2d %x, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %1 = ge.add %0, %r : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  %2 = ge.add %1, %s : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  %3 = ge.add %2, %t : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  return %3 : tensor<1x4x4x4xf32>
}

// -----

// The other operand of the Add depends on the convolution itself: fusing would close a circle.
// CHECK-LABEL: func.func @diamond
// CHECK-NOT: ge.fused
func.func @diamond(%x: tensor<1x4x4x4xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32> {
  %0 = ge.conv2d %x, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %1 = ge.softmax %0 {axis = 1} : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  // CHECK: ge.add
  %2 = ge.add %0, %1 : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  return %2 : tensor<1x4x4x4xf32>
}
