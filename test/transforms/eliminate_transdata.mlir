// RUN: ge-opt --no-locations --eliminate-transdata --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @inverse
func.func @inverse(%x: tensor<1x8x4x4xf16, #layout.nc1hwc0>) -> tensor<1x8x4x4xf16, #layout.nc1hwc0> {
  // CHECK-NEXT: return %x
  %0 = layout.transdata %x : tensor<1x8x4x4xf16, #layout.nc1hwc0> -> tensor<1x8x4x4xf16>
  %1 = layout.transdata %0 : tensor<1x8x4x4xf16> -> tensor<1x8x4x4xf16, #layout.nc1hwc0>
  return %1 : tensor<1x8x4x4xf16, #layout.nc1hwc0>
}

// -----

// Not inverse: the padding comes back as zeros. One task does both.
// CHECK-LABEL: func.func @masked
func.func @masked(%x: tensor<1x8x4x4xf16, #layout.nc1hwc0<pad = undef>>) -> tensor<1x8x4x4xf16, #layout.nc1hwc0> {
  // CHECK-NEXT: layout.transdata %x : tensor<1x8x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = undef>> -> tensor<1x8x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  // CHECK-NEXT: return
  %0 = layout.transdata %x : tensor<1x8x4x4xf16, #layout.nc1hwc0<pad = undef>> -> tensor<1x8x4x4xf16>
  %1 = layout.transdata %0 : tensor<1x8x4x4xf16> -> tensor<1x8x4x4xf16, #layout.nc1hwc0>
  return %1 : tensor<1x8x4x4xf16, #layout.nc1hwc0>
}

// -----

// CHECK-LABEL: func.func @shared
func.func @shared(%x: tensor<1x8x4x4xf16>) -> (tensor<1x8x4x4xf16, #layout.nc1hwc0>, tensor<1x8x4x4xf16, #layout.nc1hwc0>) {
  // CHECK-NEXT: %[[T:.*]] = layout.transdata %x
  // CHECK-NEXT: return %[[T]], %[[T]]
  %0 = layout.transdata %x : tensor<1x8x4x4xf16> -> tensor<1x8x4x4xf16, #layout.nc1hwc0>
  %1 = layout.transdata %x : tensor<1x8x4x4xf16> -> tensor<1x8x4x4xf16, #layout.nc1hwc0>
  return %0, %1 : tensor<1x8x4x4xf16, #layout.nc1hwc0>, tensor<1x8x4x4xf16, #layout.nc1hwc0>
}

// -----

// One pixel without padded channels lies in memory as the row of a matrix: no conversion before the classifier's own.
// CHECK-LABEL: func.func @classifier
func.func @classifier(%x: tensor<4x32x1x1xf16, #layout.nc1hwc0>) -> tensor<4x32xf16, #layout.fractal_nz> {
  // CHECK-NEXT: %[[V:.*]] = ge.reshape %x {shape = [4, 32]} : (tensor<4x32x1x1xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> tensor<4x32xf16>
  // CHECK-NEXT: layout.transdata %[[V]] : tensor<4x32xf16> -> tensor<4x32xf16, #layout.fractal_nz<c0 = 16, pad = zero>>
  // CHECK-NEXT: return
  %0 = layout.transdata %x : tensor<4x32x1x1xf16, #layout.nc1hwc0> -> tensor<4x32x1x1xf16>
  %1 = ge.reshape %0 {shape = [4, 32]} : (tensor<4x32x1x1xf16>) -> tensor<4x32xf16>
  %2 = layout.transdata %1 : tensor<4x32xf16> -> tensor<4x32xf16, #layout.fractal_nz>
  return %2 : tensor<4x32xf16, #layout.fractal_nz>
}

// -----

