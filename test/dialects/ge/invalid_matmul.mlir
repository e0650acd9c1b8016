// RUN: ge-opt %s --split-input-file --verify-diagnostics
// Each case breaks one rule of ge.matmul.

func.func @f(%a: tensor<3x4xf32>, %b: tensor<5x6xf32>) {
  // expected-error@+1 {{inner extents 4 and 5 differ (operands 3x4, 5x6)}}
  %y = ge.matmul %a, %b : (tensor<3x4xf32>, tensor<5x6xf32>) -> tensor<3x6xf32>
  return
}

// -----

func.func @f(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{inner extents 3 and 4 differ}}
  %y = ge.matmul %a, %b {transpose_a = true} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{operands must have rank 2 or more, got 4, 4x5}}
  %y = ge.matmul %a, %b : (tensor<4xf32>, tensor<4x5xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3x4x5xf32>) {
  // expected-error@+1 {{batch axes do not broadcast}}
  %y = ge.matmul %a, %b : (tensor<2x3x4xf32>, tensor<3x4x5xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @f(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>, %c: tensor<3xf32>) {
  // expected-error@+1 {{bias does not broadcast onto the result}}
  %y = ge.matmul %a, %b, %c : (tensor<3x4xf32>, tensor<4x5xf32>, tensor<3xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @f(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>, %c: tensor<2x3x5xf32>) {
  // expected-error@+1 {{bias does not broadcast onto the result}}
  %y = ge.matmul %a, %b, %c : (tensor<3x4xf32>, tensor<4x5xf32>, tensor<2x3x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @f(%a: tensor<3x4xf32>, %b: tensor<4x5xf16>) {
  // expected-error@+1 {{operands must have one element type, got f32 and f16}}
  %y = ge.matmul %a, %b : (tensor<3x4xf32>, tensor<4x5xf16>) -> tensor<3x5xf32>
  return
}

// -----

func.func @f(%a: tensor<3x4xf32>) {
  // expected-error@+1 {{Expected 2 or 3 operands, but got 1}}
  %y = ge.matmul %a : (tensor<3x4xf32>) -> tensor<3x5xf32>
  return
}
