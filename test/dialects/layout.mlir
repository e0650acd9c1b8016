// RUN: ge-opt --no-locations %s | ge-opt --no-locations | FileCheck %s

// CHECK-LABEL: func.func @to_nc1hwc0
func.func @to_nc1hwc0(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf16, #layout.nc1hwc0<c0 = 16, pad = zero>> {
  // CHECK-NEXT: %y = layout.transdata %x : tensor<1x64x56x56xf32> -> tensor<1x64x56x56xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  %y = layout.transdata %x : tensor<1x64x56x56xf32> -> tensor<1x64x56x56xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  return %y : tensor<1x64x56x56xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
}

// Left-out parameters take the format's sizes and `pad = zero`; any order is read.
// CHECK-LABEL: func.func @defaults
// CHECK-SAME: #layout.nc1hwc0<c0 = 16, pad = zero>
// CHECK-SAME: #layout.fractal_z<n0 = 16, c0 = 16, groups = 1, pad = zero>
// CHECK-SAME: #layout.fractal_z<n0 = 16, c0 = 32, groups = 4, pad = undef>
// CHECK-SAME: #layout.fractal_nz<c0 = 16, pad = zero>
func.func @defaults(%a: tensor<1x3x8x8xf16, #layout.nc1hwc0>,
                    %b: tensor<64x3x7x7xf16, #layout.fractal_z>,
                    %c: tensor<64x4x3x3xi8, #layout.fractal_z<pad = undef, groups = 4, c0 = 32>>,
                    %d: tensor<100x50xf16, #layout.fractal_nz>) {
  return
}

// CHECK-LABEL: func.func @plain_formats
func.func @plain_formats(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32, #layout.nchw> {
  // CHECK-NEXT: layout.transdata %x : tensor<1x3x8x8xf32> -> tensor<1x3x8x8xf32, #layout.nhwc>
  // CHECK-NEXT: layout.transdata %y : tensor<1x3x8x8xf32, #layout.nhwc> -> tensor<1x3x8x8xf32, #layout.nchw>
  %y = layout.transdata %x : tensor<1x3x8x8xf32> -> tensor<1x3x8x8xf32, #layout.nhwc>
  %z = layout.transdata %y : tensor<1x3x8x8xf32, #layout.nhwc> -> tensor<1x3x8x8xf32, #layout.nchw>
  return %z : tensor<1x3x8x8xf32, #layout.nchw>
}

// CHECK-LABEL: func.func @every_format
func.func @every_format(%x: tensor<8x4x3x3xf16>, %v: tensor<8x4x2x3x3xf16>, %m: tensor<2x40x70xf16>) {
  // CHECK-NEXT: #layout.nc1hwc0_c04<c0 = 4, pad = zero>
  // CHECK-NEXT: #layout.fractal_z_c04<n0 = 16, c0 = 16, pad = zero>
  // CHECK-NEXT: #layout.hwcn>
  // CHECK-NEXT: #layout.ndc1hwc0<c0 = 16, pad = undef>
  // CHECK-NEXT: #layout.fractal_z_3d<n0 = 16, c0 = 16, groups = 1, pad = zero>
  // CHECK-NEXT: #layout.fractal_nz<c0 = 16, pad = zero>
  // CHECK-NEXT: #layout.fractal_z_kn<n0 = 16, c0 = 16, pad = zero>
  // CHECK-NEXT: #layout.nd>
  %0 = layout.transdata %x : tensor<8x4x3x3xf16> -> tensor<8x4x3x3xf16, #layout.nc1hwc0_c04>
  %1 = layout.transdata %x : tensor<8x4x3x3xf16> -> tensor<8x4x3x3xf16, #layout.fractal_z_c04>
  %2 = layout.transdata %x : tensor<8x4x3x3xf16> -> tensor<8x4x3x3xf16, #layout.hwcn>
  %3 = layout.transdata %v : tensor<8x4x2x3x3xf16> -> tensor<8x4x2x3x3xf16, #layout.ndc1hwc0<pad = undef>>
  %4 = layout.transdata %v : tensor<8x4x2x3x3xf16> -> tensor<8x4x2x3x3xf16, #layout.fractal_z_3d>
  %5 = layout.transdata %m : tensor<2x40x70xf16> -> tensor<2x40x70xf16, #layout.fractal_nz>
  %6 = layout.transdata %m : tensor<2x40x70xf16> -> tensor<2x40x70xf16, #layout.fractal_z_kn>
  %7 = layout.transdata %m : tensor<2x40x70xf16> -> tensor<2x40x70xf16, #layout.nd>
  return
}

// CHECK-LABEL: func.func @unknown_batch
func.func @unknown_batch(%x: tensor<?x3x8x8xf16>) -> tensor<?x3x8x8xf16, #layout.nc1hwc0<c0 = 16, pad = zero>> {
  // CHECK-NEXT: layout.transdata %x : tensor<?x3x8x8xf16> -> tensor<?x3x8x8xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  %y = layout.transdata %x : tensor<?x3x8x8xf16> -> tensor<?x3x8x8xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  return %y : tensor<?x3x8x8xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
}
