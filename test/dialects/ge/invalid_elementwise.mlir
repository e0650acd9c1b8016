// RUN: ge-opt %s --split-input-file --verify-diagnostics
// Each case breaks one rule of an elementwise operator.

func.func @f(%x: tensor<1x4x9x11xf32>) {
  // expected-error@+1 {{operands 1x4x9x11 give 1x4x9x11, result is declared 1x4x11x9}}
  %y = ge.relu %x : (tensor<1x4x9x11xf32>) -> tensor<1x4x11x9xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9x11xf32>) {
  // expected-error@+1 {{result element type must be f32, got f16}}
  %y = ge.exp %x : (tensor<1x4x9x11xf32>) -> tensor<1x4x9x11xf16>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>) {
  // expected-error@+1 {{operands 2x3, 2x4 do not broadcast}}
  %y = ge.add %a, %b : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xi32>) {
  // expected-error@+1 {{operands must have one element type, got f32 and i32}}
  %y = ge.mul %a, %b : (tensor<2x3xf32>, tensor<2x3xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x1xf32>, %b: tensor<1x3xf32>) {
  // expected-error@+1 {{operands 2x1, 1x3 give 2x3, result is declared 2x1}}
  %y = ge.sub %a, %b : (tensor<2x1xf32>, tensor<1x3xf32>) -> tensor<2x1xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{operands 2x3 give 2x3, result is declared 3x2}}
  %y = ge.cast %a : (tensor<2x3xf32>) -> tensor<3x2xf16>
  return
}

// -----

func.func @f(%a: f32) {
  // expected-error@+1 {{f32 should be of base attribute tensor}}
  %y = ge.relu %a : (f32) -> f32
  return
}
