// RUN: ge-opt %s --split-input-file --verify-diagnostics
// Each case breaks one rule of an operator that reads its shape at run time.

func.func @f(%x: tensor<3x4xf32>, %s: tensor<?xi64>) {
  // expected-error@+1 {{shape must be an integer vector of known length, got tensor<?xi64>}}
  %y = ge.reshape_to %x, %s : (tensor<3x4xf32>, tensor<?xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %s: tensor<3xf32>) {
  // expected-error@+1 {{shape must be an integer vector of known length, got tensor<3xf32>}}
  %y = ge.expand_to %x, %s : (tensor<3x4xf32>, tensor<3xf32>) -> tensor<?x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %s: tensor<3xi64>) {
  // expected-error@+1 {{repeats must be one an axis of 3x4}}
  %y = ge.tile_by %x, %s : (tensor<3x4xf32>, tensor<3xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %s: tensor<2xi64>) {
  // expected-error@+1 {{bounds must be one an axis of [0], got 3x4, 2, 2}}
  %y = ge.slice_at %x, %s, %s {axes = [0]} : (tensor<3x4xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %s: tensor<2xi64>) {
  // expected-error@+1 {{pads must be two an axis of [0, 1], got 3x4, 2}}
  %y = ge.pad_by %x, %s {axes = [0, 1]} : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %s: tensor<2xi64>) {
  // expected-error@+1 {{mode must be one of constant, edge, reflect, wrap, got mirror}}
  %y = ge.pad_by %x, %s {axes = [0], mode = "mirror"} : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%a: tensor<i64>, %b: tensor<i32>) {
  // expected-error@+1 {{operands must have one element type, got i64 and i32}}
  %y = ge.range %a, %a, %b : (tensor<i64>, tensor<i64>, tensor<i32>) -> tensor<?xi64>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %s: tensor<2xi64>) {
  // expected-error@+1 {{operands 3x4, 2 give ?x?, result is declared ?}}
  %y = ge.reshape_to %x, %s : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<?xf32>
  return
}
