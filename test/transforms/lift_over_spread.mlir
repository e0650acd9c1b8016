// RUN: ge-opt --no-locations --fuse-conv-bn-relu --split-input-file %s | FileCheck %s

// BatchNorm, bias and activation behind a transposed convolution leave with its convolution: a value a channel becomes
// one for each pixel of the stride.
// CHECK-LABEL: func.func @transposed
func.func @transposed(%x: tensor<1x8x4x4xf32>) -> tensor<1x4x8x8xf32> {
  // CHECK: ge.constant dense<[2.000000e+00, 2.000000e+00, 2.000000e+00, 2.000000e+00, 3.000000e+00, 3.000000e+00, 3.000000e+00, 3.000000e+00, 4.000000e+00, 4.000000e+00, 4.000000e+00, 4.000000e+00, 5.000000e+00, 5.000000e+00, 5.000000e+00, 5.000000e+00]> : tensor<16xf32>
  // CHECK: %[[C:.*]] = ge.fused
  // CHECK: = ge.conv2d
  // CHECK-NEXT: ge.relu {{.*}} -> tensor<1x16x4x4xf32>
  // CHECK: %[[Y:.*]] = ge.depth_to_space %[[C]] {blocks = [2, 2], mode = "CRD"}
  // CHECK-NEXT: return %[[Y]]
  %w = ge.constant dense<1.0> : tensor<16x8x1x1xf32>
  %c = ge.constant dense<[[[[2.0]], [[3.0]], [[4.0]], [[5.0]]]]> : tensor<1x4x1x1xf32>
  %0 = ge.conv2d %x, %w : (tensor<1x8x4x4xf32>, tensor<16x8x1x1xf32>) -> tensor<1x16x4x4xf32>
  %3 = ge.depth_to_space %0 {blocks = [2, 2], mode = "CRD"} : (tensor<1x16x4x4xf32>) -> tensor<1x4x8x8xf32>
  %4 = ge.add %3, %c : (tensor<1x4x8x8xf32>, tensor<1x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %5 = ge.relu %4 : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  return %5 : tensor<1x4x8x8xf32>
}

// -----

// Two images; the channels come behind the pixels, of which the first row is cut; another tensor is added: that one stays.
// CHECK-LABEL: func.func @others
func.func @others(%x: tensor<2x8x4x4xf32>, %y: tensor<2x4x8x8xf32>) -> (tensor<2x4x8x8xf32>, tensor<2x4x7x8xf32>, tensor<2x4x8x8xf32>) {
  %w = ge.constant dense<1.0> : tensor<16x8x1x1xf32>
  // CHECK: ge.fused
  // CHECK-NEXT: ^
  // CHECK-NEXT: = ge.conv2d
  // CHECK-NEXT: ge.relu
  %0 = ge.conv2d %x, %w : (tensor<2x8x4x4xf32>, tensor<16x8x1x1xf32>) -> tensor<2x16x4x4xf32>
  %3 = ge.depth_to_space %0 {blocks = [2, 2], mode = "CRD"} : (tensor<2x16x4x4xf32>) -> tensor<2x4x8x8xf32>
  %4 = ge.relu %3 : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  // CHECK: ge.constant dense<[2.000000e+00, 3.000000e+00, 4.000000e+00, 5.000000e+00, 2.000000e+00, 3.000000e+00
  // CHECK: ge.conv2d {{.*}} -> tensor<2x16x4x4xf32>
  // CHECK-NEXT: ge.depth_to_space
  // CHECK-NEXT: ge.slice
  %5 = ge.conv2d %x, %w : (tensor<2x8x4x4xf32>, tensor<16x8x1x1xf32>) -> tensor<2x16x4x4xf32>
  %8 = ge.depth_to_space %5 {blocks = [2, 2]} : (tensor<2x16x4x4xf32>) -> tensor<2x4x8x8xf32>
  %c = ge.constant dense<[[[[2.0]], [[3.0]], [[4.0]], [[5.0]]]]> : tensor<1x4x1x1xf32>
  %6 = ge.slice %8 {starts = [1], ends = [8], axes = [2], steps = [1]} : (tensor<2x4x8x8xf32>) -> tensor<2x4x7x8xf32>
  %9 = ge.add %6, %c : (tensor<2x4x7x8xf32>, tensor<1x4x1x1xf32>) -> tensor<2x4x7x8xf32>
  // CHECK: ge.add %{{.*}}, %y : (tensor<2x4x8x8xf32>
  %10 = ge.conv2d %x, %w : (tensor<2x8x4x4xf32>, tensor<16x8x1x1xf32>) -> tensor<2x16x4x4xf32>
  %13 = ge.depth_to_space %10 {blocks = [2, 2], mode = "CRD"} : (tensor<2x16x4x4xf32>) -> tensor<2x4x8x8xf32>
  %14 = ge.add %13, %y : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  return %4, %9, %14 : tensor<2x4x8x8xf32>, tensor<2x4x7x8xf32>, tensor<2x4x8x8xf32>
}

// -----

// Four channels for sixteen lanes: the padding would be computed as well.
// CHECK-LABEL: func.func @lanes
func.func @lanes(%x: tensor<1x8x4x4xf32>) -> tensor<1x1x8x8xf32> {
  // CHECK: ge.sigmoid {{.*}} -> tensor<1x1x8x8xf32>
  %w = ge.constant dense<1.0> : tensor<4x8x1x1xf32>
  %0 = ge.conv2d %x, %w : (tensor<1x8x4x4xf32>, tensor<4x8x1x1xf32>) -> tensor<1x4x4x4xf32>
  %3 = ge.depth_to_space %0 {blocks = [2, 2], mode = "CRD"} : (tensor<1x4x4x4xf32>) -> tensor<1x1x8x8xf32>
  %4 = ge.sigmoid %3 : (tensor<1x1x8x8xf32>) -> tensor<1x1x8x8xf32>
  return %4 : tensor<1x1x8x8xf32>
}
