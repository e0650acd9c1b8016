// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// Window and global pooling.

// CHECK-LABEL: func.func @max_pool
func.func @max_pool(%x: tensor<1x4x9x11xf32>) {
  // CHECK: %a = ge.max_pool %x {kernel = [3, 3]} : (tensor<1x4x9x11xf32>) -> tensor<1x4x7x9xf32>
  %a = ge.max_pool %x {kernel = [3, 3]} : (tensor<1x4x9x11xf32>) -> tensor<1x4x7x9xf32>
  // CHECK: %b = ge.max_pool %x {kernel = [3, 2], strides = [2, 2], pads = [1, 0, 1, 0], dilations = [1, 2], ceil_mode = true} : (tensor<1x4x9x11xf32>) -> tensor<1x4x5x5xf32>
  %b = ge.max_pool %x {kernel = [3, 2], strides = [2, 2], pads = [1, 0, 1, 0], dilations = [1, 2], ceil_mode = true} : (tensor<1x4x9x11xf32>) -> tensor<1x4x5x5xf32>
  return
}

// CHECK-LABEL: func.func @max_pool3d
func.func @max_pool3d(%x: tensor<1x4x5x9x11xf32>) {
  // CHECK: %a = ge.max_pool3d %x {kernel = [1, 3, 3]} : (tensor<1x4x5x9x11xf32>) -> tensor<1x4x5x7x9xf32>
  %a = ge.max_pool3d %x {kernel = [1, 3, 3]} : (tensor<1x4x5x9x11xf32>) -> tensor<1x4x5x7x9xf32>
  // CHECK: %b = ge.max_pool3d %x {kernel = [2, 1, 1], strides = [2, 1, 1], ceil_mode = true} : (tensor<1x4x5x9x11xf32>) -> tensor<1x4x3x9x11xf32>
  %b = ge.max_pool3d %x {kernel = [2, 1, 1], strides = [2, 1, 1], ceil_mode = true} : (tensor<1x4x5x9x11xf32>) -> tensor<1x4x3x9x11xf32>
  return
}

// CHECK-LABEL: func.func @avg_pool
func.func @avg_pool(%x: tensor<?x4x9x11xf16>) {
  // CHECK: %a = ge.avg_pool %x {kernel = [2, 2], strides = [2, 2]} : (tensor<?x4x9x11xf16>) -> tensor<?x4x4x5xf16>
  %a = ge.avg_pool %x {kernel = [2, 2], strides = [2, 2]} : (tensor<?x4x9x11xf16>) -> tensor<?x4x4x5xf16>
  // CHECK: %b = ge.avg_pool %x {kernel = [2, 2], strides = [2, 2], pads = [0, 0, 1, 1], ceil_mode = true, count_include_pad = true} : (tensor<?x4x9x11xf16>) -> tensor<?x4x5x6xf16>
  %b = ge.avg_pool %x {kernel = [2, 2], strides = [2, 2], pads = [0, 0, 1, 1], ceil_mode = true, count_include_pad = true} : (tensor<?x4x9x11xf16>) -> tensor<?x4x5x6xf16>
  return
}

// CHECK-LABEL: func.func @last_window_must_begin_inside
func.func @last_window_must_begin_inside(%x: tensor<1x1x5x5xf32>) {
  // CHECK: %a = ge.max_pool %x {kernel = [2, 2], strides = [3, 3], pads = [1, 1, 1, 1], ceil_mode = true} : (tensor<1x1x5x5xf32>) -> tensor<1x1x2x2xf32>
  %a = ge.max_pool %x {kernel = [2, 2], strides = [3, 3], pads = [1, 1, 1, 1], ceil_mode = true} : (tensor<1x1x5x5xf32>) -> tensor<1x1x2x2xf32>
  return
}

// CHECK-LABEL: func.func @global
func.func @global(%x: tensor<1x4x9x11xf32>, %v: tensor<?x4x?x?x?xf32>) {
  // CHECK: %a = ge.global_avg_pool %x : (tensor<1x4x9x11xf32>) -> tensor<1x4x1x1xf32>
  %a = ge.global_avg_pool %x : (tensor<1x4x9x11xf32>) -> tensor<1x4x1x1xf32>
  // CHECK: %b = ge.global_max_pool %v : (tensor<?x4x?x?x?xf32>) -> tensor<?x4x1x1x1xf32>
  %b = ge.global_max_pool %v : (tensor<?x4x?x?x?xf32>) -> tensor<?x4x1x1x1xf32>
  return
}

// CHECK-LABEL: func.func @max_pool_indices
func.func @max_pool_indices(%x: tensor<2x4x9xf32>) {
  // CHECK: %y, %i = ge.max_pool_indices %x {kernel = [3], strides = [2], pads = [1, 1], dilations = [1], column_major = true} : (tensor<2x4x9xf32>) -> (tensor<2x4x5xf32>, tensor<2x4x5xi64>)
  %y, %i = ge.max_pool_indices %x {kernel = [3], strides = [2], pads = [1, 1], dilations = [1], column_major = true} : (tensor<2x4x9xf32>) -> (tensor<2x4x5xf32>, tensor<2x4x5xi64>)
  return
}
