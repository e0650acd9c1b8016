// RUN: ge-opt %s --split-input-file --verify-diagnostics
// Each case breaks one rule of an operator that chooses elements by value.

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{k = 5 of axis 1 of 3x4}}
  %y, %i = ge.top_k %x {k = 5} : (tensor<3x4xf32>) -> (tensor<3x5xf32>, tensor<3x5xi64>)
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{axis 2 is outside rank 2}}
  %y, %i = ge.top_k %x {k = 1, axis = 2} : (tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xi64>)
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{operands 3x4 give 2x?, result is declared 3x?}}
  %y = ge.non_zero %x : (tensor<3x4xf32>) -> tensor<3x?xi64>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{axis -3 is outside rank 2}}
  %y, %i, %v, %c = ge.unique %x {axis = -3} : (tensor<3x4xf32>) -> (tensor<?x4xf32>, tensor<?xi64>, tensor<3xi64>, tensor<?xi64>)
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %c: tensor<3xi64>) {
  // expected-error@+1 {{condition must be i1, got i64}}
  %y = ge.compress %x, %c : (tensor<3x4xf32>, tensor<3xi64>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %c: tensor<3x1xi1>) {
  // expected-error@+1 {{condition must have rank 1, got 3x1}}
  %y = ge.compress %x, %c : (tensor<3x4xf32>, tensor<3x1xi1>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%b: tensor<1x6x4xf32>, %s: tensor<1x2x5xf32>, %n: tensor<i64>, %t: tensor<f32>) {
  // expected-error@+1 {{boxes 1x6x4 and scores 1x2x5 do not belong together}}
  %y = ge.non_max_suppression %b, %s, %n, %t, %t : (tensor<1x6x4xf32>, tensor<1x2x5xf32>, tensor<i64>, tensor<f32>, tensor<f32>) -> tensor<?x3xi64>
  return
}

// -----

func.func @f(%b: tensor<1x6x4xf32>, %s: tensor<1x2x6xf32>, %n: tensor<i64>, %t: tensor<2xf32>) {
  // expected-error@+1 {{limit and thresholds must hold one element each}}
  %y = ge.non_max_suppression %b, %s, %n, %t, %t : (tensor<1x6x4xf32>, tensor<1x2x6xf32>, tensor<i64>, tensor<2xf32>, tensor<2xf32>) -> tensor<?x3xi64>
  return
}
