// RUN: ge-opt --no-locations --expand-grouped-filters --split-input-file %s | FileCheck %s

// An output sees the channels of its group: the others get zeros.
// CHECK-LABEL: func.func @groups
// CHECK: %[[ROWS:.*]] = ge.reshape %w {shape = [4, 1, 27]}
// CHECK: %[[OWN:.*]] = ge.constant dense<{{\[\[}}[true], [false]], {{\[}}[true], [false]], {{\[}}[false], [true]], {{\[}}[false], [true]]]>
// CHECK: %[[WIDE:.*]] = ge.select %[[OWN]], %[[ROWS]], %{{.*}} -> tensor<4x2x27xf32>
// CHECK: %[[FILTER:.*]] = ge.reshape %[[WIDE]] {shape = [4, 6, 3, 3]}
// CHECK: ge.conv2d %x, %[[FILTER]], %b {strides = [2, 2]} : (tensor<1x6x9x9xf32>, tensor<4x6x3x3xf32>, tensor<4xf32>) -> tensor<1x4x4x4xf32>
func.func @groups(%x: tensor<1x6x9x9xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>) -> tensor<1x4x4x4xf32> {
  %0 = ge.conv2d %x, %w, %b {strides = [2, 2], group = 2} : (tensor<1x6x9x9xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x4x4xf32>
  return %0 : tensor<1x4x4x4xf32>
}

// -----

// Of 600 x 600 numbers nearly all would be zeros: taps.
// CHECK-LABEL: func.func @depthwise
// CHECK-NOT: ge.conv2d
// CHECK: ge.pad %x {pads = [0, 0, 0, 1, 0, 0, 0, 0]}
// CHECK: ge.slice %{{.*}} {starts = [0, 0], ends = [1, 20], axes = [2, 3], steps = [1, 1]}
// CHECK: ge.slice %{{.*}} {starts = [0, 1], ends = [1, 21], axes = [2, 3], steps = [1, 1]}
// CHECK: ge.add
func.func @depthwise(%x: tensor<1x600x1x20xf32>, %w: tensor<600x1x1x2xf32>) -> tensor<1x600x1x20xf32> {
  %0 = ge.conv2d %x, %w {pads = [0, 1, 0, 0], group = 600} : (tensor<1x600x1x20xf32>, tensor<600x1x1x2xf32>) -> tensor<1x600x1x20xf32>
  return %0 : tensor<1x600x1x20xf32>
}

// -----

// A constant filter is packed by blocks of groups before the model runs.
// CHECK-LABEL: func.func @constant
// CHECK: ge.conv2d %x, %{{.*}} {group = 2}
func.func @constant(%x: tensor<1x2x9x9xf32>) -> tensor<1x2x9x9xf32> {
  %w = ge.constant dense<[[[[1.0]]], [[[2.0]]]]> : tensor<2x1x1x1xf32>
  %0 = ge.conv2d %x, %w {group = 2} : (tensor<1x2x9x9xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x9x9xf32>
  return %0 : tensor<1x2x9x9xf32>
}
