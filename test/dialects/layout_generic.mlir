// RUN: ge-opt --no-locations --print-op-generic %s | FileCheck %s

// CHECK: "layout.transdata"(%x) : (tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
func.func @generic(%x: tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16, #layout.nc1hwc0<c0 = 16, pad = zero>> {
  %y = layout.transdata %x : tensor<1x64x56x56xf16> -> tensor<1x64x56x56xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  return %y : tensor<1x64x56x56xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
}
