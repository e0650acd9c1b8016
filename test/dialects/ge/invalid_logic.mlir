// RUN: ge-opt %s --split-input-file --verify-diagnostics
// Each case breaks one rule of an operator of this family.

func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{predicate must be one of eq, ne, lt, le, gt, ge, got "almost"}}
  %y = ge.compare %x, %x {predicate = "almost"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{result element type must be i1, got f32}}
  %y = ge.compare %x, %x {predicate = "lt"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{condition must hold booleans (i1), got f32}}
  %y = ge.select %x, %x, %x : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%c: tensor<2xi1>, %x: tensor<2xf32>, %y: tensor<2xf16>) {
  // expected-error@+1 {{x and y must have one element type, got f32 and f16}}
  %z = ge.select %c, %x, %y : (tensor<2xi1>, tensor<2xf32>, tensor<2xf16>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%c: tensor<3xi1>, %x: tensor<2xf32>) {
  // expected-error@+1 {{operands 3, 2, 2 do not broadcast}}
  %z = ge.select %c, %x, %x : (tensor<3xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{operands must hold integers or booleans, got f32}}
  %y = ge.xor %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xi8>) {
  // expected-error@+1 {{direction must be "left" or "right", got "up"}}
  %y = ge.shift %x, %x {direction = "up"} : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
  return
}
