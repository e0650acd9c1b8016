// RUN: ge-opt --no-locations --verify-layout --verify-diagnostics --split-input-file %s
// One of each kind; unit/test_verify_layout.py has the rest.

func.func @heavy_in_nd(%x: tensor<1x8x4x4xf16>, %w: tensor<8x8x1x1xf16>) -> tensor<1x8x4x4xf16> {
  // expected-error@+1 {{ge.conv2d: wants NC1HWC0, found ND}}
  %0 = ge.conv2d %x, %w : (tensor<1x8x4x4xf16>, tensor<8x8x1x1xf16>) -> tensor<1x8x4x4xf16>
  return %0 : tensor<1x8x4x4xf16>
}

// -----

// A fused operator wants what its anchor wants.
func.func @fused(%x: tensor<4x16xf16>, %w: tensor<16x16xf16>) -> tensor<4x16xf16> {
  // expected-error@+1 {{ge.fused: wants FRACTAL_NZ, found ND}}
  %0 = ge.fused ins(%x, %w : tensor<4x16xf16>, tensor<16x16xf16>) {anchor = "ge.matmul"} {
  ^bb0(%a: tensor<4x16xf16>, %b: tensor<16x16xf16>):
    %1 = ge.matmul %a, %b : (tensor<4x16xf16>, tensor<16x16xf16>) -> tensor<4x16xf16>
    %2 = ge.relu %1 : (tensor<4x16xf16>) -> tensor<4x16xf16>
    ge.yield %2 : tensor<4x16xf16>
  } -> tensor<4x16xf16>
  return %0 : tensor<4x16xf16>
}

// -----

func.func @border(%x: tensor<1x8x4x4xf16>) -> tensor<1x8x4x4xf16, #layout.nc1hwc0> {
  %0 = layout.transdata %x : tensor<1x8x4x4xf16> -> tensor<1x8x4x4xf16, #layout.nc1hwc0>
  // expected-error@+1 {{a model output must be ND, found NC1HWC0}}
  return %0 : tensor<1x8x4x4xf16, #layout.nc1hwc0>
}

// -----

// expected-error@+1 {{a model input must be ND, found NC1HWC0}}
func.func @padding(%x: tensor<1x8x4x4xf16, #layout.nc1hwc0<pad = undef>>) {
  %0 = ge.relu %x : (tensor<1x8x4x4xf16, #layout.nc1hwc0<pad = undef>>) -> tensor<1x8x4x4xf16, #layout.nc1hwc0<pad = undef>>
  return
}

// -----

func.func @promise(%x: tensor<1x8x4x4xf16>) {
  %0 = layout.transdata %x : tensor<1x8x4x4xf16> -> tensor<1x8x4x4xf16, #layout.nc1hwc0>
  // expected-error@+1 {{declared pad = zero, but its padding lanes are not zero}}
  %1 = ge.sigmoid %0 : (tensor<1x8x4x4xf16, #layout.nc1hwc0>) -> tensor<1x8x4x4xf16, #layout.nc1hwc0>
  return
}

// -----

// A legal graph is silent.
func.func @legal(%x: tensor<1x8x4x4xf16>, %w: tensor<8x8x1x1xf16>) -> tensor<1x8x4x4xf16> {
  %0 = layout.transdata %x : tensor<1x8x4x4xf16> -> tensor<1x8x4x4xf16, #layout.nc1hwc0>
  %1 = layout.transdata %w : tensor<8x8x1x1xf16> -> tensor<8x8x1x1xf16, #layout.fractal_z>
  %2 = ge.conv2d %0, %1 : (tensor<1x8x4x4xf16, #layout.nc1hwc0>, tensor<8x8x1x1xf16, #layout.fractal_z>) -> tensor<1x8x4x4xf16, #layout.nc1hwc0>
  %3 = layout.transdata %2 : tensor<1x8x4x4xf16, #layout.nc1hwc0> -> tensor<1x8x4x4xf16>
  return %3 : tensor<1x8x4x4xf16>
}
