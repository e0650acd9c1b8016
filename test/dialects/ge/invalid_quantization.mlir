// RUN: ge-opt %s --split-input-file --verify-diagnostics
// Each case breaks one rule of quantised numbers.

func.func @f(%x: tensor<2x6xf32>, %s: tensor<5xf32>, %z: tensor<5xui8>) {
  // expected-error@+1 {{scale must have one entry for axis 1}}
  %y = ge.quantize %x, %s, %z : (tensor<2x6xf32>, tensor<5xf32>, tensor<5xui8>) -> tensor<2x6xui8>
  return
}

// -----

func.func @f(%x: tensor<2x6xf32>, %s: tensor<6xf32>, %z: tensor<ui8>) {
  // expected-error@+1 {{scale and zero_point differ in shape}}
  %y = ge.quantize %x, %s, %z : (tensor<2x6xf32>, tensor<6xf32>, tensor<ui8>) -> tensor<2x6xui8>
  return
}

// -----

func.func @f(%x: tensor<2x6xi8>, %s: tensor<f32>, %z: tensor<ui8>) {
  // expected-error@+1 {{x and zero_point one type of quantised numbers}}
  %y = ge.dequantize %x, %s, %z : (tensor<2x6xi8>, tensor<f32>, tensor<ui8>) -> tensor<2x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x6xi32>, %s: tensor<4xf32>, %z: tensor<ui8>) {
  // expected-error@+1 {{do not broadcast onto x}}
  %y = ge.requantize %x, %s, %z : (tensor<2x6xi32>, tensor<4xf32>, tensor<ui8>) -> tensor<2x6xui8>
  return
}

// -----

func.func @f(%a: tensor<2x6xi16>, %b: tensor<6x3xi8>, %z: tensor<i16>, %y: tensor<i8>) {
  // expected-error@+1 {{must be i8 or ui8}}
  %p = ge.matmul_integer %a, %b, %z, %y : (tensor<2x6xi16>, tensor<6x3xi8>, tensor<i16>, tensor<i8>) -> tensor<2x3xi32>
  return
}
