// RUN: ge-opt %s --split-input-file --verify-diagnostics
// Each case breaks one rule of an operator of this family.

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{x must hold square matrices, got 2x3}}
  %y = ge.det %x : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<3x4xf32>, %b: tensor<5x2xf32>) {
  // expected-error@+1 {{"j" is 4 and 5 in 3x4, 5x2}}
  %y = ge.einsum %a, %b {equation = "ij,jk->ik"} : (tensor<3x4xf32>, tensor<5x2xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @f(%a: tensor<3x4xf32>) {
  // expected-error@+1 {{"ij,jk->ik" does not name 1 operands and a result}}
  %y = ge.einsum %a {equation = "ij,jk->ik"} : (tensor<3x4xf32>) -> tensor<3x2xf32>
  return
}
