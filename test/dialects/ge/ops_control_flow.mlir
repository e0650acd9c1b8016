// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s
// Operators with bodies, which see nothing but their arguments.

// CHECK-LABEL: func.func @branches
func.func @branches(%c: tensor<i1>, %x: tensor<4xf32>) {
  // CHECK: %y = ge.if ins(%c, %x : tensor<i1>, tensor<4xf32>) then {
  // CHECK-NEXT: ^bb0(%a: tensor<4xf32>):
  // CHECK-NEXT: %t = ge.relu %a : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: ge.yield %t : tensor<4xf32>
  // CHECK-NEXT: } else {
  // CHECK-NEXT: ^bb0(%b: tensor<4xf32>):
  // CHECK-NEXT: ge.yield %b : tensor<4xf32>
  // CHECK-NEXT: } -> tensor<4xf32>
  %y = ge.if ins(%c, %x : tensor<i1>, tensor<4xf32>) then {
  ^bb0(%a: tensor<4xf32>):
    %t = ge.relu %a : (tensor<4xf32>) -> tensor<4xf32>
    ge.yield %t : tensor<4xf32>
  } else {
  ^bb0(%b: tensor<4xf32>):
    ge.yield %b : tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// An extent that differs between the branches is unknown behind them.
// CHECK-LABEL: func.func @sizes
func.func @sizes(%c: tensor<i1>, %x: tensor<4xf32>) {
  // CHECK: ge.if
  // CHECK: } -> tensor<?xf32>
  %y = ge.if ins(%c, %x : tensor<i1>, tensor<4xf32>) then {
  ^bb0(%a: tensor<4xf32>):
    %t = ge.concat %a, %a {axis = 0} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
    ge.yield %t : tensor<8xf32>
  } else {
  ^bb0(%b: tensor<4xf32>):
    ge.yield %b : tensor<4xf32>
  } -> tensor<?xf32>
  return
}

// CHECK-LABEL: func.func @iterations
func.func @iterations(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<4xf32>, %w: tensor<4xf32>) {
  // CHECK: %s, %all = ge.loop ins(%n, %c, %x, %w : tensor<i64>, tensor<i1>, tensor<4xf32>, tensor<4xf32>) {carried = 1, trips = 3} do {
  // CHECK-NEXT: ^bb0(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<4xf32>, %b: tensor<4xf32>):
  // CHECK: ge.yield %go, %t, %t : tensor<i1>, tensor<4xf32>, tensor<4xf32>
  // CHECK-NEXT: } -> (tensor<4xf32>, tensor<3x4xf32>)
  %s, %all = ge.loop ins(%n, %c, %x, %w : tensor<i64>, tensor<i1>, tensor<4xf32>, tensor<4xf32>) {carried = 1, trips = 3} do {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<4xf32>, %b: tensor<4xf32>):
    %t = ge.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ge.yield %go, %t, %t : tensor<i1>, tensor<4xf32>, tensor<4xf32>
  } -> (tensor<4xf32>, tensor<3x4xf32>)
  return
}

// CHECK-LABEL: func.func @slices
func.func @slices(%s: tensor<2xf32>, %x: tensor<2x5xf32>) {
  // CHECK: ge.scan ins(%s, %x : tensor<2xf32>, tensor<2x5xf32>)
  // CHECK-SAME: {states = 1, scanned = 1, input_axes = [1], input_reverse = [1], output_axes = [-1], output_reverse = [0]} do {
  // CHECK: } -> (tensor<2xf32>, tensor<2x5xf32>)
  %last, %sums = ge.scan ins(%s, %x : tensor<2xf32>, tensor<2x5xf32>) {states = 1, scanned = 1, input_axes = [1], input_reverse = [1], output_axes = [-1], output_reverse = [0]} do {
  ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
    %t = ge.add %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    ge.yield %t, %t : tensor<2xf32>, tensor<2xf32>
  } -> (tensor<2xf32>, tensor<2x5xf32>)
  return
}
