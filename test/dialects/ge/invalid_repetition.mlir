// RUN: ge-opt %s --split-input-file --verify-diagnostics
// Each case breaks one rule of an operator of this family.

func.func @f(%x: tensor<3x2xf32>) {
  // expected-error@+1 {{3x2 does not broadcast with shape [4, 2]}}
  %y = ge.expand %x {shape = [4, 2]} : (tensor<3x2xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @f(%x: tensor<3x2xf32>) {
  // expected-error@+1 {{repeats must have 2 values, got [2]}}
  %y = ge.tile %x {repeats = [2]} : (tensor<3x2xf32>) -> tensor<6x2xf32>
  return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error@+1 {{repeats [-1] must not be negative}}
  %y = ge.tile %x {repeats = [-1]} : (tensor<3xf32>) -> tensor<3xf32>
  return
}
