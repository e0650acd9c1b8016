// RUN: ge-opt %s --split-input-file -p simplify-quantized --no-locations | FileCheck %s

// Both quantisations are one, behind the ReLU; a pool of maxima and a reshape work on 8 bits.

// CHECK-LABEL: func.func @once
func.func @once(%x: tensor<1x2x4x4xf32>) -> tensor<2x4xi8> {
  // CHECK: %[[R:.*]] = ge.relu %x
  // CHECK: %[[Q:.*]] = ge.quantize %[[R]], %{{.*}}
  // CHECK: %[[P:.*]] = ge.max_pool %[[Q]] {{.*}} -> tensor<1x2x2x2xi8>
  // CHECK: ge.reshape %[[P]] {{.*}} -> tensor<2x4xi8>
  // CHECK-NOT: ge.dequantize
  %s = ge.constant dense<0.5> : tensor<f32>
  %z = ge.constant dense<3> : tensor<i8>
  %q = ge.quantize %x, %s, %z : (tensor<1x2x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x4x4xi8>
  %d = ge.dequantize %q, %s, %z : (tensor<1x2x4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2x4x4xf32>
  %r = ge.relu %d : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %q1 = ge.quantize %r, %s, %z : (tensor<1x2x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x4x4xi8>
  %d1 = ge.dequantize %q1, %s, %z : (tensor<1x2x4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2x4x4xf32>
  %p = ge.max_pool %d1 {kernel = [2, 2], strides = [2, 2]} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  %q2 = ge.quantize %p, %s, %z : (tensor<1x2x2x2xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x2x2xi8>
  %d2 = ge.dequantize %q2, %s, %z : (tensor<1x2x2x2xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2x2x2xf32>
  %h = ge.reshape %d2 {shape = [2, 4]} : (tensor<1x2x2x2xf32>) -> tensor<2x4xf32>
  %q3 = ge.quantize %h, %s, %z : (tensor<2x4xf32>, tensor<f32>, tensor<i8>) -> tensor<2x4xi8>
  return %q3 : tensor<2x4xi8>
}

// -----

// QLinear sums in the form of QDQ models; means without blocks of channels.

// CHECK-LABEL: func.func @sums_and_means
func.func @sums_and_means(%a: tensor<1x2x4x4xui8>, %b: tensor<1x2x4x4xui8>) -> tensor<1x2x1x1xui8> {
  // CHECK-DAG: %[[A:.*]] = ge.dequantize %a
  // CHECK-DAG: %[[B:.*]] = ge.dequantize %b
  // CHECK: %[[T:.*]] = ge.add %[[A]], %[[B]]
  // CHECK: %[[Q:.*]] = ge.quantize %[[T]]
  // CHECK: %[[D:.*]] = ge.dequantize %[[Q]]
  // CHECK: %[[M:.*]] = ge.reduce_mean %[[D]] {axes = [2, 3]
  // CHECK: ge.quantize %[[M]]
  %s = ge.constant dense<0.5> : tensor<f32>
  %z = ge.constant dense<3> : tensor<ui8>
  %q = ge.quantized_add %a, %s, %z, %b, %s, %z, %s, %z : (tensor<1x2x4x4xui8>, tensor<f32>, tensor<ui8>, tensor<1x2x4x4xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<1x2x4x4xui8>
  %d = ge.dequantize %q, %s, %z : (tensor<1x2x4x4xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x2x4x4xf32>
  %g = ge.global_avg_pool %d : (tensor<1x2x4x4xf32>) -> tensor<1x2x1x1xf32>
  %y = ge.quantize %g, %s, %z : (tensor<1x2x1x1xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x2x1x1xui8>
  return %y : tensor<1x2x1x1xui8>
}

// -----

// Two quantisations that differ, and one that something else reads.

// CHECK-LABEL: func.func @not_these
func.func @not_these(%x: tensor<1x2x4x4xi8>) -> (tensor<1x2x2x2xi8>, tensor<1x2x2x2xf32>) {
  // CHECK: ge.max_pool {{.*}} -> tensor<1x2x2x2xf32>
  // CHECK: ge.max_pool {{.*}} -> tensor<1x2x2x2xf32>
  %s = ge.constant dense<0.5> : tensor<f32>
  %t = ge.constant dense<0.75> : tensor<f32>
  %z = ge.constant dense<3> : tensor<i8>
  %f = ge.dequantize %x, %s, %z : (tensor<1x2x4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2x4x4xf32>
  %p = ge.max_pool %f {kernel = [2, 2], strides = [2, 2]} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  %m = ge.quantize %p, %t, %z : (tensor<1x2x2x2xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x2x2xi8>
  %o = ge.max_pool %f {kernel = [3, 3], strides = [1, 1]} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  return %m, %o : tensor<1x2x2x2xi8>, tensor<1x2x2x2xf32>
}

// -----

// 6 is 12 steps, and 120 of the second one: more than 8 bits hold behind their zero point 30.

// CHECK-LABEL: func.func @clips
func.func @clips(%x: tensor<4xf32>) -> (tensor<4xi8>, tensor<4xi8>, tensor<4xui8>, tensor<4xi8>) {
  // CHECK: %[[C:.*]] = ge.clip %x
  // CHECK: ge.quantize %[[C]]
  // CHECK: %[[R:.*]] = ge.relu %x
  // CHECK: ge.quantize %[[R]]
  // CHECK: ge.quantize %x, {{.*}} -> tensor<4xui8>
  // CHECK: %[[D:.*]] = ge.clip %x {min = -1.000000e+00
  // CHECK: ge.quantize %[[D]]
  %s = ge.constant dense<0.5> : tensor<f32>
  %t = ge.constant dense<0.05> : tensor<f32>
  %u = ge.constant dense<0.02> : tensor<f32>
  %z = ge.constant dense<30> : tensor<i8>
  %z8 = ge.constant dense<0> : tensor<ui8>
  %a = ge.clip %x {min = 0.0, max = 6.0} : (tensor<4xf32>) -> tensor<4xf32>
  %qa = ge.quantize %a, %s, %z : (tensor<4xf32>, tensor<f32>, tensor<i8>) -> tensor<4xi8>
  %b = ge.clip %x {min = 0.0, max = 6.0} : (tensor<4xf32>) -> tensor<4xf32>
  %qb = ge.quantize %b, %t, %z : (tensor<4xf32>, tensor<f32>, tensor<i8>) -> tensor<4xi8>
  %c = ge.clip %x {min = 0.0, max = 6.0} : (tensor<4xf32>) -> tensor<4xf32>
  %qc = ge.quantize %c, %u, %z8 : (tensor<4xf32>, tensor<f32>, tensor<ui8>) -> tensor<4xui8>
  %d = ge.clip %x {min = -1.0, max = 6.0} : (tensor<4xf32>) -> tensor<4xf32>
  %qd = ge.quantize %d, %t, %z : (tensor<4xf32>, tensor<f32>, tensor<i8>) -> tensor<4xi8>
  return %qa, %qb, %qc, %qd : tensor<4xi8>, tensor<4xi8>, tensor<4xui8>, tensor<4xi8>
}
