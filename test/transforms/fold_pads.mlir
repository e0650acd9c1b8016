// RUN: ge-opt --no-locations --ge-canonicalize --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @pad_into_conv
func.func @pad_into_conv(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x3x3xf32>) -> tensor<1x4x9x8xf32> {
  %0 = ge.pad %x {pads = [0, 0, 1, 1, 0, 0, 2, 1]} : (tensor<1x4x8x8xf32>) -> tensor<1x4x11x10xf32>
  // CHECK-NEXT: ge.conv2d %x, %w {pads = [1, 1, 2, 1]}
  %1 = ge.conv2d %0, %w : (tensor<1x4x11x10xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x9x8xf32>
  return %1 : tensor<1x4x9x8xf32>
}

// -----

// Not if it pads with something else, along the channels, further than the window, or for others too.
// CHECK-LABEL: func.func @pad_stays
func.func @pad_stays(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x3x3xf32>, %v: tensor<4x5x3x3xf32>) -> (tensor<1x4x8x8xf32>, tensor<1x4x6x6xf32>, tensor<1x4x9x6xf32>, tensor<1x4x8x8xf32>, tensor<1x4x10x10xf32>) {
  // CHECK: ge.pad
  %0 = ge.pad %x {pads = [0, 0, 1, 1, 0, 0, 1, 1], value = 1.0} : (tensor<1x4x8x8xf32>) -> tensor<1x4x10x10xf32>
  %1 = ge.conv2d %0, %w : (tensor<1x4x10x10xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x8x8xf32>
  // CHECK: ge.pad
  %2 = ge.pad %x {pads = [0, 0, 0, 0, 0, 1, 0, 0]} : (tensor<1x4x8x8xf32>) -> tensor<1x5x8x8xf32>
  %3 = ge.conv2d %2, %v : (tensor<1x5x8x8xf32>, tensor<4x5x3x3xf32>) -> tensor<1x4x6x6xf32>
  // CHECK: ge.pad
  %4 = ge.pad %x {pads = [0, 0, 3, 0, 0, 0, 0, 0]} : (tensor<1x4x8x8xf32>) -> tensor<1x4x11x8xf32>
  %5 = ge.conv2d %4, %w : (tensor<1x4x11x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x9x6xf32>
  // CHECK: ge.pad
  %6 = ge.pad %x {pads = [0, 0, 1, 1, 0, 0, 1, 1]} : (tensor<1x4x8x8xf32>) -> tensor<1x4x10x10xf32>
  %7 = ge.conv2d %6, %w : (tensor<1x4x10x10xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x8x8xf32>
  return %1, %3, %5, %7, %6 : tensor<1x4x8x8xf32>, tensor<1x4x6x6xf32>, tensor<1x4x9x6xf32>, tensor<1x4x8x8xf32>, tensor<1x4x10x10xf32>
}

// -----

// All readers take it, each with its own pads; the average counts what it now pads itself.
// CHECK-LABEL: func.func @several
func.func @several(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x3x3xf32>) -> (tensor<1x4x8x8xf32>, tensor<1x4x10x10xf32>, tensor<1x4x8x8xf32>) {
  // CHECK-NOT: ge.pad
  %0 = ge.pad %x {pads = [0, 0, 1, 1, 0, 0, 1, 1]} : (tensor<1x4x8x8xf32>) -> tensor<1x4x10x10xf32>
  // CHECK: ge.conv2d %x, %w {pads = [1, 1, 1, 1]}
  %1 = ge.conv2d %0, %w : (tensor<1x4x10x10xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x8x8xf32>
  // CHECK: ge.conv2d %x, %w {pads = [2, 2, 2, 2]}
  %2 = ge.conv2d %0, %w {pads = [1, 1, 1, 1]} : (tensor<1x4x10x10xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x10x10xf32>
  // CHECK: ge.avg_pool %x {kernel = [3, 3], pads = [1, 1, 1, 1], count_include_pad = true}
  %3 = ge.avg_pool %0 {kernel = [3, 3]} : (tensor<1x4x10x10xf32>) -> tensor<1x4x8x8xf32>
  return %1, %2, %3 : tensor<1x4x8x8xf32>, tensor<1x4x10x10xf32>, tensor<1x4x8x8xf32>
}

// -----

// A maximum never takes -inf; zeros lose too where nothing is negative.
// CHECK-LABEL: func.func @max
func.func @max(%x: tensor<1x4x8x8xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) {
  // CHECK-NEXT: ge.max_pool %x {kernel = [3, 3], strides = [2, 2], pads = [1, 1, 0, 0]}
  %0 = ge.pad %x {pads = [0, 0, 1, 1, 0, 0, 0, 0], value = 0xFF800000} : (tensor<1x4x8x8xf32>) -> tensor<1x4x9x9xf32>
  %1 = ge.max_pool %0 {kernel = [3, 3], strides = [2, 2]} : (tensor<1x4x9x9xf32>) -> tensor<1x4x4x4xf32>
  // CHECK-NEXT: %[[R:.*]] = ge.relu %x
  %2 = ge.relu %x : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  // CHECK-NEXT: ge.max_pool %[[R]] {kernel = [3, 3], strides = [2, 2], pads = [1, 1, 0, 0]}
  %3 = ge.pad %2 {pads = [0, 0, 1, 1, 0, 0, 0, 0]} : (tensor<1x4x8x8xf32>) -> tensor<1x4x9x9xf32>
  %4 = ge.max_pool %3 {kernel = [3, 3], strides = [2, 2]} : (tensor<1x4x9x9xf32>) -> tensor<1x4x4x4xf32>
  return %1, %4 : tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>
}

// -----

// Zeros win over negative numbers, an average that leaves its own pads out counts this padding, and rounding up would
// drop the window that begins in the padding.
// CHECK-LABEL: func.func @pools
func.func @pools(%x: tensor<1x4x8x8xf32>) -> (tensor<1x4x8x8xf32>, tensor<1x4x10x10xf32>, tensor<1x4x8x8xf32>, tensor<1x4x5x5xf32>) {
  // CHECK: ge.pad
  %0 = ge.pad %x {pads = [0, 0, 1, 1, 0, 0, 1, 1]} : (tensor<1x4x8x8xf32>) -> tensor<1x4x10x10xf32>
  %1 = ge.max_pool %0 {kernel = [3, 3]} : (tensor<1x4x10x10xf32>) -> tensor<1x4x8x8xf32>
  // CHECK: ge.pad
  // CHECK: ge.avg_pool %{{.*}} {kernel = [3, 3], pads = [1, 1, 1, 1]}
  %p = ge.pad %x {pads = [0, 0, 1, 1, 0, 0, 1, 1]} : (tensor<1x4x8x8xf32>) -> tensor<1x4x10x10xf32>
  %2 = ge.avg_pool %p {kernel = [3, 3], pads = [1, 1, 1, 1]} : (tensor<1x4x10x10xf32>) -> tensor<1x4x10x10xf32>
  // CHECK: ge.pad
  %3 = ge.pad %x {pads = [0, 0, 1, 1, 0, 0, 1, 1], value = 1.0} : (tensor<1x4x8x8xf32>) -> tensor<1x4x10x10xf32>
  %4 = ge.avg_pool %3 {kernel = [3, 3]} : (tensor<1x4x10x10xf32>) -> tensor<1x4x8x8xf32>
  // CHECK: ge.pad
  %5 = ge.pad %x {pads = [0, 0, 0, 0, 0, 0, 3, 3]} : (tensor<1x4x8x8xf32>) -> tensor<1x4x11x11xf32>
  %6 = ge.avg_pool %5 {kernel = [4, 4], strides = [2, 2], ceil_mode = true} : (tensor<1x4x11x11xf32>) -> tensor<1x4x5x5xf32>
  return %1, %2, %4, %6 : tensor<1x4x8x8xf32>, tensor<1x4x10x10xf32>, tensor<1x4x8x8xf32>, tensor<1x4x5x5xf32>
}
