// RUN: ge-opt %s --split-input-file --verify-diagnostics
// Each case breaks one rule of a normalization.

func.func @f(%x: tensor<1x4x9x11xf32>, %s: tensor<4xf32>, %m: tensor<3xf32>) {
  // expected-error@+1 {{mean must have 4 elements}}
  %y = ge.batch_norm %x, %s, %s, %m, %s : (tensor<1x4x9x11xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3xf32>, tensor<4xf32>) -> tensor<1x4x9x11xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{x must have rank 2 or more}}
  %y = ge.batch_norm %x, %x, %x, %x, %x : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9x11xf32>, %s: tensor<4xf32>, %m: tensor<4x1xf32>) {
  // expected-error@+1 {{var must have rank 1, got 4x1}}
  %y = ge.batch_norm %x, %s, %s, %s, %m : (tensor<1x4x9x11xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x1xf32>) -> tensor<1x4x9x11xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9x11xf32>) {
  // expected-error@+1 {{property 'size' expected}}
  %y = ge.lrn %x : (tensor<1x4x9x11xf32>) -> tensor<1x4x9x11xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9x11xf32>) {
  // expected-error@+1 {{size must be positive, got 0}}
  %y = ge.lrn %x {size = 0} : (tensor<1x4x9x11xf32>) -> tensor<1x4x9x11xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9x11xf32>) {
  // expected-error@+1 {{axis 4 is outside rank 4 of 1x4x9x11}}
  %y = ge.softmax %x {axis = 4} : (tensor<1x4x9x11xf32>) -> tensor<1x4x9x11xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9x11xf32>) {
  // expected-error@+1 {{operands 1x4x9x11 give 1x4x9x11, result is declared 1x4x9}}
  %y = ge.softmax %x : (tensor<1x4x9x11xf32>) -> tensor<1x4x9xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %s: tensor<4xf32>) {
  // expected-error@+1 {{operands must broadcast onto x (2x3, 4)}}
  %y = ge.layer_norm %x, %s : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %s: tensor<4xf32>) {
  // expected-error@+1 {{axis 2 must not lie behind last_axis 1}}
  %y = ge.layer_norm %x, %s {axis = 2, last_axis = 1} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %s: tensor<3xf32>) {
  // expected-error@+1 {{groups 2 do not divide the 3 channels of 2x3x4, 3, 3}}
  %y = ge.group_norm %x, %s, %s {groups = 2} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %s: tensor<3xf16>) {
  // expected-error@+1 {{operands must have one element type, got f32 and f16}}
  %y = ge.rms_norm %x, %s : (tensor<2x3xf32>, tensor<3xf16>) -> tensor<2x3xf32>
  return
}
