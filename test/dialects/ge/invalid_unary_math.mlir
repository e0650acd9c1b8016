// RUN: ge-opt %s --split-input-file --verify-diagnostics
// Each case breaks one rule of an operator of this family.

func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{x must hold integers or booleans, got f32}}
  %y = ge.not %x : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{operands 2 give 2, result is declared 3}}
  %y = ge.sin %x : (tensor<2xf32>) -> tensor<3xf32>
  return
}
