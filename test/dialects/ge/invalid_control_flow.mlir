// RUN: ge-opt %s --split-input-file --verify-diagnostics
// Each case breaks one rule of operators with bodies.

func.func @f(%c: tensor<i64>, %x: tensor<4xf32>) {
  // expected-error@+1 {{the condition must be i1, got i64}}
  %y = ge.if ins(%c, %x : tensor<i64>, tensor<4xf32>) then {
  ^bb0(%a: tensor<4xf32>):
    ge.yield %a : tensor<4xf32>
  } else {
  ^bb0(%b: tensor<4xf32>):
    ge.yield %b : tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// -----

func.func @f(%c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error@+1 {{value 0 is tensor<4xf32> in one body and tensor<4xf16> in the other}}
  %y = ge.if ins(%c, %x : tensor<i1>, tensor<4xf32>) then {
  ^bb0(%a: tensor<4xf32>):
    ge.yield %a : tensor<4xf32>
  } else {
  ^bb0(%b: tensor<4xf32>):
    %t = ge.cast %b : (tensor<4xf32>) -> tensor<4xf16>
    ge.yield %t : tensor<4xf16>
  } -> tensor<4xf32>
  return
}

// -----

func.func @f(%c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error@+1 {{the body takes 0 values, 1 are given}}
  %y = ge.if ins(%c, %x : tensor<i1>, tensor<4xf32>) then {
  ^bb0(%a: tensor<4xf32>):
    ge.yield %a : tensor<4xf32>
  } else {
    %t = ge.constant dense<0.0> : tensor<4xf32>
    ge.yield %t : tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// -----

func.func @f(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error@+1 {{carried value 0 is tensor<4xf32> before and tensor<8xf32> after an iteration}}
  %s = ge.loop ins(%n, %c, %x : tensor<i64>, tensor<i1>, tensor<4xf32>) {carried = 1} do {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<4xf32>):
    %t = ge.concat %a, %a {axis = 0} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
    ge.yield %go, %t : tensor<i1>, tensor<8xf32>
  } -> tensor<4xf32>
  return
}

// -----

func.func @f(%s: tensor<2xf32>, %x: tensor<2x5xf32>) {
  // expected-error@+1 {{argument 1 of the body is tensor<5xf32>, given is tensor<2xf32>}}
  %last = ge.scan ins(%s, %x : tensor<2xf32>, tensor<2x5xf32>) {states = 1, scanned = 1, input_axes = [1], input_reverse = [0], output_axes = [], output_reverse = []} do {
  ^bb0(%a: tensor<2xf32>, %b: tensor<5xf32>):
    ge.yield %a : tensor<2xf32>
  } -> tensor<2xf32>
  return
}
