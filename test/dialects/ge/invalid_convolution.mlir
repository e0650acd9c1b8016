// RUN: ge-opt %s --split-input-file --verify-diagnostics
// Each case breaks one rule of ge.conv2d.

func.func @f(%x: tensor<1x4x9x11xf32>, %w: tensor<8x3x3x3xf32>) {
  // expected-error@+1 {{x has 4 channels, w wants 3 x group 1 (operands 1x4x9x11, 8x3x3x3)}}
  %y = ge.conv2d %x, %w : (tensor<1x4x9x11xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x7x9xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9x11xf32>, %w: tensor<9x2x3x3xf32>) {
  // expected-error@+1 {{w has 9 outputs, not a multiple of group 2}}
  %y = ge.conv2d %x, %w {group = 2} : (tensor<1x4x9x11xf32>, tensor<9x2x3x3xf32>) -> tensor<1x9x7x9xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9x11xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error@+1 {{operands 1x4x9x11, 8x4x3x3 give 1x8x7x9, result is declared 1x8x9x11}}
  %y = ge.conv2d %x, %w : (tensor<1x4x9x11xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x9x11xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9x11xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error@+1 {{result element type must be f32, got f16}}
  %y = ge.conv2d %x, %w : (tensor<1x4x9x11xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x9xf16>
  return
}

// -----

func.func @f(%x: tensor<1x4x9x11xf32>, %w: tensor<8x4x3x3xf16>) {
  // expected-error@+1 {{operands must have one element type, got f32 and f16}}
  %y = ge.conv2d %x, %w : (tensor<1x4x9x11xf32>, tensor<8x4x3x3xf16>) -> tensor<1x8x7x9xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9x11xf32>, %w: tensor<8x4x3x3xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{b must have 8 elements}}
  %y = ge.conv2d %x, %w, %b : (tensor<1x4x9x11xf32>, tensor<8x4x3x3xf32>, tensor<4xf32>) -> tensor<1x8x7x9xf32>
  return
}

// -----

func.func @f(%x: tensor<4x9x11xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error@+1 {{x must have rank 4, got 4x9x11}}
  %y = ge.conv2d %x, %w : (tensor<4x9x11xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x9xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9x11xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error@+1 {{pads must have 4 values, got [1, 1]}}
  %y = ge.conv2d %x, %w {pads = [1, 1]} : (tensor<1x4x9x11xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x9xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9x11xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error@+1 {{strides, dilations and group must be positive, pads not negative}}
  %y = ge.conv2d %x, %w {strides = [0, 1]} : (tensor<1x4x9x11xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x9xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9x11xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error@+1 {{the kernel does not fit into the padded input}}
  %y = ge.conv2d %x, %w {dilations = [5, 1]} : (tensor<1x4x9x11xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x9xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9x11xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error@+1 {{ge.conv2d has no attribute 'stride'; it has strides, pads, dilations, group}}
  %y = ge.conv2d %x, %w {stride = [2, 2]} : (tensor<1x4x9x11xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x9xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9x11xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error@+1 {{duplicate attribute 'group' of ge.conv2d}}
  %y = ge.conv2d %x, %w {group = 1, group = 1} : (tensor<1x4x9x11xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x9xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9x11xf32>, %w: tensor<8x4x3x3xf32>, %b: tensor<8xf16>) {
  // expected-error@+1 {{operands must have one element type, got f32 and f16}}
  %y = ge.conv2d %x, %w, %b : (tensor<1x4x9x11xf32>, tensor<8x4x3x3xf32>, tensor<8xf16>) -> tensor<1x8x7x9xf32>
  return
}
