// RUN: ge-opt --no-locations --expand-sampling --split-input-file %s | FileCheck %s

// Four neighbours of each place: rows by index, times weights.
// CHECK-LABEL: func.func @grid
// CHECK: ge.transpose %x {perm = [0, 2, 3, 1]}
// CHECK-COUNT-4: ge.gather {{.*}} : (tensor<600x8xf32>, tensor<35xi32>) -> tensor<35x8xf32>
// CHECK-NOT: ge.grid_sample
func.func @grid(%x: tensor<1x8x20x30xf32>, %grid: tensor<1x5x7x2xf32>) -> tensor<1x8x5x7xf32> {
  %0 = ge.grid_sample %x, %grid : (tensor<1x8x20x30xf32>, tensor<1x5x7x2xf32>) -> tensor<1x8x5x7xf32>
  return %0 : tensor<1x8x5x7xf32>
}

// -----

// Coordinates stay in fp32, and are computed in it where the image is fp16.
// CHECK-LABEL: func.func @halves
// CHECK: ge.cast %{{.*}} {ge.precision = "fp32"} : (tensor<1x35x2xf16>) -> tensor<1x35x2xf32>
// CHECK: ge.floor %{{.*}} {ge.precision = "fp32"}
// CHECK: ge.mul %{{.*}} : (tensor<35x8xf16>, tensor<35x1xf16>) -> tensor<35x8xf16>
func.func @halves(%x: tensor<1x8x20x30xf16>, %grid: tensor<1x5x7x2xf16>) -> tensor<1x8x5x7xf16> {
  %0 = ge.grid_sample %x, %grid : (tensor<1x8x20x30xf16>, tensor<1x5x7x2xf16>) -> tensor<1x8x5x7xf16>
  return %0 : tensor<1x8x5x7xf16>
}

// -----

// Two points a bin and axis are known; as many as a region has elements are not. Sizes have to be known.
// CHECK-LABEL: func.func @regions
// CHECK-COUNT-4: ge.gather {{.*}} -> tensor<144x4xf32>
// CHECK-COUNT-2: ge.reduce_mean
// CHECK: ge.roi_align
// CHECK: ge.grid_sample
func.func @regions(%x: tensor<2x4x9x9xf32>, %rois: tensor<4x4xf32>, %batch: tensor<4xi64>, %y: tensor<1x4x?x9xf32>, %grid: tensor<1x2x2x2xf32>) -> (tensor<4x4x3x3xf32>, tensor<4x4x3x3xf32>, tensor<1x4x2x2xf32>) {
  %0 = ge.roi_align %x, %rois, %batch {output = [3, 3], sampling_ratio = 2} : (tensor<2x4x9x9xf32>, tensor<4x4xf32>, tensor<4xi64>) -> tensor<4x4x3x3xf32>
  %1 = ge.roi_align %x, %rois, %batch {output = [3, 3]} : (tensor<2x4x9x9xf32>, tensor<4x4xf32>, tensor<4xi64>) -> tensor<4x4x3x3xf32>
  %2 = ge.grid_sample %y, %grid : (tensor<1x4x?x9xf32>, tensor<1x2x2x2xf32>) -> tensor<1x4x2x2xf32>
  return %0, %1, %2 : tensor<4x4x3x3xf32>, tensor<4x4x3x3xf32>, tensor<1x4x2x2xf32>
}
