// RUN: ge-opt --no-locations --fuse-split-conv-concat --split-input-file %s | FileCheck %s

// Weights and biases one after another, groups of groups.
// CHECK-LABEL: func.func @grouped
func.func @grouped(%x: tensor<1x8x8x8xf32>) -> tensor<1x12x4x4xf32> {
  // CHECK-NOT: ge.slice
  // CHECK: %[[W:.*]] = ge.constant #ge.fold<"ge.concat", {{.*}}> : tensor<12x2x3x3xf32>
  // CHECK: %[[B:.*]] = ge.constant {{.*}} : tensor<12xf32>
  // CHECK-NEXT: %[[Y:.*]] = ge.conv2d %x, %[[W]], %[[B]] {strides = [2, 2], pads = [1, 1, 1, 1], group = 4} : (tensor<1x8x8x8xf32>, tensor<12x2x3x3xf32>, tensor<12xf32>) -> tensor<1x12x4x4xf32>
  // CHECK-NEXT: return %[[Y]]
  %w0 = ge.constant dense<1.0> : tensor<6x2x3x3xf32>
  %w1 = ge.constant dense<2.0> : tensor<6x2x3x3xf32>
  %b0 = ge.constant dense<3.0> : tensor<6xf32>
  %b1 = ge.constant dense<4.0> : tensor<6xf32>
  %0 = ge.slice %x {starts = [0], ends = [4], axes = [1], steps = [1]} : (tensor<1x8x8x8xf32>) -> tensor<1x4x8x8xf32>
  %1 = ge.slice %x {starts = [4], ends = [8], axes = [-3], steps = [1]} : (tensor<1x8x8x8xf32>) -> tensor<1x4x8x8xf32>
  %2 = ge.conv2d %0, %w0, %b0 {strides = [2, 2], pads = [1, 1, 1, 1], group = 2} : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>) -> tensor<1x6x4x4xf32>
  %3 = ge.conv2d %1, %w1, %b1 {strides = [2, 2], pads = [1, 1, 1, 1], group = 2} : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>) -> tensor<1x6x4x4xf32>
  %4 = ge.concat %2, %3 {axis = 1} : (tensor<1x6x4x4xf32>, tensor<1x6x4x4xf32>) -> tensor<1x12x4x4xf32>
  return %4 : tensor<1x12x4x4xf32>
}

// -----

// Parts in another order.
// CHECK-LABEL: func.func @order
func.func @order(%x: tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32> {
  // CHECK: ge.concat
  %w = ge.constant dense<1.0> : tensor<4x4x1x1xf32>
  %0 = ge.slice %x {starts = [4], ends = [8], axes = [1], steps = [1]} : (tensor<1x8x4x4xf32>) -> tensor<1x4x4x4xf32>
  %1 = ge.slice %x {starts = [0], ends = [4], axes = [1], steps = [1]} : (tensor<1x8x4x4xf32>) -> tensor<1x4x4x4xf32>
  %2 = ge.conv2d %0, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %3 = ge.conv2d %1, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %4 = ge.concat %2, %3 {axis = 1} : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x8x4x4xf32>
  return %4 : tensor<1x8x4x4xf32>
}

// -----

// Channels that nobody reads.
// CHECK-LABEL: func.func @not_all
func.func @not_all(%x: tensor<1x9x4x4xf32>) -> tensor<1x8x4x4xf32> {
  // CHECK: ge.concat
  %w = ge.constant dense<1.0> : tensor<4x4x1x1xf32>
  %0 = ge.slice %x {starts = [0], ends = [4], axes = [1], steps = [1]} : (tensor<1x9x4x4xf32>) -> tensor<1x4x4x4xf32>
  %1 = ge.slice %x {starts = [4], ends = [8], axes = [1], steps = [1]} : (tensor<1x9x4x4xf32>) -> tensor<1x4x4x4xf32>
  %2 = ge.conv2d %0, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %3 = ge.conv2d %1, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %4 = ge.concat %2, %3 {axis = 1} : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x8x4x4xf32>
  return %4 : tensor<1x8x4x4xf32>
}

// -----

// Another dilation with pads that give the same size; unequal weights; one bias only; weights that are computed.
// CHECK-LABEL: func.func @unequal
func.func @unequal(%x: tensor<1x8x4x4xf32>, %v: tensor<4x4x1x1xf32>) -> (tensor<1x8x4x4xf32>, tensor<1x10x4x4xf32>, tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>) {
  %w3 = ge.constant dense<1.0> : tensor<4x4x3x3xf32>
  %w = ge.constant dense<1.0> : tensor<4x4x1x1xf32>
  %u = ge.constant dense<1.0> : tensor<6x4x1x1xf32>
  %b = ge.constant dense<1.0> : tensor<4xf32>
  %0 = ge.slice %x {starts = [0], ends = [4], axes = [1], steps = [1]} : (tensor<1x8x4x4xf32>) -> tensor<1x4x4x4xf32>
  %1 = ge.slice %x {starts = [4], ends = [8], axes = [1], steps = [1]} : (tensor<1x8x4x4xf32>) -> tensor<1x4x4x4xf32>
  // CHECK-COUNT-4: ge.concat
  %2 = ge.conv2d %0, %w3 {pads = [1, 1, 1, 1]} : (tensor<1x4x4x4xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x4x4xf32>
  %3 = ge.conv2d %1, %w3 {pads = [2, 2, 2, 2], dilations = [2, 2]} : (tensor<1x4x4x4xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x4x4xf32>
  %4 = ge.concat %2, %3 {axis = 1} : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x8x4x4xf32>
  %5 = ge.conv2d %0, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %6 = ge.conv2d %1, %u : (tensor<1x4x4x4xf32>, tensor<6x4x1x1xf32>) -> tensor<1x6x4x4xf32>
  %7 = ge.concat %5, %6 {axis = 1} : (tensor<1x4x4x4xf32>, tensor<1x6x4x4xf32>) -> tensor<1x10x4x4xf32>
  %8 = ge.conv2d %0, %w, %b : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>, tensor<4xf32>) -> tensor<1x4x4x4xf32>
  %9 = ge.conv2d %1, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %10 = ge.concat %8, %9 {axis = 1} : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x8x4x4xf32>
  %11 = ge.conv2d %0, %v : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %12 = ge.conv2d %1, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %13 = ge.concat %11, %12 {axis = 1} : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x8x4x4xf32>
  return %4, %7, %10, %13 : tensor<1x8x4x4xf32>, tensor<1x10x4x4xf32>, tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>
}

// -----

// Somebody else reads one result; the results join along the rows.
// CHECK-LABEL: func.func @read
func.func @read(%x: tensor<1x8x4x4xf32>) -> (tensor<1x8x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x8x4xf32>) {
  // CHECK-COUNT-2: ge.concat
  %w = ge.constant dense<1.0> : tensor<4x4x1x1xf32>
  %0 = ge.slice %x {starts = [0], ends = [4], axes = [1], steps = [1]} : (tensor<1x8x4x4xf32>) -> tensor<1x4x4x4xf32>
  %1 = ge.slice %x {starts = [4], ends = [8], axes = [1], steps = [1]} : (tensor<1x8x4x4xf32>) -> tensor<1x4x4x4xf32>
  %2 = ge.conv2d %0, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %3 = ge.conv2d %1, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %4 = ge.concat %2, %3 {axis = 1} : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x8x4x4xf32>
  %5 = ge.conv2d %0, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %6 = ge.conv2d %1, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %7 = ge.concat %5, %6 {axis = 2} : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x4x8x4xf32>
  return %4, %3, %7 : tensor<1x8x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x8x4xf32>
}
