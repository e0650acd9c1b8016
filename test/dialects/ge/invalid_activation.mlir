// RUN: ge-opt %s --split-input-file --verify-diagnostics
// Each case breaks one rule of an operator of this family.

func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{approximate must be "none" or "tanh", got "fast"}}
  %y = ge.gelu %x {approximate = "fast"} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>, %s: tensor<2x2xf32>) {
  // expected-error@+1 {{slope does not broadcast onto x (2, 2x2)}}
  %y = ge.prelu %x, %s : (tensor<2xf32>, tensor<2x2xf32>) -> tensor<2xf32>
  return
}
