// REQUIRES: mlir-opt
// RUN: ge-opt --no-locations --print-op-generic %s | mlir-opt --allow-unregistered-dialect | FileCheck %s

// CHECK: #layout.nc1hwc0<c0 = 16, pad = zero>
// CHECK: #layout.nhwc
func.func @foreign(%x: tensor<1x3x8x8xf16>) -> tensor<1x3x8x8xf16, #layout.nhwc> {
  %y = layout.transdata %x : tensor<1x3x8x8xf16> -> tensor<1x3x8x8xf16, #layout.nc1hwc0>
  %z = layout.transdata %y : tensor<1x3x8x8xf16, #layout.nc1hwc0> -> tensor<1x3x8x8xf16, #layout.nhwc>
  return %z : tensor<1x3x8x8xf16, #layout.nhwc>
}
