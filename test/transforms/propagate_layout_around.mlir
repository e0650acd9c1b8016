// RUN: ge-opt --no-locations --propagate-layout="strategy=around" %s | FileCheck %s
// Nothing but heavy operators and pools leaves ND: what lies between two convolutions is converted twice.

// CHECK-LABEL: func.func @between
func.func @between(%x: tensor<1x16x4x4xf16>, %w: tensor<16x16x1x1xf16>) -> tensor<1x16x4x4xf16> {
  // CHECK: ge.conv2d {{.*}} -> tensor<1x16x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  // CHECK-NEXT: layout.transdata
  // CHECK-NEXT: ge.tanh {{.*}} : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  // CHECK-NEXT: layout.transdata
  %0 = ge.conv2d %x, %w : (tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>) -> tensor<1x16x4x4xf16>
  %1 = ge.tanh %0 : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %2 = ge.conv2d %1, %w : (tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>) -> tensor<1x16x4x4xf16>
  return %2 : tensor<1x16x4x4xf16>
}
