// RUN: ge-opt --no-locations --expand-conv3d --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @neighbouring_slices
func.func @neighbouring_slices(%x: tensor<1x16x8x14x14xf32>, %w: tensor<32x16x3x3x3xf32>, %b: tensor<32xf32>) -> tensor<1x32x3x12x12xf32> {
  // CHECK-NEXT: %y = ge.transpose %x {perm = [0, 2, 1, 3, 4]} : (tensor<1x16x8x14x14xf32>) -> tensor<1x8x16x14x14xf32>
  // CHECK-NEXT: %y_1 = ge.slice %y {starts = [0], ends = [5], axes = [1], steps = [2]} : (tensor<1x8x16x14x14xf32>) -> tensor<1x3x16x14x14xf32>
  // CHECK-NEXT: %y_2 = ge.slice %y {starts = [1], ends = [6], axes = [1], steps = [2]} : (tensor<1x8x16x14x14xf32>) -> tensor<1x3x16x14x14xf32>
  // CHECK-NEXT: %y_3 = ge.slice %y {starts = [2], ends = [7], axes = [1], steps = [2]} : (tensor<1x8x16x14x14xf32>) -> tensor<1x3x16x14x14xf32>
  // CHECK-NEXT: %y_4 = ge.concat %y_1, %y_2, %y_3 {axis = 2} : (tensor<1x3x16x14x14xf32>, tensor<1x3x16x14x14xf32>, tensor<1x3x16x14x14xf32>) -> tensor<1x3x48x14x14xf32>
  // CHECK-NEXT: %y_5 = ge.reshape %y_4 {shape = [-1, 48, 14, 14]} : (tensor<1x3x48x14x14xf32>) -> tensor<3x48x14x14xf32>
  // CHECK-NEXT: %y_6 = ge.transpose %w {perm = [0, 2, 1, 3, 4]} : (tensor<32x16x3x3x3xf32>) -> tensor<32x3x16x3x3xf32>
  // CHECK-NEXT: %y_7 = ge.reshape %y_6 {shape = [32, -1, 3, 3]} : (tensor<32x3x16x3x3xf32>) -> tensor<32x48x3x3xf32>
  // CHECK-NEXT: %y_8 = ge.conv2d %y_5, %y_7, %b : (tensor<3x48x14x14xf32>, tensor<32x48x3x3xf32>, tensor<32xf32>) -> tensor<3x32x12x12xf32>
  // CHECK-NEXT: %y_9 = ge.reshape %y_8 {shape = [1, 3, 32, 12, 12]} : (tensor<3x32x12x12xf32>) -> tensor<1x3x32x12x12xf32>
  // CHECK-NEXT: %y_10 = ge.transpose %y_9 {perm = [0, 2, 1, 3, 4]} : (tensor<1x3x32x12x12xf32>) -> tensor<1x32x3x12x12xf32>
  %y = ge.conv3d %x, %w, %b {strides = [2, 1, 1]} : (tensor<1x16x8x14x14xf32>, tensor<32x16x3x3x3xf32>, tensor<32xf32>) -> tensor<1x32x3x12x12xf32>
  return %y : tensor<1x32x3x12x12xf32>
}

// -----

// A filter of one slice needs no neighbours; a constant one is turned at once, or by a recipe.

// CHECK-LABEL: func.func @one_slice
func.func @one_slice(%x: tensor<2x1x4x3x3xf32>) -> tensor<2x1x4x3x3xf32> {
  // CHECK-NOT: ge.slice
  // CHECK: ge.constant dense<1.000000e+00> : tensor<1x1x1x1xf32>
  // CHECK: ge.conv2d
  // CHECK-SAME: (tensor<8x1x3x3xf32>, tensor<1x1x1x1xf32>) -> tensor<8x1x3x3xf32>
  %w = ge.constant dense<1.0> : tensor<1x1x1x1x1xf32>
  %y = ge.conv3d %x, %w : (tensor<2x1x4x3x3xf32>, tensor<1x1x1x1x1xf32>) -> tensor<2x1x4x3x3xf32>
  return %y : tensor<2x1x4x3x3xf32>
}

// -----

// Groups and unknown extents stay.

// CHECK-LABEL: func.func @not_these
func.func @not_these(%x: tensor<1x4x5x6x7xf32>, %w: tensor<4x2x1x1x1xf32>, %u: tensor<?x2x5x6x7xf32>) -> (tensor<1x4x5x6x7xf32>, tensor<?x4x5x6x7xf32>) {
  // CHECK: ge.conv3d %x
  // CHECK: ge.conv3d %u
  %y = ge.conv3d %x, %w {group = 2} : (tensor<1x4x5x6x7xf32>, tensor<4x2x1x1x1xf32>) -> tensor<1x4x5x6x7xf32>
  %z = ge.conv3d %u, %w : (tensor<?x2x5x6x7xf32>, tensor<4x2x1x1x1xf32>) -> tensor<?x4x5x6x7xf32>
  return %y, %z : tensor<1x4x5x6x7xf32>, tensor<?x4x5x6x7xf32>
}
