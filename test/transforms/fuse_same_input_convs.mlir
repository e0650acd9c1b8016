// RUN: ge-opt --no-locations --fuse-same-input-convs --split-input-file %s | FileCheck %s

// BatchNorm and activation become wide as well; what begins a concat stands last, so that the rest fits behind it.
// CHECK-LABEL: func.func @chains
func.func @chains(%x: tensor<1x16x4x4xf32>) -> (tensor<1x48x4x4xf32>, tensor<1x16x4x4xf32>) {
  // CHECK: %[[Y:.*]] = ge.conv2d %x, %{{.*}} : (tensor<1x16x4x4xf32>, tensor<48x16x1x1xf32>) -> tensor<1x48x4x4xf32>
  // CHECK: %[[N:.*]] = ge.batch_norm %[[Y]], %{{.*}} : (tensor<1x48x4x4xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48xf32>)
  // CHECK-NEXT: %[[R:.*]] = ge.relu %[[N]]
  // CHECK-NEXT: %[[B:.*]] = ge.slice %[[R]] {starts = [0], ends = [16], axes = [1], steps = [1]}
  // CHECK-NEXT: %[[A:.*]] = ge.slice %[[R]] {starts = [16], ends = [48], axes = [1], steps = [1]}
  // CHECK-NOT: ge.conv2d
  // CHECK: ge.concat %[[A]], %[[B]]
  %w0 = ge.constant dense<1.0> : tensor<32x16x1x1xf32>
  %w1 = ge.constant dense<2.0> : tensor<16x16x1x1xf32>
  %p0 = ge.constant dense<3.0> : tensor<32xf32>
  %p1 = ge.constant dense<4.0> : tensor<16xf32>
  %c0 = ge.conv2d %x, %w0 : (tensor<1x16x4x4xf32>, tensor<32x16x1x1xf32>) -> tensor<1x32x4x4xf32>
  %n0 = ge.batch_norm %c0, %p0, %p0, %p0, %p0 {epsilon = 0.001} : (tensor<1x32x4x4xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<1x32x4x4xf32>
  %r0 = ge.relu %n0 : (tensor<1x32x4x4xf32>) -> tensor<1x32x4x4xf32>
  %c1 = ge.conv2d %x, %w1 : (tensor<1x16x4x4xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x4x4xf32>
  %n1 = ge.batch_norm %c1, %p1, %p1, %p1, %p1 {epsilon = 0.001} : (tensor<1x16x4x4xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<1x16x4x4xf32>
  %r1 = ge.relu %n1 : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  %t1 = ge.tanh %r1 : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  %y = ge.concat %r0, %r1 {axis = 1} : (tensor<1x32x4x4xf32>, tensor<1x16x4x4xf32>) -> tensor<1x48x4x4xf32>
  return %y, %t1 : tensor<1x48x4x4xf32>, tensor<1x16x4x4xf32>
}

// -----

// Of the parts that end inside a block of channels one may be the last; biases are joined, the pool keeps its input.
// CHECK-LABEL: func.func @last
func.func @last(%x: tensor<1x16x4x4xf32>) -> (tensor<1x24x1x1xf32>, tensor<1x16x4x4xf32>, tensor<1x8x4x4xf32>) {
  // CHECK: %[[SMALL:.*]] = ge.constant dense<3.000000e+00> : tensor<8x16x3x3xf32>
  // CHECK: ge.conv2d %x, {{.*}} {pads = [1, 1, 1, 1]} : (tensor<1x16x4x4xf32>, tensor<40x16x3x3xf32>, tensor<40xf32>) -> tensor<1x40x4x4xf32>
  // CHECK: ge.slice %{{.*}} {starts = [0], ends = [16], axes = [1], steps = [1]}
  // CHECK: ge.slice %{{.*}} {starts = [16], ends = [40], axes = [1], steps = [1]}
  // CHECK: ge.conv2d %x, %[[SMALL]]
  %w0 = ge.constant dense<1.0> : tensor<24x16x3x3xf32>
  %w1 = ge.constant dense<2.0> : tensor<16x16x3x3xf32>
  %w2 = ge.constant dense<3.0> : tensor<8x16x3x3xf32>
  %b0 = ge.constant dense<1.0> : tensor<24xf32>
  %b1 = ge.constant dense<2.0> : tensor<16xf32>
  %b2 = ge.constant dense<3.0> : tensor<8xf32>
  %c0 = ge.conv2d %x, %w0, %b0 {pads = [1, 1, 1, 1]} : (tensor<1x16x4x4xf32>, tensor<24x16x3x3xf32>, tensor<24xf32>) -> tensor<1x24x4x4xf32>
  %p0 = ge.global_avg_pool %c0 : (tensor<1x24x4x4xf32>) -> tensor<1x24x1x1xf32>
  %c1 = ge.conv2d %x, %w1, %b1 {pads = [1, 1, 1, 1]} : (tensor<1x16x4x4xf32>, tensor<16x16x3x3xf32>, tensor<16xf32>) -> tensor<1x16x4x4xf32>
  %c2 = ge.conv2d %x, %w2, %b2 {pads = [1, 1, 1, 1]} : (tensor<1x16x4x4xf32>, tensor<8x16x3x3xf32>, tensor<8xf32>) -> tensor<1x8x4x4xf32>
  return %p0, %c1, %c2 : tensor<1x24x1x1xf32>, tensor<1x16x4x4xf32>, tensor<1x8x4x4xf32>
}

// -----

// Parts of two images would be copied: two tasks more than one start saves.
// CHECK-LABEL: func.func @images
func.func @images(%x: tensor<2x16x4x4xf32>) -> (tensor<2x32x4x4xf32>, tensor<2x16x4x4xf32>) {
  // CHECK-COUNT-2: ge.conv2d
  // CHECK-NOT: ge.slice
  %w0 = ge.constant dense<1.0> : tensor<32x16x1x1xf32>
  %w1 = ge.constant dense<2.0> : tensor<16x16x1x1xf32>
  %c0 = ge.conv2d %x, %w0 : (tensor<2x16x4x4xf32>, tensor<32x16x1x1xf32>) -> tensor<2x32x4x4xf32>
  %c1 = ge.conv2d %x, %w1 : (tensor<2x16x4x4xf32>, tensor<16x16x1x1xf32>) -> tensor<2x16x4x4xf32>
  return %c0, %c1 : tensor<2x32x4x4xf32>, tensor<2x16x4x4xf32>
}

// -----

// Other activations, other windows, groups, weights that are no constants.
// CHECK-LABEL: func.func @differ
func.func @differ(%x: tensor<1x16x4x4xf32>, %w: tensor<16x16x1x1xf32>) -> (tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>, tensor<1x16x5x5xf32>, tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>) {
  // CHECK-COUNT-5: ge.conv2d
  // CHECK-NOT: ge.slice
  %w0 = ge.constant dense<1.0> : tensor<16x16x1x1xf32>
  %w1 = ge.constant dense<2.0> : tensor<16x4x1x1xf32>
  %c0 = ge.conv2d %x, %w0 : (tensor<1x16x4x4xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x4x4xf32>
  %r0 = ge.relu %c0 : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  %c1 = ge.conv2d %x, %w0 : (tensor<1x16x4x4xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x4x4xf32>
  %r1 = ge.tanh %c1 : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  %c2 = ge.conv2d %x, %w0 {strides = [1, 1], pads = [1, 1, 0, 0], dilations = [1, 1]} : (tensor<1x16x4x4xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x5x5xf32>
  %c3 = ge.conv2d %x, %w : (tensor<1x16x4x4xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x4x4xf32>
  %c4 = ge.conv2d %x, %w1 {group = 4} : (tensor<1x16x4x4xf32>, tensor<16x4x1x1xf32>) -> tensor<1x16x4x4xf32>
  return %r0, %r1, %c2, %c3, %c4 : tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>, tensor<1x16x5x5xf32>, tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>
}

// -----

// An addition leaves with its own convolution; behind a wide one it would be a task.
// CHECK-LABEL: func.func @residual
func.func @residual(%x: tensor<1x16x4x4xf32>) -> (tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>) {
  // CHECK-COUNT-2: ge.conv2d
  // CHECK-NOT: ge.slice
  %w0 = ge.constant dense<1.0> : tensor<16x16x1x1xf32>
  %w1 = ge.constant dense<2.0> : tensor<16x16x1x1xf32>
  %c0 = ge.conv2d %x, %w0 : (tensor<1x16x4x4xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x4x4xf32>
  %a0 = ge.add %c0, %x : (tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  %c1 = ge.conv2d %x, %w1 : (tensor<1x16x4x4xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x4x4xf32>
  return %a0, %c1 : tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>
}
