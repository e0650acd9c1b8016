// RUN: ge-opt --split-input-file --verify-diagnostics %s

func.func @shape_changes(%x: tensor<1x3x8x8xf16>) {
  // expected-error@+1 {{layout.transdata keeps the logical shape}}
  %y = layout.transdata %x : tensor<1x3x8x8xf16> -> tensor<1x8x8x3xf16, #layout.nhwc>
  return
}

// -----

func.func @rank(%x: tensor<1x2x3x4x5xf16>) {
  // expected-error@+1 {{takes 4 axes, found 5}}
  %y = layout.transdata %x : tensor<1x2x3x4x5xf16> -> tensor<1x2x3x4x5xf16, #layout.nc1hwc0>
  return
}

// -----

func.func @too_many_channels(%x: tensor<8x5x3x3xf16>) {
  // expected-error@+1 {{holds at most 4 of axis c4, found 5}}
  %y = layout.transdata %x : tensor<8x5x3x3xf16> -> tensor<8x5x3x3xf16, #layout.fractal_z_c04>
  return
}

// -----

func.func @groups(%x: tensor<10x5x3x3xf16>) {
  // expected-error@+1 {{a filter of 4 groups needs a multiple of it as first size}}
  %y = layout.transdata %x : tensor<10x5x3x3xf16> -> tensor<10x5x3x3xf16, #layout.fractal_z<groups = 4>>
  return
}

// -----

func.func @foreign_encoding(%x: tensor<10x5xf16>) {
  // expected-error@+1 {{is no storage format}}
  %y = layout.transdata %x : tensor<10x5xf16> -> tensor<10x5xf16, "sparse">
  return
}

// -----

// expected-error@+1 {{expected one of c0, pad, each once}}
func.func @unknown_parameter(%x: tensor<1x3x8x8xf16, #layout.nc1hwc0<c1 = 16>>) {
  return
}

// -----

// expected-error@+1 {{expected one of c0, pad, each once}}
func.func @repeated_parameter(%x: tensor<1x3x8x8xf16, #layout.nc1hwc0<c0 = 16, c0 = 16>>) {
  return
}

// -----

// expected-error@+1 {{NC1HWC0 takes positive c0}}
func.func @size_of_zero(%x: tensor<1x3x8x8xf16, #layout.nc1hwc0<c0 = 0>>) {
  return
}
