// RUN: ge-opt %s --split-input-file --verify-diagnostics
// Each case breaks one rule of reductions.

func.func @f(%x: tensor<1x4x9x11xf32>) {
  // expected-error@+1 {{axis 4 is outside rank 4}}
  %y = ge.reduce_mean %x {axes = [4]} : (tensor<1x4x9x11xf32>) -> tensor<1x4x9x11xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9x11xf32>) {
  // expected-error@+1 {{axes [3, -1] name one axis twice}}
  %y = ge.reduce_sum %x {axes = [3, -1]} : (tensor<1x4x9x11xf32>) -> tensor<1x4x9x11xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9x11xf32>) {
  // expected-error@+1 {{give 1x1x9x11, result is declared 1x9x11}}
  %y = ge.reduce_max %x {axes = [1]} : (tensor<1x4x9x11xf32>) -> tensor<1x9x11xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9x11xf32>) {
  // expected-error@+1 {{property 'axes' expected}}
  %y = ge.reduce_min %x : (tensor<1x4x9x11xf32>) -> tensor<1x4x9x11xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{axis 2 is outside rank 2 of 2x3}}
  %y = ge.arg_max %x {axis = 2} : (tensor<2x3xf32>) -> tensor<2x1xi64>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{result element type must be i64, got i32}}
  %y = ge.arg_min %x : (tensor<2x3xf32>) -> tensor<1x3xi32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{axis -3 is outside rank 2 of 2x3}}
  %y = ge.cum_sum %x {axis = -3} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
