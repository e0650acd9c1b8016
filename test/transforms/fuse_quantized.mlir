// RUN: ge-opt %s --split-input-file -p simplify-quantized,fuse-quantized,ge-canonicalize --no-locations | FileCheck %s

// The bias is 10 and -6 steps of 0.5 * 0.25; the factor 0.5 * 0.25 / 0.125.

// CHECK-LABEL: func.func @convolution
func.func @convolution(%x: tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xi8> {
  // CHECK: ge.fused
  // CHECK-SAME: {anchor = "ge.conv2d_integer"}
  // CHECK: ge.conv2d_integer
  // CHECK-SAME: (tensor<1x2x4x4xi8>, tensor<2x2x1x1xi8>, tensor<i8>, tensor<i8>) -> tensor<1x2x4x4xi32>
  // CHECK-NEXT: ge.add
  // CHECK-NEXT: ge.requantize
  // CHECK-NEXT: ge.maximum
  // CHECK-NEXT: ge.yield
  %sx = ge.constant dense<0.5> : tensor<f32>
  %zx = ge.constant dense<3> : tensor<i8>
  %wq = ge.constant dense<[[[[1]], [[2]]], [[[3]], [[-4]]]]> : tensor<2x2x1x1xi8>
  %sw = ge.constant dense<0.25> : tensor<f32>
  %zw = ge.constant dense<0> : tensor<i8>
  %b = ge.constant dense<[1.25, -0.75]> : tensor<2xf32>
  %sy = ge.constant dense<0.125> : tensor<f32>
  %f = ge.dequantize %x, %sx, %zx : (tensor<1x2x4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2x4x4xf32>
  %w = ge.dequantize %wq, %sw, %zw : (tensor<2x2x1x1xi8>, tensor<f32>, tensor<i8>) -> tensor<2x2x1x1xf32>
  %c = ge.conv2d %f, %w, %b : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %q = ge.quantize %c, %sy, %zx : (tensor<1x2x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x4x4xi8>
  %d = ge.dequantize %q, %sy, %zx : (tensor<1x2x4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2x4x4xf32>
  %r = ge.relu %d : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %y = ge.quantize %r, %sy, %zx : (tensor<1x2x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x4x4xi8>
  return %y : tensor<1x2x4x4xi8>
}

// -----

// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<4x2xui8>) -> tensor<4x3xi8> {
  // CHECK: %[[IMAGES:.*]] = ge.reshape %x {shape = [4, 2, 1, 1]}
  // CHECK: ge.fused
  // CHECK-SAME: {anchor = "ge.conv2d_integer"}
  // CHECK: ge.conv2d_integer
  // CHECK-SAME: (tensor<4x2x1x1xui8>, tensor<3x2x1x1xi8>, tensor<ui8>, tensor<i8>) -> tensor<4x3x1x1xi32>
  // CHECK-NEXT: ge.requantize
  // CHECK: ge.reshape
  // CHECK-SAME: {shape = [4, 3]}
  %s = ge.constant dense<0.5> : tensor<f32>
  %zx = ge.constant dense<128> : tensor<ui8>
  %wq = ge.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8>
  %sw = ge.constant dense<[0.25, 0.5, 1.0]> : tensor<3xf32>
  %zw = ge.constant dense<0> : tensor<3xi8>
  %zy = ge.constant dense<0> : tensor<i8>
  %f = ge.dequantize %x, %s, %zx : (tensor<4x2xui8>, tensor<f32>, tensor<ui8>) -> tensor<4x2xf32>
  %w = ge.dequantize %wq, %sw, %zw {axis = 1} : (tensor<2x3xi8>, tensor<3xf32>, tensor<3xi8>) -> tensor<2x3xf32>
  %c = ge.matmul %f, %w : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %q = ge.quantize %c, %s, %zy : (tensor<4x3xf32>, tensor<f32>, tensor<i8>) -> tensor<4x3xi8>
  return %q : tensor<4x3xi8>
}

// -----

// CHECK-LABEL: func.func @between
func.func @between(%a: tensor<1x2x4x4xi8>, %b: tensor<1x2x4x4xi8>) -> (tensor<1x2x4x4xi8>, tensor<1x2x2x2xi8>) {
  // CHECK: ge.fused
  // CHECK-SAME: {anchor = "ge.quantize"}
  // CHECK: ge.dequantize
  // CHECK: ge.dequantize
  // CHECK-NEXT: ge.add
  // CHECK-NEXT: ge.quantize
  // CHECK: ge.max_pool %a {kernel = [2, 2], strides = [2, 2]} : (tensor<1x2x4x4xi8>) -> tensor<1x2x2x2xi8>
  %s = ge.constant dense<0.5> : tensor<f32>
  %t = ge.constant dense<0.75> : tensor<f32>
  %z = ge.constant dense<0> : tensor<i8>
  %fa = ge.dequantize %a, %s, %z : (tensor<1x2x4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2x4x4xf32>
  %fb = ge.dequantize %b, %t, %z : (tensor<1x2x4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2x4x4xf32>
  %sum = ge.add %fa, %fb : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %q = ge.quantize %sum, %t, %z : (tensor<1x2x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x4x4xi8>
  %p = ge.max_pool %fa {kernel = [2, 2], strides = [2, 2]} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  %m = ge.quantize %p, %s, %z : (tensor<1x2x2x2xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x2x2xi8>
  return %q, %m : tensor<1x2x4x4xi8>, tensor<1x2x2x2xi8>
}

// -----

// Weights that are no numbers of 8 bits around their zero point; a scale that is not known; two quantisations that differ.

// CHECK-LABEL: func.func @not_these
func.func @not_these(%x: tensor<1x2x4x4xi8>, %s: tensor<f32>) -> (tensor<1x1x4x4xi8>, tensor<1x2x2x2xi8>, tensor<1x2x4x4xi8>) {
  // CHECK-NOT: integer
  // CHECK-NOT: ge.max_pool {{.*}}xi8
  // CHECK-NOT: ge.fused
  %sx = ge.constant dense<0.5> : tensor<f32>
  %t = ge.constant dense<0.75> : tensor<f32>
  %zx = ge.constant dense<3> : tensor<i8>
  %wq = ge.constant dense<[[[[1]], [[255]]]]> : tensor<1x2x1x1xui8>
  %zw = ge.constant dense<100> : tensor<ui8>
  %f = ge.dequantize %x, %sx, %zx : (tensor<1x2x4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2x4x4xf32>
  %w = ge.dequantize %wq, %sx, %zw : (tensor<1x2x1x1xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x2x1x1xf32>
  %c = ge.conv2d %f, %w : (tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>) -> tensor<1x1x4x4xf32>
  %q = ge.quantize %c, %sx, %zx : (tensor<1x1x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x1x4x4xi8>
  %p = ge.max_pool %f {kernel = [2, 2], strides = [2, 2]} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  %m = ge.quantize %p, %t, %zx : (tensor<1x2x2x2xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x2x2xi8>
  %g = ge.dequantize %x, %s, %zx : (tensor<1x2x4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2x4x4xf32>
  %r = ge.relu %g : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %n = ge.quantize %r, %s, %zx : (tensor<1x2x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x4x4xi8>
  return %q, %m, %n : tensor<1x1x4x4xi8>, tensor<1x2x2x2xi8>, tensor<1x2x4x4xi8>
}

// -----

// A dequantised number that something in front of the addition reads too: it is made once for that, and once more inside.

// CHECK-LABEL: func.func @read_twice
func.func @read_twice(%a: tensor<1x2x4x4xi8>, %w: tensor<2x2x1x1xf32>) -> (tensor<1x2x4x4xi8>, tensor<1x2x4x4xf32>) {
  // CHECK: %[[F:.*]] = ge.dequantize %a
  // CHECK: %[[C:.*]] = ge.conv2d %[[F]], %w
  // CHECK: %[[Q:.*]] = ge.fused ins(%a,
  // CHECK: ge.dequantize
  // CHECK-NEXT: ge.add
  // CHECK-NEXT: ge.quantize
  // CHECK: return %[[Q]], %[[C]]
  %s = ge.constant dense<0.5> : tensor<f32>
  %z = ge.constant dense<0> : tensor<i8>
  %f = ge.dequantize %a, %s, %z : (tensor<1x2x4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2x4x4xf32>
  %c = ge.conv2d %f, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %sum = ge.add %f, %f : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %q = ge.quantize %sum, %s, %z : (tensor<1x2x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x4x4xi8>
  return %q, %c : tensor<1x2x4x4xi8>, tensor<1x2x4x4xf32>
}
