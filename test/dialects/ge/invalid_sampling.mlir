// RUN: ge-opt %s --split-input-file --verify-diagnostics
// Each case breaks one rule of an operator that samples images.

func.func @f(%x: tensor<1x3x8x9xf32>) {
  // expected-error@+1 {{mode must be one of nearest, linear, cubic, got area}}
  %y = ge.resize %x {axes = [2], sizes = [4], mode = "area"} : (tensor<1x3x8x9xf32>) -> tensor<1x3x4x9xf32>
  return
}

// -----

func.func @f(%x: tensor<1x3x8x9xf32>) {
  // expected-error@+1 {{coordinates must be one of half_pixel}}
  %y = ge.resize %x {axes = [2], sizes = [4], coordinates = "pixel"} : (tensor<1x3x8x9xf32>) -> tensor<1x3x4x9xf32>
  return
}

// -----

func.func @f(%x: tensor<1x3x8x9xf32>) {
  // expected-error@+1 {{sizes [4] or scales [] must be one an axis of [2, 3]}}
  %y = ge.resize %x {axes = [2, 3], sizes = [4]} : (tensor<1x3x8x9xf32>) -> tensor<1x3x4x9xf32>
  return
}

// -----

func.func @f(%x: tensor<1x3x8x9xf32>) {
  // expected-error@+1 {{roi must hold 2 numbers}}
  %y = ge.resize %x {axes = [2], sizes = [4], coordinates = "tf_crop_and_resize"} : (tensor<1x3x8x9xf32>) -> tensor<1x3x4x9xf32>
  return
}

// -----

func.func @f(%x: tensor<1x3x8x9xf32>) {
  // expected-error@+1 {{operands 1x3x8x9 give 1x3x4x9, result is declared 1x3x5x9}}
  %y = ge.resize %x {axes = [2], scales = [5.000000e-01]} : (tensor<1x3x8x9xf32>) -> tensor<1x3x5x9xf32>
  return
}

// -----

func.func @f(%x: tensor<1x3x8x9xf32>, %g: tensor<1x4x4x3xf32>) {
  // expected-error@+1 {{a grid 1x4x4x3 cannot sample 1x3x8x9}}
  %y = ge.grid_sample %x, %g : (tensor<1x3x8x9xf32>, tensor<1x4x4x3xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x3x8x9xf32>, %g: tensor<2x4x4x2xf32>) {
  // expected-error@+1 {{batches differ: 1x3x8x9, 2x4x4x2}}
  %y = ge.grid_sample %x, %g : (tensor<1x3x8x9xf32>, tensor<2x4x4x2xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x3x8x9xf32>, %r: tensor<2x5xf32>, %b: tensor<2xi64>) {
  // expected-error@+1 {{rois must have 4 columns, got 2x5}}
  %y = ge.roi_align %x, %r, %b {output = [2, 2]} : (tensor<1x3x8x9xf32>, tensor<2x5xf32>, tensor<2xi64>) -> tensor<2x3x2x2xf32>
  return
}

// -----

func.func @f(%x: tensor<1x3x8x9xf32>, %r: tensor<2x4xf32>, %b: tensor<3xi64>) {
  // expected-error@+1 {{batch must name one image a region}}
  %y = ge.roi_align %x, %r, %b {output = [2, 2]} : (tensor<1x3x8x9xf32>, tensor<2x4xf32>, tensor<3xi64>) -> tensor<2x3x2x2xf32>
  return
}

// -----

func.func @f(%x: tensor<1x3x8x9xf32>, %r: tensor<2x5xf32>) {
  // expected-error@+1 {{output must have 2 values, got [2]}}
  %y = ge.max_roi_pool %x, %r {output = [2]} : (tensor<1x3x8x9xf32>, tensor<2x5xf32>) -> tensor<2x3x2x2xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x10xf32>) {
  // expected-error@+1 {{columns 1x6x10 do not fill [4, 5], which has 9 positions}}
  %y = ge.col2im %x {image = [4, 5], block = [2, 3], strides = [1, 1], dilations = [1, 1], pads = [0, 0, 0, 0]} : (tensor<1x6x10xf32>) -> tensor<1x1x4x5xf32>
  return
}
