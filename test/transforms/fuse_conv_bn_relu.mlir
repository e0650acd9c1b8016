// RUN: ge-opt --no-locations --fuse-conv-bn-relu --split-input-file %s | FileCheck %s

// Two channels with scale / sqrt(var + 0) = 2, 3: weights 1, 1 -> 2, 3; bias [5 - 1 * 2, 7 - 2 * 3] = [3, 1].
// CHECK-LABEL: func.func @conv_bn_relu
func.func @conv_bn_relu(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = ge.constant dense<1.0> : tensor<2x1x1x1xf32>
  %s = ge.constant dense<[4.0, 3.0]> : tensor<2xf32>
  %b = ge.constant dense<[5.0, 7.0]> : tensor<2xf32>
  %m = ge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %v = ge.constant dense<[4.0, 1.0]> : tensor<2xf32>
  // CHECK-NEXT: %[[W:.*]] = ge.constant dense<{{\[\[\[\[}}2.000000e+00]]], {{\[\[\[}}3.000000e+00]]]]> : tensor<2x1x1x1xf32>
  // CHECK-NEXT: %[[B:.*]] = ge.constant dense<[3.000000e+00, 1.000000e+00]> : tensor<2xf32>
  // CHECK-NEXT: %[[Y:.*]] = ge.fused ins(%x, %[[W]], %[[B]] : {{.*}}) {anchor = "ge.conv2d"} {
  // CHECK: ge.conv2d
  // CHECK-NEXT: ge.relu
  // CHECK-NEXT: ge.yield
  // CHECK: return %[[Y]]
  %0 = ge.conv2d %x, %w : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = ge.batch_norm %0, %s, %b, %m, %v {epsilon = 0.0} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %2 = ge.relu %1 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %2 : tensor<1x2x4x4xf32>
}

// -----

