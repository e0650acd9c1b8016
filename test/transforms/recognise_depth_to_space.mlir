// RUN: ge-opt --no-locations --recognise-depth-to-space --split-input-file %s | FileCheck %s

// PixelShuffle of two images; the other order of channels; along one axis; without the axes that carry nothing.
// CHECK-LABEL: func.func @modes
func.func @modes(%x: tensor<2x12x4x5xf32>, %y: tensor<1x12x1x5xf32>) -> (tensor<2x3x8x10xf32>, tensor<2x3x8x10xf32>, tensor<2x4x4x15xf32>, tensor<1x3x2x10xf32>) {
  // CHECK-NEXT: ge.depth_to_space %x {blocks = [2, 2], mode = "CRD"} : (tensor<2x12x4x5xf32>) -> tensor<2x3x8x10xf32>
  %0 = ge.reshape %x {shape = [2, 3, 2, 2, 4, 5]} : (tensor<2x12x4x5xf32>) -> tensor<2x3x2x2x4x5xf32>
  %1 = ge.transpose %0 {perm = [0, 1, 4, 2, 5, 3]} : (tensor<2x3x2x2x4x5xf32>) -> tensor<2x3x4x2x5x2xf32>
  %2 = ge.reshape %1 {shape = [2, 3, 8, 10]} : (tensor<2x3x4x2x5x2xf32>) -> tensor<2x3x8x10xf32>
  // CHECK-NEXT: ge.depth_to_space %x {blocks = [2, 2]} : (tensor<2x12x4x5xf32>) -> tensor<2x3x8x10xf32>
  %3 = ge.reshape %x {shape = [2, 2, 2, 3, 4, 5]} : (tensor<2x12x4x5xf32>) -> tensor<2x2x2x3x4x5xf32>
  %4 = ge.transpose %3 {perm = [0, 3, 4, 1, 5, 2]} : (tensor<2x2x2x3x4x5xf32>) -> tensor<2x3x4x2x5x2xf32>
  %5 = ge.reshape %4 {shape = [2, 3, 8, 10]} : (tensor<2x3x4x2x5x2xf32>) -> tensor<2x3x8x10xf32>
  // CHECK-NEXT: ge.depth_to_space %x {blocks = [1, 3], mode = "CRD"} : (tensor<2x12x4x5xf32>) -> tensor<2x4x4x15xf32>
  %6 = ge.reshape %x {shape = [8, 3, 20]} : (tensor<2x12x4x5xf32>) -> tensor<8x3x20xf32>
  %7 = ge.transpose %6 {perm = [0, 2, 1]} : (tensor<8x3x20xf32>) -> tensor<8x20x3xf32>
  %8 = ge.reshape %7 {shape = [2, 4, 4, 15]} : (tensor<8x20x3xf32>) -> tensor<2x4x4x15xf32>
  // CHECK-NEXT: ge.depth_to_space %y {blocks = [2, 2], mode = "CRD"} : (tensor<1x12x1x5xf32>) -> tensor<1x3x2x10xf32>
  %9 = ge.reshape %y {shape = [6, 2, 5]} : (tensor<1x12x1x5xf32>) -> tensor<6x2x5xf32>
  %10 = ge.transpose %9 {perm = [0, 2, 1]} : (tensor<6x2x5xf32>) -> tensor<6x5x2xf32>
  %11 = ge.reshape %10 {shape = [1, 3, 2, 10]} : (tensor<6x5x2xf32>) -> tensor<1x3x2x10xf32>
  return %2, %5, %8, %11 : tensor<2x3x8x10xf32>, tensor<2x3x8x10xf32>, tensor<2x4x4x15xf32>, tensor<1x3x2x10xf32>
}

// -----

// A convolution in front gives its channels in the order of pixels: rows 0, 2, 4 of filter and bias before 1, 3, 5.
// CHECK-LABEL: func.func @filters
func.func @filters(%x: tensor<1x1x4x4xf32>) -> tensor<1x3x8x4xf32> {
  // CHECK-DAG: %[[W:.*]] = ge.constant dense<{{\[\[\[\[}}0.000000e+00]]], {{\[\[\[}}2.000000e+00]]], {{\[\[\[}}4.000000e+00]]], {{\[\[\[}}1.000000e+00]]], {{\[\[\[}}3.000000e+00]]], {{\[\[\[}}5.000000e+00]]]]> : tensor<6x1x1x1xf32>
  // CHECK-DAG: %[[B:.*]] = ge.constant dense<[0.000000e+00, 2.000000e+00, 4.000000e+00, 1.000000e+00, 3.000000e+00, 5.000000e+00]> : tensor<6xf32>
  // CHECK: %[[C:.*]] = ge.conv2d %x, %[[W]], %[[B]]
  // CHECK-NEXT: ge.depth_to_space %[[C]] {blocks = [2, 1]} : (tensor<1x6x4x4xf32>) -> tensor<1x3x8x4xf32>
  %w = ge.constant dense<[[[[0.0]]], [[[1.0]]], [[[2.0]]], [[[3.0]]], [[[4.0]]], [[[5.0]]]]> : tensor<6x1x1x1xf32>
  %b = ge.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<6xf32>
  %0 = ge.conv2d %x, %w, %b : (tensor<1x1x4x4xf32>, tensor<6x1x1x1xf32>, tensor<6xf32>) -> tensor<1x6x4x4xf32>
  %1 = ge.depth_to_space %0 {blocks = [2, 1], mode = "CRD"} : (tensor<1x6x4x4xf32>) -> tensor<1x3x8x4xf32>
  return %1 : tensor<1x3x8x4xf32>
}

// -----

// Filters of groups, filters that are no constants, channels that somebody else reads: they stay as they are.
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<1x2x4x4xf32>, %w: tensor<4x2x1x1xf32>) -> (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x4x4x4xf32>) {
  // CHECK-COUNT-2: mode = "CRD"
  %g = ge.constant dense<1.0> : tensor<4x1x1x1xf32>
  %0 = ge.conv2d %x, %g {group = 2} : (tensor<1x2x4x4xf32>, tensor<4x1x1x1xf32>) -> tensor<1x4x4x4xf32>
  %1 = ge.depth_to_space %0 {blocks = [2, 1], mode = "CRD"} : (tensor<1x4x4x4xf32>) -> tensor<1x2x8x4xf32>
  %2 = ge.conv2d %x, %w : (tensor<1x2x4x4xf32>, tensor<4x2x1x1xf32>) -> tensor<1x4x4x4xf32>
  %3 = ge.depth_to_space %2 {blocks = [2, 1], mode = "CRD"} : (tensor<1x4x4x4xf32>) -> tensor<1x2x8x4xf32>
  return %1, %3, %2 : tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x4x4x4xf32>
}
