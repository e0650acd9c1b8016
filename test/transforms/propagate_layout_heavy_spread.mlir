// RUN: ge-opt --no-locations --propagate-layout="strategy=heavy-spread" --split-input-file %s | FileCheck %s
// GE's spread, with a guard: nothing follows where that adds a conversion, and no choice is revised.

// In front of a convolution: one input and one user is converted earlier for free, two inputs would cost one more.
// CHECK-LABEL: func.func @backward
func.func @backward(%x: tensor<1x16x4x4xf16>, %y: tensor<1x16x4x4xf16>, %w: tensor<16x16x1x1xf16>) -> (tensor<1x16x4x4xf16>, tensor<1x16x4x4xf16>) {
  // CHECK: layout.transdata %x
  // CHECK-NEXT: ge.tanh {{.*}} -> tensor<1x16x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  %0 = ge.tanh %x : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %1 = ge.conv2d %0, %w : (tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>) -> tensor<1x16x4x4xf16>
  // CHECK: ge.add %x, %y : {{.*}} -> tensor<1x16x4x4xf16>
  // CHECK-NEXT: layout.transdata
  %2 = ge.add %x, %y : (tensor<1x16x4x4xf16>, tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %3 = ge.conv2d %2, %w : (tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>) -> tensor<1x16x4x4xf16>
  return %1, %3 : tensor<1x16x4x4xf16>, tensor<1x16x4x4xf16>
}

// -----

// The add follows one of its two producers; %y and the sum are then converted although the convolution's result is there
// in ND for the model's output.
// CHECK-LABEL: func.func @counted
func.func @counted(%x: tensor<1x16x4x4xf16>, %y: tensor<1x16x4x4xf16>, %w: tensor<16x16x1x1xf16>) -> (tensor<1x16x4x4xf16>, tensor<1x16x4x4xf16>) {
  %0 = ge.conv2d %x, %w : (tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>) -> tensor<1x16x4x4xf16>
  // CHECK: ge.add {{.*}} -> tensor<1x16x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  %1 = ge.add %0, %y : (tensor<1x16x4x4xf16>, tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  return %0, %1 : tensor<1x16x4x4xf16>, tensor<1x16x4x4xf16>
}
