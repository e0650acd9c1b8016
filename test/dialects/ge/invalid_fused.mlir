// RUN: ge-opt %s --split-input-file --verify-diagnostics
// Each case breaks one rule of ge.fused and ge.yield.

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{no ge.conv2d in the region}}
  %y = ge.fused ins(%x : tensor<4xf32>) {anchor = "ge.conv2d"} {
  ^bb0(%a: tensor<4xf32>):
    %b = ge.relu %a : (tensor<4xf32>) -> tensor<4xf32>
    ge.yield %b : tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{the region must end in ge.yield}}
  %y = ge.fused ins(%x : tensor<4xf32>) {anchor = "ge.relu"} {
  ^bb0(%a: tensor<4xf32>):
    %b = ge.relu %a : (tensor<4xf32>) -> tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{operand 0 is tensor<4xf32> outside and tensor<5xf32> inside the region}}
  %y = ge.fused ins(%x : tensor<4xf32>) {anchor = "ge.relu"} {
  ^bb0(%a: tensor<5xf32>):
    %b = ge.relu %a : (tensor<5xf32>) -> tensor<5xf32>
    ge.yield %b : tensor<5xf32>
  } -> tensor<5xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{result 0 is tensor<5xf32> outside and tensor<4xf32> inside the region}}
  %y = ge.fused ins(%x : tensor<4xf32>) {anchor = "ge.relu"} {
  ^bb0(%a: tensor<4xf32>):
    %b = ge.relu %a : (tensor<4xf32>) -> tensor<4xf32>
    ge.yield %b : tensor<4xf32>
  } -> tensor<5xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{1 operands, but the region has 2}}
  %y = ge.fused ins(%x : tensor<4xf32>) {anchor = "ge.relu"} {
  ^bb0(%a: tensor<4xf32>, %c: tensor<4xf32>):
    %b = ge.relu %a : (tensor<4xf32>) -> tensor<4xf32>
    ge.yield %b : tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{'ge.yield' expects parent op to be one of 'ge.fused', 'ge.if', 'ge.loop', 'ge.scan'}}
  ge.yield %x : tensor<4xf32>
}