// A scale and a shift per channel behind BatchNorm (densenet, inception): w 2 * 10, b (3 + 1 - 1) * 10 + 4.
// CHECK-LABEL: func.func @scale_chain
func.func @scale_chain(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %w = ge.constant dense<1.0> : tensor<1x1x1x1xf32>
  %cb = ge.constant dense<3.0> : tensor<1xf32>
  %s = ge.constant dense<2.0> : tensor<1xf32>
  %one = ge.constant dense<1.0> : tensor<1xf32>
  %f = ge.constant dense<10.0> : tensor<1x1x1xf32>
  %g = ge.constant dense<4.0> : tensor<1x1x1xf32>
  // CHECK-NEXT: %[[W:.*]] = ge.constant dense<2.000000e+01> : tensor<1x1x1x1xf32>
  // CHECK-NEXT: %[[B:.*]] = ge.constant dense<5.400000e+01> : tensor<1xf32>
  // CHECK-NEXT: ge.conv2d %x, %[[W]], %[[B]]
  // CHECK-NEXT: return
  %0 = ge.conv2d %x, %w, %cb : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>, tensor<1xf32>) -> tensor<1x1x4x4xf32>
  %1 = ge.batch_norm %0, %s, %one, %one, %one {epsilon = 0.0} : (tensor<1x1x4x4xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x4x4xf32>
  %2 = ge.mul %f, %1 : (tensor<1x1x1xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  %3 = ge.add %2, %g : (tensor<1x1x4x4xf32>, tensor<1x1x1xf32>) -> tensor<1x1x4x4xf32>
  return %3 : tensor<1x1x4x4xf32>
}

// -----

// Of two convolutions the later one takes the Add, whatever side it is on.
// CHECK-LABEL: func.func @residual
func.func @residual(%x: tensor<1x4x4x4xf32>, %w: tensor<4x4x1x1xf32>, %v: tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32> {
  // CHECK-NEXT: %[[FIRST:.*]] = ge.conv2d %x, %w
  // CHECK-NEXT: ge.fused ins(%x, %v, %[[FIRST]] : {{.*}}) {anchor = "ge.conv2d"} {
  // CHECK: %[[T:.*]] = ge.conv2d
  // CHECK-NEXT: ge.add %{{.*}}, %[[T]]
  // CHECK-NEXT: ge.relu
  %0 = ge.conv2d %x, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %1 = ge.conv2d %x, %v : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %2 = ge.add %0, %1 : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  %3 = ge.relu %2 : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  return %3 : tensor<1x4x4x4xf32>
}

// -----

// The side operand comes after the convolution: the kernel stands where the Add stood.
// CHECK-LABEL: func.func @late_side
func.func @late_side(%x: tensor<1x4x4x4xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32> {
  // CHECK-NEXT: %[[SIDE:.*]] = ge.sigmoid
  // CHECK-NEXT: ge.fused ins(%x, %w, %[[SIDE]]
  %0 = ge.conv2d %x, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %1 = ge.sigmoid %x : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  %2 = ge.add %1, %0 : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  return %2 : tensor<1x4x4x4xf32>
}

// -----

// One activation each goes along.
// CHECK-LABEL: func.func @activations
func.func @activations(%x: tensor<1x4x4x4xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32> {
  // CHECK: ge.fused
  // CHECK: ge.clip
  %0 = ge.conv2d %x, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %1 = ge.clip %0 {min = 0.0, max = 6.0} : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  // CHECK: ge.fused
  // CHECK: ge.leaky_relu
  %2 = ge.conv2d %1, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %3 = ge.leaky_relu %2 {alpha = 0.1} : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  // CHECK: ge.fused
  // CHECK: ge.swish
  %4 = ge.conv2d %3, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %5 = ge.swish %4 : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  // CHECK: ge.fused
  // CHECK: ge.gelu
  %6 = ge.conv2d %5, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %7 = ge.gelu %6 {approximate = "tanh"} : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  // CHECK: ge.fused
  // CHECK: ge.gelu
  // CHECK-NOT: approximate
  // CHECK: ge.yield
  %8 = ge.conv2d %7, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %9 = ge.gelu %8 : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  return %9 : tensor<1x4x4x4xf32>
}

// -----

// On a large image the 22 instructions of an exact GELU start more often in the epilogue than a launch costs; six of a
// tanh do not.
// CHECK-LABEL: func.func @large
func.func @large(%x: tensor<1x16x128x128xf32>, %w: tensor<64x16x1x1xf32>) -> (tensor<1x64x128x128xf32>, tensor<1x64x128x128xf32>) {
  // CHECK: %[[C:.*]] = ge.conv2d
  // CHECK-NEXT: ge.gelu %[[C]]
  // CHECK-NEXT: ge.fused
  // CHECK: ge.tanh
  %0 = ge.conv2d %x, %w : (tensor<1x16x128x128xf32>, tensor<64x16x1x1xf32>) -> tensor<1x64x128x128xf32>
  %1 = ge.gelu %0 : (tensor<1x64x128x128xf32>) -> tensor<1x64x128x128xf32>
  %2 = ge.conv2d %x, %w : (tensor<1x16x128x128xf32>, tensor<64x16x1x1xf32>) -> tensor<1x64x128x128xf32>
  %3 = ge.tanh %2 : (tensor<1x64x128x128xf32>) -> tensor<1x64x128x128xf32>
  return %1, %3 : tensor<1x64x128x128xf32>, tensor<1x64x128x128xf32>
}

// -----

// A chain: scale per channel from another branch, one number, activation, residual, activation.
// CHECK-LABEL: func.func @chain
func.func @chain(%x: tensor<1x4x4x4xf32>, %w: tensor<4x4x1x1xf32>, %gate: tensor<1x4x1x1xf32>, %r: tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32> {
  // CHECK-NEXT: %[[TWO:.*]] = ge.constant
  // CHECK-NEXT: ge.fused ins(%x, %w, %gate, %[[TWO]], %r : {{.*}}) {anchor = "ge.conv2d"} {
  // CHECK: ge.conv2d
  // CHECK-NEXT: ge.mul
  // CHECK-NEXT: ge.add
  // CHECK-NEXT: ge.sigmoid
  // CHECK-NEXT: ge.add
  // CHECK-NEXT: ge.relu
  // CHECK-NEXT: ge.yield
  %two = ge.constant dense<2.0> : tensor<f32>
  %0 = ge.conv2d %x, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %1 = ge.mul %0, %gate : (tensor<1x4x4x4xf32>, tensor<1x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %2 = ge.add %two, %1 : (tensor<f32>, tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  %3 = ge.sigmoid %2 : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  %4 = ge.add %r, %3 : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  %5 = ge.relu %4 : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  return %5 : tensor<1x4x4x4xf32>
}
