// RUN: ge-opt %s --split-input-file --verify-diagnostics
// Each case breaks one rule of an operator that reads index tensors.

func.func @f(%x: tensor<3x4xf32>, %i: tensor<2xf32>) {
  // expected-error@+1 {{indices must be i32 or i64, got f32}}
  %y = ge.gather %x, %i : (tensor<3x4xf32>, tensor<2xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %i: tensor<2xi64>) {
  // expected-error@+1 {{axis 2 is outside rank 2}}
  %y = ge.gather %x, %i {axis = 2} : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %i: tensor<2xi64>) {
  // expected-error@+1 {{operands 3x4, 2 differ in rank}}
  %y = ge.gather_elements %x, %i : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %i: tensor<2x5xi64>) {
  // expected-error@+1 {{indices reach out of x outside axis 0: 3x4, 2x5}}
  %y = ge.gather_elements %x, %i : (tensor<3x4xf32>, tensor<2x5xi64>) -> tensor<2x5xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %i: tensor<2x3xi64>) {
  // expected-error@+1 {{coordinates of 2x3 do not fit x, 3x4}}
  %y = ge.gather_nd %x, %i : (tensor<3x4xf32>, tensor<2x3xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %i: tensor<2x1xi64>) {
  // expected-error@+1 {{the first 1 axes of 3x4, 2x1 cannot run together}}
  %y = ge.gather_nd %x, %i {batch_dims = 1} : (tensor<3x4xf32>, tensor<2x1xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %i: tensor<1x4xi64>, %u: tensor<1x4xf16>) {
  // expected-error@+1 {{x is f32, updates are f16}}
  %y = ge.scatter_elements %x, %i, %u : (tensor<3x4xf32>, tensor<1x4xi64>, tensor<1x4xf16>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %i: tensor<1x4xi64>, %u: tensor<1x3xf32>) {
  // expected-error@+1 {{indices and updates must have one shape of x's rank: 3x4, 1x4, 1x3}}
  %y = ge.scatter_elements %x, %i, %u : (tensor<3x4xf32>, tensor<1x4xi64>, tensor<1x3xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %i: tensor<1x1xi64>, %u: tensor<1x4xf32>) {
  // expected-error@+1 {{reduction must be one of none, add, mul, max, min, got mean}}
  %y = ge.scatter_nd %x, %i, %u {reduction = "mean"} : (tensor<3x4xf32>, tensor<1x1xi64>, tensor<1x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %i: tensor<1x1xi64>, %u: tensor<1x3xf32>) {
  // expected-error@+1 {{updates do not fit x and indices: 3x4, 1x1, 1x3}}
  %y = ge.scatter_nd %x, %i, %u : (tensor<3x4xf32>, tensor<1x1xi64>, tensor<1x3xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %u: tensor<3x5xf32>) {
  // expected-error@+1 {{updates must fit x along axis 1: 3x4, 3x5}}
  %y = ge.tensor_scatter %x, %u {axis = 1} : (tensor<3x4xf32>, tensor<3x5xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %u: tensor<3x2xf32>) {
  // expected-error@+1 {{axis 0 is the batch}}
  %y = ge.tensor_scatter %x, %u : (tensor<3x4xf32>, tensor<3x2xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%i: tensor<3xi64>, %v: tensor<3xf32>) {
  // expected-error@+1 {{values must be [off, on], got 3}}
  %y = ge.one_hot %i, %v {depth = 4} : (tensor<3xi64>, tensor<3xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %n: tensor<3xi64>) {
  // expected-error@+1 {{lengths must name one length an entry of axis 1: 3x4, 3}}
  %y = ge.reverse_sequence %x, %n : (tensor<3x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  return
}
