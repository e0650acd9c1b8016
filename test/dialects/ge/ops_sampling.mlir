// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// Resizing, grids, regions of interest, columns into images.

// CHECK-LABEL: func.func @resize
func.func @resize(%x: tensor<1x3x8x9xf32>, %t: tensor<2xi64>, %d: tensor<?x3x8x?xf32>) {
  // CHECK: %a = ge.resize %x {axes = [2, 3], sizes = [16, 5], mode = "linear"} : (tensor<1x3x8x9xf32>) -> tensor<1x3x16x5xf32>
  %a = ge.resize %x {axes = [2, 3], sizes = [16, 5], mode = "linear"} : (tensor<1x3x8x9xf32>) -> tensor<1x3x16x5xf32>
  // CHECK: %b = ge.resize %x {axes = [2, 3], scales = [1.500000e+00, 2.000000e+00], coordinates = "asymmetric", nearest = "floor"} : (tensor<1x3x8x9xf32>) -> tensor<1x3x12x18xf32>
  %b = ge.resize %x {axes = [2, 3], scales = [1.500000e+00, 2.000000e+00], coordinates = "asymmetric", nearest = "floor"} : (tensor<1x3x8x9xf32>) -> tensor<1x3x12x18xf32>
  // CHECK: %c = ge.resize %x {axes = [2, 3], sizes = [16, 16], mode = "cubic", policy = "not_larger", cubic_a = -5.000000e-01, exclude_outside = true, antialias = true} : (tensor<1x3x8x9xf32>) -> tensor<1x3x14x16xf32>
  %c = ge.resize %x {axes = [2, 3], sizes = [16, 16], mode = "cubic", policy = "not_larger", cubic_a = -5.000000e-01, exclude_outside = true, antialias = true} : (tensor<1x3x8x9xf32>) -> tensor<1x3x14x16xf32>
  // CHECK: %e = ge.resize %x {axes = [2], sizes = [4], roi = [2.500000e-01, 7.500000e-01], coordinates = "tf_crop_and_resize", extrapolation = 1.000000e+01} : (tensor<1x3x8x9xf32>) -> tensor<1x3x4x9xf32>
  %e = ge.resize %x {axes = [2], sizes = [4], roi = [2.500000e-01, 7.500000e-01], coordinates = "tf_crop_and_resize", extrapolation = 1.000000e+01} : (tensor<1x3x8x9xf32>) -> tensor<1x3x4x9xf32>
  // CHECK: %f = ge.resize %d {axes = [2, 3], scales = [2.000000e+00, 2.000000e+00]} : (tensor<?x3x8x?xf32>) -> tensor<?x3x16x?xf32>
  %f = ge.resize %d {axes = [2, 3], scales = [2.000000e+00, 2.000000e+00]} : (tensor<?x3x8x?xf32>) -> tensor<?x3x16x?xf32>
  // CHECK: %g = ge.resize %x, %t {axes = [2, 3], mode = "linear"} : (tensor<1x3x8x9xf32>, tensor<2xi64>) -> tensor<1x3x?x?xf32>
  %g = ge.resize %x, %t {axes = [2, 3], mode = "linear"} : (tensor<1x3x8x9xf32>, tensor<2xi64>) -> tensor<1x3x?x?xf32>
  return
}

// CHECK-LABEL: func.func @grid_sample
func.func @grid_sample(%x: tensor<2x3x8x9xf32>, %g: tensor<2x5x6x2xf32>, %v: tensor<2x3x4x8x9xf32>, %h: tensor<2x5x6x7x3xf32>) {
  // CHECK: %a = ge.grid_sample %x, %g : (tensor<2x3x8x9xf32>, tensor<2x5x6x2xf32>) -> tensor<2x3x5x6xf32>
  %a = ge.grid_sample %x, %g : (tensor<2x3x8x9xf32>, tensor<2x5x6x2xf32>) -> tensor<2x3x5x6xf32>
  // CHECK: %b = ge.grid_sample %v, %h {mode = "nearest", padding = "border", align_corners = true} : (tensor<2x3x4x8x9xf32>, tensor<2x5x6x7x3xf32>) -> tensor<2x3x5x6x7xf32>
  %b = ge.grid_sample %v, %h {mode = "nearest", padding = "border", align_corners = true} : (tensor<2x3x4x8x9xf32>, tensor<2x5x6x7x3xf32>) -> tensor<2x3x5x6x7xf32>
  return
}

// CHECK-LABEL: func.func @regions
func.func @regions(%x: tensor<2x3x8x9xf32>, %r: tensor<7x4xf32>, %q: tensor<7x5xf32>, %i: tensor<7xi64>) {
  // CHECK: %a = ge.roi_align %x, %r, %i {mode = "max", sampling_ratio = 2, half_pixel = false, output = [5, 6], spatial_scale = 2.500000e-01} : (tensor<2x3x8x9xf32>, tensor<7x4xf32>, tensor<7xi64>) -> tensor<7x3x5x6xf32>
  %a = ge.roi_align %x, %r, %i {mode = "max", sampling_ratio = 2, half_pixel = false, output = [5, 6], spatial_scale = 2.500000e-01} : (tensor<2x3x8x9xf32>, tensor<7x4xf32>, tensor<7xi64>) -> tensor<7x3x5x6xf32>
  // CHECK: %b = ge.max_roi_pool %x, %q {output = [2, 2]} : (tensor<2x3x8x9xf32>, tensor<7x5xf32>) -> tensor<7x3x2x2xf32>
  %b = ge.max_roi_pool %x, %q {output = [2, 2]} : (tensor<2x3x8x9xf32>, tensor<7x5xf32>) -> tensor<7x3x2x2xf32>
  return
}

// CHECK-LABEL: func.func @col2im
func.func @col2im(%x: tensor<1x6x9xf32>) {
  // CHECK: %a = ge.col2im %x {image = [4, 5], block = [2, 3], strides = [1, 1], dilations = [1, 1], pads = [0, 0, 0, 0]} : (tensor<1x6x9xf32>) -> tensor<1x1x4x5xf32>
  %a = ge.col2im %x {image = [4, 5], block = [2, 3], strides = [1, 1], dilations = [1, 1], pads = [0, 0, 0, 0]} : (tensor<1x6x9xf32>) -> tensor<1x1x4x5xf32>
  return
}
