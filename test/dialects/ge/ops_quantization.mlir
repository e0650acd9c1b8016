// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// Quantised numbers: scales and zero points are operands.

// CHECK-LABEL: func.func @to_and_from_bytes
func.func @to_and_from_bytes(%x: tensor<2x6xf32>, %s: tensor<2x3xf32>, %z: tensor<2x3xui8>, %t: tensor<f16>, %u: tensor<ui8>) {
  // CHECK: %q = ge.quantize %x, %s, %z {axis = -1, block = 2} : (tensor<2x6xf32>, tensor<2x3xf32>, tensor<2x3xui8>) -> tensor<2x6xui8>
  %q = ge.quantize %x, %s, %z {axis = -1, block = 2} : (tensor<2x6xf32>, tensor<2x3xf32>, tensor<2x3xui8>) -> tensor<2x6xui8>
  // CHECK: %y = ge.dequantize %q, %t, %u : (tensor<2x6xui8>, tensor<f16>, tensor<ui8>) -> tensor<2x6xf16>
  %y = ge.dequantize %q, %t, %u : (tensor<2x6xui8>, tensor<f16>, tensor<ui8>) -> tensor<2x6xf16>
  // CHECK: %d, %scale, %zero = ge.dynamic_quantize %x : (tensor<2x6xf32>) -> (tensor<2x6xui8>, tensor<f32>, tensor<ui8>)
  %d, %scale, %zero = ge.dynamic_quantize %x : (tensor<2x6xf32>) -> (tensor<2x6xui8>, tensor<f32>, tensor<ui8>)
  return
}

// CHECK-LABEL: func.func @small_floats
func.func @small_floats(%x: tensor<6xf16>, %s: tensor<f16>, %z: tensor<f8E4M3FN>) {
  // CHECK: %q = ge.quantize %x, %s, %z {saturate = false} : (tensor<6xf16>, tensor<f16>, tensor<f8E4M3FN>) -> tensor<6xf8E4M3FN>
  %q = ge.quantize %x, %s, %z {saturate = false} : (tensor<6xf16>, tensor<f16>, tensor<f8E4M3FN>) -> tensor<6xf8E4M3FN>
  return
}

// CHECK-LABEL: func.func @products
func.func @products(%x: tensor<1x4x9x11xui8>, %w: tensor<8x2x3x3xi8>, %xz: tensor<ui8>, %wz: tensor<8x1x1x1xi8>, %f: tensor<8x1x1xf32>) {
  // CHECK: %s = ge.conv2d_integer %x, %w, %xz, %wz {pads = [1, 1, 1, 1], group = 2} : (tensor<1x4x9x11xui8>, tensor<8x2x3x3xi8>, tensor<ui8>, tensor<8x1x1x1xi8>) -> tensor<1x8x9x11xi32>
  %s = ge.conv2d_integer %x, %w, %xz, %wz {pads = [1, 1, 1, 1], group = 2} : (tensor<1x4x9x11xui8>, tensor<8x2x3x3xi8>, tensor<ui8>, tensor<8x1x1x1xi8>) -> tensor<1x8x9x11xi32>
  // CHECK: %q = ge.requantize %s, %f, %xz : (tensor<1x8x9x11xi32>, tensor<8x1x1xf32>, tensor<ui8>) -> tensor<1x8x9x11xui8>
  %q = ge.requantize %s, %f, %xz : (tensor<1x8x9x11xi32>, tensor<8x1x1xf32>, tensor<ui8>) -> tensor<1x8x9x11xui8>
  return
}

// CHECK-LABEL: func.func @matrices
func.func @matrices(%a: tensor<?x5x7xui8>, %b: tensor<7x6xi8>, %az: tensor<ui8>, %bz: tensor<6xi8>) {
  // CHECK: %y = ge.matmul_integer %a, %b, %az, %bz : (tensor<?x5x7xui8>, tensor<7x6xi8>, tensor<ui8>, tensor<6xi8>) -> tensor<?x5x6xi32>
  %y = ge.matmul_integer %a, %b, %az, %bz : (tensor<?x5x7xui8>, tensor<7x6xi8>, tensor<ui8>, tensor<6xi8>) -> tensor<?x5x6xi32>
  return
}

// CHECK-LABEL: func.func @sum
func.func @sum(%a: tensor<2x6xi8>, %s: tensor<f32>, %z: tensor<i8>, %b: tensor<6xi8>) {
  // CHECK: %y = ge.quantized_add %a, %s, %z, %b, %s, %z, %s, %z : (tensor<2x6xi8>, tensor<f32>, tensor<i8>, tensor<6xi8>, tensor<f32>, tensor<i8>, tensor<f32>, tensor<i8>) -> tensor<2x6xi8>
  %y = ge.quantized_add %a, %s, %z, %b, %s, %z, %s, %z : (tensor<2x6xi8>, tensor<f32>, tensor<i8>, tensor<6xi8>, tensor<f32>, tensor<i8>, tensor<f32>, tensor<i8>) -> tensor<2x6xi8>
  return
}

// CHECK-LABEL: func.func @to_floats
func.func @to_floats(%x: tensor<4x8xi32>, %s: tensor<f32>, %v: tensor<8xf32>, %q: tensor<8xi8>, %z: tensor<i8>) {
  // CHECK: %y = ge.dequantize_sums %x, %s, %v : (tensor<4x8xi32>, tensor<f32>, tensor<8xf32>) -> tensor<4x8xf16>
  %y = ge.dequantize_sums %x, %s, %v : (tensor<4x8xi32>, tensor<f32>, tensor<8xf32>) -> tensor<4x8xf16>
  // CHECK: %d = ge.dequantize %q, %s, %z : (tensor<8xi8>, tensor<f32>, tensor<i8>) -> tensor<8xf16>
  %d = ge.dequantize %q, %s, %z : (tensor<8xi8>, tensor<f32>, tensor<i8>) -> tensor<8xf16>
  return
}