// With padded channels the reshape moves in front and one conversion remains.
// CHECK-LABEL: func.func @padded_classifier
func.func @padded_classifier(%x: tensor<4x30x1x1xf16, #layout.nc1hwc0>) -> tensor<4x30xf16, #layout.fractal_nz> {
  // CHECK-NEXT: %[[V:.*]] = ge.reshape %x {{.*}} -> tensor<4x30xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  // CHECK-NEXT: layout.transdata %[[V]] : {{.*}} -> tensor<4x30xf16, #layout.fractal_nz<c0 = 16, pad = zero>>
  // CHECK-NEXT: return
  %0 = layout.transdata %x : tensor<4x30x1x1xf16, #layout.nc1hwc0> -> tensor<4x30x1x1xf16>
  %1 = ge.reshape %0 {shape = [4, 30]} : (tensor<4x30x1x1xf16>) -> tensor<4x30xf16>
  %2 = layout.transdata %1 : tensor<4x30xf16> -> tensor<4x30xf16, #layout.fractal_nz>
  return %2 : tensor<4x30xf16, #layout.fractal_nz>
}

// -----

// More than one pixel: channels and pixels are interleaved, all conversions stay.
// CHECK-LABEL: func.func @pixels
func.func @pixels(%x: tensor<4x32x2x1xf16, #layout.nc1hwc0>) -> tensor<4x64xf16, #layout.fractal_nz> {
  // CHECK-NEXT: layout.transdata
  // CHECK-NEXT: ge.reshape
  // CHECK-NEXT: layout.transdata
  %0 = layout.transdata %x : tensor<4x32x2x1xf16, #layout.nc1hwc0> -> tensor<4x32x2x1xf16>
  %1 = ge.reshape %0 {shape = [4, 64]} : (tensor<4x32x2x1xf16>) -> tensor<4x64xf16>
  %2 = layout.transdata %1 : tensor<4x64xf16> -> tensor<4x64xf16, #layout.fractal_nz>
  return %2 : tensor<4x64xf16, #layout.fractal_nz>
}

// -----

// A conversion to integers and back loses what it rounds: both stay. One with another user does not merge.
// CHECK-LABEL: func.func @guards
func.func @guards(%x: tensor<1x8x4x4xf16, #layout.nc1hwc0>, %y: tensor<1x8x4x4xf32>) -> (tensor<1x8x4x4xf16, #layout.nc1hwc0>, tensor<1x8x4x4xf16>, tensor<1x8x4x4xf16, #layout.nc1hwc0>) {
  // CHECK-NEXT: layout.transdata
  // CHECK-NEXT: layout.transdata
  // CHECK-NEXT: layout.transdata
  // CHECK-NEXT: layout.transdata
  %0 = layout.transdata %x : tensor<1x8x4x4xf16, #layout.nc1hwc0> -> tensor<1x8x4x4xi32>
  %1 = layout.transdata %0 : tensor<1x8x4x4xi32> -> tensor<1x8x4x4xf16, #layout.nc1hwc0>
  %2 = layout.transdata %y : tensor<1x8x4x4xf32> -> tensor<1x8x4x4xf16>
  %3 = layout.transdata %2 : tensor<1x8x4x4xf16> -> tensor<1x8x4x4xf16, #layout.nc1hwc0>
  return %1, %2, %3 : tensor<1x8x4x4xf16, #layout.nc1hwc0>, tensor<1x8x4x4xf16>, tensor<1x8x4x4xf16, #layout.nc1hwc0>
}

// -----

