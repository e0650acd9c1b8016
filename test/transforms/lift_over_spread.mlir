// RUN: ge-opt --no-locations --fuse-conv-bn-relu --split-input-file %s | FileCheck %s

// BatchNorm, bias and activation behind a transposed convolution leave with its convolution: a value a channel becomes
// one for each pixel of the stride.
// CHECK-LABEL: func.func @transposed
func.func @transposed(%x: tensor<1x8x4x4xf32>) -> tensor<1x4x8x8xf32> {
  // CHECK: ge.constant dense<[2.000000e+00, 2.000000e+00, 2.000000e+00, 2.000000e+00, 3.000000e+00, 3.000000e+00, 3.000000e+00, 3.000000e+00, 4.000000e+00, 4.000000e+00, 4.000000e+00, 4.000000e+00, 5.000000e+00, 5.000000e+00, 5.000000e+00, 5.000000e+00]> : tensor<16xf32>
  // CHECK: %[[C:.*]] = ge.fused
  // CHECK: = ge.conv2d
  // CHECK-NEXT: ge.relu {{.*}} -> tensor<1x16x4x4xf32>
  // CHECK: %[[A:.*]] = ge.reshape %[[C]] {shape = [4, 2, 2, 4, 4]}
  // CHECK-NEXT: %[[B:.*]] = ge.transpose %[[A]] {perm = [0, 3, 1, 4, 2]}
  // CHECK-NEXT: %[[Y:.*]] = ge.reshape %[[B]] {shape = [1, 4, 8, 8]}
  // CHECK-NEXT: return %[[Y]]
  %w = ge.constant dense<1.0> : tensor<16x8x1x1xf32>
  %c = ge.constant dense<[[[[2.0]], [[3.0]], [[4.0]], [[5.0]]]]> : tensor<1x4x1x1xf32>
  %0 = ge.conv2d %x, %w : (tensor<1x8x4x4xf32>, tensor<16x8x1x1xf32>) -> tensor<1x16x4x4xf32>
  %1 = ge.reshape %0 {shape = [4, 2, 2, 4, 4]} : (tensor<1x16x4x4xf32>) -> tensor<4x2x2x4x4xf32>
  %2 = ge.transpose %1 {perm = [0, 3, 1, 4, 2]} : (tensor<4x2x2x4x4xf32>) -> tensor<4x4x2x4x2xf32>
  %3 = ge.reshape %2 {shape = [1, 4, 8, 8]} : (tensor<4x4x2x4x2xf32>) -> tensor<1x4x8x8xf32>
  %4 = ge.add %3, %c : (tensor<1x4x8x8xf32>, tensor<1x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %5 = ge.relu %4 : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  return %5 : tensor<1x4x8x8xf32>
}

// -----

// Two images; the channels come behind the pixels of the stride, or another tensor is added: no channel stays together.
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<2x8x4x4xf32>, %y: tensor<2x4x8x8xf32>) -> (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>) {
  %w = ge.constant dense<1.0> : tensor<16x8x1x1xf32>
  // CHECK: ge.fused
  // CHECK-NEXT: ^
  // CHECK-NEXT: = ge.conv2d
  // CHECK-NEXT: ge.relu
  %0 = ge.conv2d %x, %w : (tensor<2x8x4x4xf32>, tensor<16x8x1x1xf32>) -> tensor<2x16x4x4xf32>
  %1 = ge.reshape %0 {shape = [2, 4, 2, 2, 4, 4]} : (tensor<2x16x4x4xf32>) -> tensor<2x4x2x2x4x4xf32>
  %2 = ge.transpose %1 {perm = [0, 1, 4, 2, 5, 3]} : (tensor<2x4x2x2x4x4xf32>) -> tensor<2x4x4x2x4x2xf32>
  %3 = ge.reshape %2 {shape = [2, 4, 8, 8]} : (tensor<2x4x4x2x4x2xf32>) -> tensor<2x4x8x8xf32>
  %4 = ge.relu %3 : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  // CHECK: = ge.conv2d
  // CHECK-NEXT: ge.reshape
  // CHECK-NEXT: ge.transpose
  // CHECK-NEXT: ge.reshape
  // CHECK-NEXT: ge.relu
  %5 = ge.conv2d %x, %w : (tensor<2x8x4x4xf32>, tensor<16x8x1x1xf32>) -> tensor<2x16x4x4xf32>
  %6 = ge.reshape %5 {shape = [2, 2, 2, 4, 4, 4]} : (tensor<2x16x4x4xf32>) -> tensor<2x2x2x4x4x4xf32>
  %7 = ge.transpose %6 {perm = [0, 3, 4, 1, 5, 2]} : (tensor<2x2x2x4x4x4xf32>) -> tensor<2x4x4x2x4x2xf32>
  %8 = ge.reshape %7 {shape = [2, 4, 8, 8]} : (tensor<2x4x4x2x4x2xf32>) -> tensor<2x4x8x8xf32>
  %9 = ge.relu %8 : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  // CHECK: ge.add %{{.*}}, %y : (tensor<2x4x8x8xf32>
  %10 = ge.conv2d %x, %w : (tensor<2x8x4x4xf32>, tensor<16x8x1x1xf32>) -> tensor<2x16x4x4xf32>
  %11 = ge.reshape %10 {shape = [2, 4, 2, 2, 4, 4]} : (tensor<2x16x4x4xf32>) -> tensor<2x4x2x2x4x4xf32>
  %12 = ge.transpose %11 {perm = [0, 1, 4, 2, 5, 3]} : (tensor<2x4x2x2x4x4xf32>) -> tensor<2x4x4x2x4x2xf32>
  %13 = ge.reshape %12 {shape = [2, 4, 8, 8]} : (tensor<2x4x4x2x4x2xf32>) -> tensor<2x4x8x8xf32>
  %14 = ge.add %13, %y : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  return %4, %9, %14 : tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>
}

// -----

// Four channels for sixteen lanes: the padding would be computed as well.
// CHECK-LABEL: func.func @lanes
func.func @lanes(%x: tensor<1x8x4x4xf32>) -> tensor<1x1x8x8xf32> {
  // CHECK: ge.sigmoid {{.*}} -> tensor<1x1x8x8xf32>
  %w = ge.constant dense<1.0> : tensor<4x8x1x1xf32>
  %0 = ge.conv2d %x, %w : (tensor<1x8x4x4xf32>, tensor<4x8x1x1xf32>) -> tensor<1x4x4x4xf32>
  %1 = ge.reshape %0 {shape = [2, 2, 4, 4]} : (tensor<1x4x4x4xf32>) -> tensor<2x2x4x4xf32>
  %2 = ge.transpose %1 {perm = [2, 0, 3, 1]} : (tensor<2x2x4x4xf32>) -> tensor<4x2x4x2xf32>
  %3 = ge.reshape %2 {shape = [1, 1, 8, 8]} : (tensor<4x2x4x2xf32>) -> tensor<1x1x8x8xf32>
  %4 = ge.sigmoid %3 : (tensor<1x1x8x8xf32>) -> tensor<1x1x8x8xf32>
  return %4 : tensor<1x1x8x8xf32>
}
