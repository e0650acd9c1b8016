// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s
// The one fused form: isolated region, anchor by operator name, any number of operands and results.

// CHECK-LABEL: func.func @conv_relu
func.func @conv_relu(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // CHECK: %y = ge.fused ins(%x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) {anchor = "ge.conv2d"} {
  // CHECK-NEXT: ^bb0(%a: tensor<1x3x8x8xf32>, %f: tensor<4x3x3x3xf32>):
  // CHECK-NEXT: %t = ge.conv2d %a, %f : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  // CHECK-NEXT: %u = ge.relu %t : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  // CHECK-NEXT: ge.yield %u : tensor<1x4x6x6xf32>
  // CHECK-NEXT: } -> tensor<1x4x6x6xf32>
  %y = ge.fused ins(%x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) {anchor = "ge.conv2d"} {
  ^bb0(%a: tensor<1x3x8x8xf32>, %f: tensor<4x3x3x3xf32>):
    %t = ge.conv2d %a, %f : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
    %u = ge.relu %t : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
    ge.yield %u : tensor<1x4x6x6xf32>
  } -> tensor<1x4x6x6xf32>
  return
}

// CHECK-LABEL: func.func @two_results
func.func @two_results(%x: tensor<?xf32>) {
  // CHECK: ge.fused ins(%x : tensor<?xf32>) {anchor = "ge.exp", ge.precision = "fp32"} {
  // CHECK: ge.yield %b, %c : tensor<?xf32>, tensor<?xf16>
  // CHECK-NEXT: } -> (tensor<?xf32>, tensor<?xf16>)
  %y, %z = ge.fused ins(%x : tensor<?xf32>) {anchor = "ge.exp", ge.precision = "fp32"} {
  ^bb0(%a: tensor<?xf32>):
    %b = ge.exp %a : (tensor<?xf32>) -> tensor<?xf32>
    %c = ge.cast %b : (tensor<?xf32>) -> tensor<?xf16>
    ge.yield %b, %c : tensor<?xf32>, tensor<?xf16>
  } -> (tensor<?xf32>, tensor<?xf16>)
  return
}

// CHECK-LABEL: func.func @encoded
func.func @encoded(%x: tensor<1x3x8x8xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) {
  // CHECK: ge.relu %a : (tensor<1x3x8x8xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> tensor<1x3x8x8xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  %y = ge.fused ins(%x : tensor<1x3x8x8xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) {anchor = "ge.relu"} {
  ^bb0(%a: tensor<1x3x8x8xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>):
    %b = ge.relu %a : (tensor<1x3x8x8xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> tensor<1x3x8x8xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
    ge.yield %b : tensor<1x3x8x8xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  } -> tensor<1x3x8x8xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  return
}