// NHWC is a format: the transposes at the borders are views, and the casts are done on the way.
// CHECK-LABEL: func.func @channels_last
func.func @channels_last(%x: tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32> {
  // CHECK-NEXT: %[[V:.*]] = ge.transpose %x {perm = [0, 3, 1, 2]} : (tensor<1x8x8x3xf32>) -> tensor<1x3x8x8xf32, #layout.nhwc>
  // CHECK-NEXT: %[[T:.*]] = layout.transdata %[[V]] : tensor<1x3x8x8xf32, #layout.nhwc> -> tensor<1x3x8x8xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  // CHECK-NEXT: %[[R:.*]] = ge.relu %[[T]]
  // CHECK-NEXT: %[[O:.*]] = layout.transdata %[[R]] : {{.*}} -> tensor<1x3x8x8xf32, #layout.nhwc>
  // CHECK-NEXT: %[[Y:.*]] = ge.transpose %[[O]] {perm = [0, 2, 3, 1]} : (tensor<1x3x8x8xf32, #layout.nhwc>) -> tensor<1x8x8x3xf32>
  // CHECK-NEXT: return %[[Y]]
  %0 = ge.cast %x : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf16>
  %1 = ge.transpose %0 {perm = [0, 3, 1, 2]} : (tensor<1x8x8x3xf16>) -> tensor<1x3x8x8xf16>
  %2 = layout.transdata %1 : tensor<1x3x8x8xf16> -> tensor<1x3x8x8xf16, #layout.nc1hwc0>
  %3 = ge.relu %2 : (tensor<1x3x8x8xf16, #layout.nc1hwc0>) -> tensor<1x3x8x8xf16, #layout.nc1hwc0>
  %4 = layout.transdata %3 : tensor<1x3x8x8xf16, #layout.nc1hwc0> -> tensor<1x3x8x8xf16>
  %5 = ge.transpose %4 {perm = [0, 2, 3, 1]} : (tensor<1x3x8x8xf16>) -> tensor<1x8x8x3xf16>
  %6 = ge.cast %5 : (tensor<1x8x8x3xf16>) -> tensor<1x8x8x3xf32>
  return %6 : tensor<1x8x8x3xf32>
}

// -----

// 64 pixels of 24 channels are 64 rows of a matrix: both formats have the axes c1, pixels, c0.
// CHECK-LABEL: func.func @pixels_to_rows
func.func @pixels_to_rows(%x: tensor<2x24x8x8xf16, #layout.nc1hwc0>) -> tensor<2x64x24xf16, #layout.fractal_nz> {
  // CHECK-NEXT: %[[F:.*]] = ge.reshape %x {shape = [2, 24, 64, 1]} : {{.*}} -> tensor<2x24x64x1xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  // CHECK-NEXT: %[[T:.*]] = ge.transpose %[[F]] {perm = [0, 3, 2, 1]} : {{.*}} -> tensor<2x1x64x24xf16, #layout.fractal_nz<c0 = 16, pad = zero>>
  // CHECK-NEXT: %[[R:.*]] = ge.reshape %[[T]] {shape = [2, 64, 24]}
  // CHECK-NEXT: return %[[R]]
  %0 = layout.transdata %x : tensor<2x24x8x8xf16, #layout.nc1hwc0> -> tensor<2x24x8x8xf16>
  %1 = ge.transpose %0 {perm = [0, 2, 3, 1]} : (tensor<2x24x8x8xf16>) -> tensor<2x8x8x24xf16>
  %2 = ge.reshape %1 {shape = [2, 64, 24]} : (tensor<2x8x8x24xf16>) -> tensor<2x64x24xf16>
  %3 = layout.transdata %2 : tensor<2x64x24xf16> -> tensor<2x64x24xf16, #layout.fractal_nz>
  return %3 : tensor<2x64x24xf16, #layout.fractal_nz>
}

// -----

// CHECK-LABEL: func.func @rows_to_pixels
func.func @rows_to_pixels(%x: tensor<64x24xf16, #layout.fractal_nz>) -> tensor<1x24x8x8xf16, #layout.nc1hwc0> {
  // CHECK-NEXT: ge.reshape %x {shape = [1, 1, 64, 24]}
  // CHECK-NEXT: ge.transpose {{.*}} {perm = [0, 3, 2, 1]} : {{.*}} -> tensor<1x24x64x1xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  // CHECK-NEXT: %[[R:.*]] = ge.reshape {{.*}} {shape = [1, 24, 8, 8]}
  // CHECK-NEXT: return %[[R]]
  %0 = layout.transdata %x : tensor<64x24xf16, #layout.fractal_nz> -> tensor<64x24xf16>
  %1 = ge.transpose %0 {perm = [1, 0]} : (tensor<64x24xf16>) -> tensor<24x64xf16>
  %2 = ge.reshape %1 {shape = [1, 24, 8, 8]} : (tensor<24x64xf16>) -> tensor<1x24x8x8xf16>
  %3 = layout.transdata %2 : tensor<1x24x8x8xf16> -> tensor<1x24x8x8xf16, #layout.nc1hwc0>
  return %3 : tensor<1x24x8x8xf16, #layout.nc1hwc0>
}

// -----

// The transposition went into the product: with rows it is none.
// CHECK-LABEL: func.func @transposing_product
func.func @transposing_product(%x: tensor<1x24x8x8xf16, #layout.nc1hwc0>, %w: tensor<24x32xf16, #layout.fractal_z_kn<pad = zero>>) -> tensor<1x64x32xf16, #layout.fractal_nz> {
  // CHECK: %[[R:.*]] = ge.reshape {{.*}} {shape = [1, 64, 24]}
  // CHECK-NEXT: ge.matmul %[[R]], %w : (tensor<1x64x24xf16, #layout.fractal_nz<c0 = 16, pad = zero>>
  // CHECK-NEXT: return
  %0 = layout.transdata %x : tensor<1x24x8x8xf16, #layout.nc1hwc0> -> tensor<1x24x8x8xf16>
  %1 = ge.reshape %0 {shape = [1, 24, 64]} : (tensor<1x24x8x8xf16>) -> tensor<1x24x64xf16>
  %2 = layout.transdata %1 : tensor<1x24x64xf16> -> tensor<1x24x64xf16, #layout.fractal_nz>
  %3 = ge.matmul %2, %w {transpose_a = true} : (tensor<1x24x64xf16, #layout.fractal_nz>, tensor<24x32xf16, #layout.fractal_z_kn<pad = zero>>) -> tensor<1x64x32xf16, #layout.fractal_nz>
  return %3 : tensor<1x64x32xf16, #layout.fractal_nz>
}

// -----

// 49 pixels do not fill their fractals; images behind each other are not rows of one matrix; windows have another order.
// CHECK-LABEL: func.func @no_rows
// CHECK-COUNT-5: layout.transdata
func.func @no_rows(%x: tensor<1x24x7x7xf16, #layout.nc1hwc0>, %y: tensor<2x24x8x8xf16, #layout.nc1hwc0>) -> (tensor<49x24xf16, #layout.fractal_nz>, tensor<128x24xf16, #layout.fractal_nz>, tensor<8x16x24xf16, #layout.fractal_nz>) {
  %0 = layout.transdata %x : tensor<1x24x7x7xf16, #layout.nc1hwc0> -> tensor<1x24x7x7xf16>
  %1 = ge.reshape %0 {shape = [24, 49]} : (tensor<1x24x7x7xf16>) -> tensor<24x49xf16>
  %2 = ge.transpose %1 {perm = [1, 0]} : (tensor<24x49xf16>) -> tensor<49x24xf16>
  %3 = layout.transdata %2 : tensor<49x24xf16> -> tensor<49x24xf16, #layout.fractal_nz>
  %4 = layout.transdata %y : tensor<2x24x8x8xf16, #layout.nc1hwc0> -> tensor<2x24x8x8xf16>
  %5 = ge.reshape %4 {shape = [2, 24, 64]} : (tensor<2x24x8x8xf16>) -> tensor<2x24x64xf16>
  %6 = ge.transpose %5 {perm = [0, 2, 1]} : (tensor<2x24x64xf16>) -> tensor<2x64x24xf16>
  %7 = ge.reshape %6 {shape = [128, 24]} : (tensor<2x64x24xf16>) -> tensor<128x24xf16>
  %8 = layout.transdata %7 : tensor<128x24xf16> -> tensor<128x24xf16, #layout.fractal_nz>
  %9 = ge.relu %4 : (tensor<2x24x8x8xf16>) -> tensor<2x24x8x8xf16>
  %10 = ge.reshape %9 {shape = [2, 24, 2, 4, 2, 4]} : (tensor<2x24x8x8xf16>) -> tensor<2x24x2x4x2x4xf16>
  %11 = ge.transpose %10 {perm = [0, 2, 4, 3, 5, 1]} : (tensor<2x24x2x4x2x4xf16>) -> tensor<2x2x2x4x4x24xf16>
  %12 = ge.reshape %11 {shape = [8, 16, 24]} : (tensor<2x2x2x4x4x24xf16>) -> tensor<8x16x24xf16>
  %13 = layout.transdata %12 : tensor<8x16x24xf16> -> tensor<8x16x24xf16, #layout.fractal_nz>
  return %3, %8, %13 : tensor<49x24xf16, #layout.fractal_nz>, tensor<128x24xf16, #layout.fractal_nz>, tensor<8x16x24xf16, #layout.fractal_nz>
}
