// RUN: ge-opt --no-locations --ge-infer-shapes --split-input-file %s | FileCheck %s

// A batch that was edited by hand reaches the output.
// CHECK-LABEL: func.func @batch
// CHECK-SAME: -> tensor<4x16x6x6xf32>
func.func @batch(%x: tensor<4x8x6x6xf32>, %w: tensor<16x8x3x3xf32>) -> tensor<?x16x6x6xf32> {
  // CHECK: ge.conv2d {{.*}} -> tensor<4x16x6x6xf32>
  %0 = ge.conv2d %x, %w {pads = [1, 1, 1, 1]} : (tensor<4x8x6x6xf32>, tensor<16x8x3x3xf32>) -> tensor<?x16x6x6xf32>
  // CHECK: ge.relu {{.*}} -> tensor<4x16x6x6xf32>
  %1 = ge.relu %0 : (tensor<?x16x6x6xf32>) -> tensor<?x16x6x6xf32>
  return %1 : tensor<?x16x6x6xf32>
}

// -----

// What cannot be computed keeps what was declared; unknown input dimensions pass through.
// CHECK-LABEL: func.func @unknown
func.func @unknown(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>) -> tensor<3x8xf32> {
  // CHECK: ge.relu {{.*}} -> tensor<?x8xf32>
  %0 = ge.relu %x : (tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK: ge.add {{.*}} -> tensor<3x8xf32>
  %1 = ge.add %0, %y : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<3x8xf32>
  return %1 : tensor<3x8xf32>
}

// -----

// Encodings are no business of inference.
// CHECK-LABEL: func.func @encoded
func.func @encoded(%x: tensor<2x8x4x4xf16, #layout.nc1hwc0>) -> tensor<?x8x4x4xf16, #layout.nc1hwc0> {
  // CHECK: -> tensor<2x8x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  %0 = ge.relu %x : (tensor<2x8x4x4xf16, #layout.nc1hwc0>) -> tensor<?x8x4x4xf16, #layout.nc1hwc0>
  return %0 : tensor<?x8x4x4xf16, #layout.nc1hwc0>
}

// -----

// Inside a fused operator too.
// CHECK-LABEL: func.func @fused
func.func @fused(%x: tensor<2x8xf32>) -> tensor<?x8xf32> {
  // CHECK: ge.fused ins({{.*}} : tensor<2x8xf32>)
  %0 = ge.fused ins(%x : tensor<2x8xf32>) {anchor = "ge.relu"} {
  ^bb0(%a: tensor<2x8xf32>):
    // CHECK: ge.relu {{.*}} -> tensor<2x8xf32>
    %1 = ge.relu %a : (tensor<2x8xf32>) -> tensor<?x8xf32>
    %2 = ge.tanh %1 : (tensor<?x8xf32>) -> tensor<?x8xf32>
    ge.yield %2 : tensor<?x8xf32>
  } -> tensor<?x8xf32>
  // CHECK: return {{.*}} : tensor<2x8xf32>
  return %0 : tensor<?x8xf32>
}
