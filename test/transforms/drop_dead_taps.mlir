// RUN: ge-opt --no-locations --drop-dead-taps --split-input-file %s | FileCheck %s

// Rows 24 above and below an image of 14 are padding, whatever the output.
// CHECK-LABEL: func.func @middle
func.func @middle(%x: tensor<1x1x14x14xf32>) -> tensor<1x1x14x14xf32> {
  %w = ge.constant dense<[[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]]]> : tensor<1x1x3x3xf32>
  // CHECK: ge.conv2d %x, %{{.*}} : (tensor<1x1x14x14xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x14x14xf32>
  %0 = ge.conv2d %x, %w {pads = [24, 24, 24, 24], dilations = [24, 24]} : (tensor<1x1x14x14xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x14x14xf32>
  return %0 : tensor<1x1x14x14xf32>
}

// -----

// One axis alone; with dilation 12 the outer taps meet two rows of the image.
// CHECK-LABEL: func.func @one_axis
func.func @one_axis(%x: tensor<1x1x14x14xf32>) -> tensor<1x1x14x14xf32> {
  %w = ge.constant dense<1.0> : tensor<1x1x3x3xf32>
  // CHECK: ge.conv2d %x, %{{.*}} {pads = [12, 0, 12, 0], dilations = [12, 1]} : (tensor<1x1x14x14xf32>, tensor<1x1x3x1xf32>) -> tensor<1x1x14x14xf32>
  %0 = ge.conv2d %x, %w {pads = [12, 14, 12, 14], dilations = [12, 14]} : (tensor<1x1x14x14xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x14x14xf32>
  return %0 : tensor<1x1x14x14xf32>
}

// -----

// A filter that is no constant stays, and so does one whose every tap reads.
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<1x1x14x14xf32>, %v: tensor<1x1x3x3xf32>) -> (tensor<1x1x14x14xf32>, tensor<1x1x14x14xf32>) {
  %w = ge.constant dense<1.0> : tensor<1x1x3x3xf32>
  // CHECK-COUNT-2: tensor<1x1x3x3xf32>) -> tensor<1x1x14x14xf32>
  %0 = ge.conv2d %x, %v {pads = [24, 24, 24, 24], dilations = [24, 24]} : (tensor<1x1x14x14xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x14x14xf32>
  %1 = ge.conv2d %x, %w {pads = [13, 13, 13, 13], dilations = [13, 13]} : (tensor<1x1x14x14xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x14x14xf32>
  return %0, %1 : tensor<1x1x14x14xf32>, tensor<1x1x14x14xf32>
}
