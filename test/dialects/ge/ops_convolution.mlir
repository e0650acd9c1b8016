// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// ge.conv2d: every property, elided defaults, optional bias, unknown dimensions.

// CHECK-LABEL: func.func @plain
func.func @plain(%x: tensor<1x4x9x11xf32>, %w: tensor<8x4x3x3xf32>) {
  // CHECK: %y = ge.conv2d %x, %w : (tensor<1x4x9x11xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x9xf32>
  %y = ge.conv2d %x, %w : (tensor<1x4x9x11xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x9xf32>
  return
}

// CHECK-LABEL: func.func @bias_and_all_properties
func.func @bias_and_all_properties(%x: tensor<2x4x9x11xf16>, %w: tensor<8x2x3x3xf16>, %b: tensor<8xf16>) {
  // CHECK: %y = ge.conv2d %x, %w, %b {strides = [2, 1], pads = [1, 0, 2, 3], dilations = [1, 2], group = 2} : (tensor<2x4x9x11xf16>, tensor<8x2x3x3xf16>, tensor<8xf16>) -> tensor<2x8x5x10xf16>
  %y = ge.conv2d %x, %w, %b {strides = [2, 1], pads = [1, 0, 2, 3], dilations = [1, 2], group = 2} : (tensor<2x4x9x11xf16>, tensor<8x2x3x3xf16>, tensor<8xf16>) -> tensor<2x8x5x10xf16>
  return
}

// CHECK-LABEL: func.func @defaults_are_elided
func.func @defaults_are_elided(%x: tensor<1x4x9x11xf32>, %w: tensor<8x4x1x1xf32>) {
  // CHECK: %y = ge.conv2d %x, %w : (tensor
  %y = ge.conv2d %x, %w {strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], group = 1} : (tensor<1x4x9x11xf32>, tensor<8x4x1x1xf32>) -> tensor<1x8x9x11xf32>
  return
}

// CHECK-LABEL: func.func @unknown_dimensions
func.func @unknown_dimensions(%x: tensor<?x4x?x11xf32>, %w: tensor<8x4x3x3xf32>) {
  // CHECK: %y = ge.conv2d %x, %w {pads = [1, 1, 1, 1]} : (tensor<?x4x?x11xf32>, tensor<8x4x3x3xf32>) -> tensor<?x8x?x11xf32>
  %y = ge.conv2d %x, %w {pads = [1, 1, 1, 1]} : (tensor<?x4x?x11xf32>, tensor<8x4x3x3xf32>) -> tensor<?x8x?x11xf32>
  return
}

// CHECK-LABEL: func.func @other_attributes_stay
func.func @other_attributes_stay(%x: tensor<1x4x9x11xf32>, %w: tensor<4x1x3x3xf32>) {
  // CHECK: %y = ge.conv2d %x, %w {group = 4, ge.precision = "fp32", test.flag} : (tensor<1x4x9x11xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x7x9xf32>
  %y = ge.conv2d %x, %w {group = 4, ge.precision = "fp32", test.flag} : (tensor<1x4x9x11xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x7x9xf32>
  return
}

// CHECK-LABEL: func.func @bias_may_be_fp32
func.func @bias_may_be_fp32(%x: tensor<1x4x9x11xf16>, %w: tensor<8x4x3x3xf16>, %b: tensor<8xf32>) {
  // CHECK: %y = ge.conv2d %x, %w, %b : (tensor<1x4x9x11xf16>, tensor<8x4x3x3xf16>, tensor<8xf32>) -> tensor<1x8x7x9xf16>
  %y = ge.conv2d %x, %w, %b : (tensor<1x4x9x11xf16>, tensor<8x4x3x3xf16>, tensor<8xf32>) -> tensor<1x8x7x9xf16>
  return
}

// CHECK-LABEL: func.func @in_three_dimensions
func.func @in_three_dimensions(%x: tensor<?x4x5x9x11xf32>, %w: tensor<8x2x3x3x3xf32>, %b: tensor<8xf32>) {
  // CHECK: %y = ge.conv3d %x, %w, %b {strides = [1, 2, 1], pads = [1, 1, 0, 1, 2, 3], dilations = [1, 1, 2], group = 2} : (tensor<?x4x5x9x11xf32>, tensor<8x2x3x3x3xf32>, tensor<8xf32>) -> tensor<?x8x5x5x10xf32>
  %y = ge.conv3d %x, %w, %b {strides = [1, 2, 1], pads = [1, 1, 0, 1, 2, 3], dilations = [1, 1, 2], group = 2} : (tensor<?x4x5x9x11xf32>, tensor<8x2x3x3x3xf32>, tensor<8xf32>) -> tensor<?x8x5x5x10xf32>
  return
}

// CHECK-LABEL: func.func @deformable
func.func @deformable(%x: tensor<1x4x9x11xf32>, %w: tensor<8x4x3x3xf32>, %o: tensor<1x36x7x9xf32>, %b: tensor<8xf32>, %m: tensor<1x18x7x9xf32>) {
  // CHECK: %y = ge.deform_conv2d %x, %w, %o, %b, %m {offset_group = 2} : (tensor<1x4x9x11xf32>, tensor<8x4x3x3xf32>, tensor<1x36x7x9xf32>, tensor<8xf32>, tensor<1x18x7x9xf32>) -> tensor<1x8x7x9xf32>
  %y = ge.deform_conv2d %x, %w, %o, %b, %m {offset_group = 2} : (tensor<1x4x9x11xf32>, tensor<8x4x3x3xf32>, tensor<1x36x7x9xf32>, tensor<8xf32>, tensor<1x18x7x9xf32>) -> tensor<1x8x7x9xf32>
  return
}
