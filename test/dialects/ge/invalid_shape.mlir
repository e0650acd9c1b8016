// RUN: ge-opt %s --split-input-file --verify-diagnostics
// Each case breaks one rule of a shape operator.

func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+1 {{2x3x4 has 24 elements, which do not fill shape [5, -1]}}
  %y = ge.reshape %x {shape = [5, -1]} : (tensor<2x3x4xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+1 {{2x3x4 has 24 elements, which do not fill shape [5, 5]}}
  %y = ge.reshape %x {shape = [5, 5]} : (tensor<2x3x4xf32>) -> tensor<5x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+1 {{shape [-1, -1] may hold one -1 and no other negative extent}}
  %y = ge.reshape %x {shape = [-1, -1]} : (tensor<2x3x4xf32>) -> tensor<5x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+1 {{perm [0, 1] is no permutation of the axes of 2x3x4}}
  %y = ge.transpose %x {perm = [0, 1]} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+1 {{perm [0, 1, 1] is no permutation}}
  %y = ge.transpose %x {perm = [0, 1, 1]} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %z: tensor<2x3x5xf32>) {
  // expected-error@+1 {{operands 2x3x4, 2x3x5 differ outside axis 0}}
  %y = ge.concat %x, %z {axis = 0} : (tensor<2x3x4xf32>, tensor<2x3x5xf32>) -> tensor<4x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %z: tensor<2x3xf32>) {
  // expected-error@+1 {{operands 2x3x4, 2x3 differ in rank}}
  %y = ge.concat %x, %z {axis = 0} : (tensor<2x3x4xf32>, tensor<2x3xf32>) -> tensor<4x3x4xf32>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{at least one operand is needed}}
  %y = ge.concat {axis = 0} : () -> tensor<4x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+1 {{pads must have 6 values, got [0, 1]}}
  %y = ge.pad %x {pads = [0, 1]} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+1 {{pads [0, 0, 0, 0, 0, -1] must not be negative}}
  %y = ge.pad %x {pads = [0, 0, 0, 0, 0, -1]} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+1 {{ends must have 1 values, got []}}
  %y = ge.slice %x {starts = [0], ends = [], axes = [0], steps = [1]} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+1 {{steps must not be 0}}
  %y = ge.slice %x {starts = [0], ends = [1], axes = [0], steps = [0]} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+1 {{give 1x3x4, result is declared 2x3x4}}
  %y = ge.slice %x {starts = [0], ends = [1], axes = [0], steps = [1]} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{x must be matrices, got 4}}
  %y = ge.trilu %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{f32 and i64 differ in width}}
  %y = ge.bitcast %x : (tensor<4xf32>) -> tensor<4xi64>
  return
}

// -----

func.func @f(%x: tensor<2x3x10xf32>) {
  // expected-error@+1 {{the columns of 2x3x10 do not fall into 4 heads}}
  %y = ge.split_heads %x {heads = 4} : (tensor<2x3x10xf32>) -> tensor<2x4x3x2xf32>
  return
}

// -----

func.func @f(%x: tensor<3x10xf32>) {
  // expected-error@+1 {{3x10 has no axis of heads}}
  %y = ge.merge_heads %x : (tensor<3x10xf32>) -> tensor<3x10xf32>
  return
}

// -----

func.func @f(%x: tensor<3x9xf32>) {
  // expected-error@+1 {{the columns of 3x9 do not fall into two halves}}
  %y = ge.rotary_mul %x, %x, %x : (tensor<3x9xf32>, tensor<3x9xf32>, tensor<3x9xf32>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x10xf32>, %c: tensor<2x3x10xf32>) {
  // expected-error@+1 {{2x3x10 does not broadcast onto 3x10}}
  %y = ge.rotary_mul %x, %c, %x : (tensor<3x10xf32>, tensor<2x3x10xf32>, tensor<3x10xf32>) -> tensor<3x10xf32>
  return
}

// -----

func.func @f(%x: tensor<1x10x4x4xf32>) {
  // expected-error@+1 {{1x10x4x4 has no channels for blocks of 2 x 2}}
  %y = ge.depth_to_space %x {blocks = [2, 2]} : (tensor<1x10x4x4xf32>) -> tensor<1x2x8x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x12x4x4xf32>) {
  // expected-error@+1 {{the mode DCR or CRD, found RCD}}
  %y = ge.depth_to_space %x {blocks = [2, 2], mode = "RCD"} : (tensor<1x12x4x4xf32>) -> tensor<1x3x8x8xf32>
  return
}
