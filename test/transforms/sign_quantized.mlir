// RUN: ge-opt %s --split-input-file -p 'sign-quantized{soc=Ascend910B3}' --no-locations | FileCheck %s

// Numbers and their zero points go down by 128 together, through moves and lower bounds, with all that reads them.

// CHECK-LABEL: func.func @moved
func.func @moved(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32> {
  // CHECK: %[[Z:.*]] = ge.constant dense<5> : tensor<i8>
  // CHECK: %[[Q:.*]] = ge.quantize %x, %{{.*}}, %[[Z]] : {{.*}} -> tensor<1x2x4x4xi8>
  // CHECK: ge.conv2d_integer %[[Q]], %w, %[[Z]], %none : (tensor<1x2x4x4xi8>, tensor<2x2x1x1xi8>, tensor<i8>, tensor<i8>)
  // CHECK: %[[Y:.*]] = ge.constant dense<-128> : tensor<i8>
  // CHECK: %[[R:.*]] = ge.requantize %{{.*}}, %{{.*}}, %[[Y]] : {{.*}} -> tensor<1x2x4x4xi8>
  // CHECK: %[[M:.*]] = ge.maximum %[[R]], %[[Y]] : {{.*}} -> tensor<1x2x4x4xi8>
  // CHECK: %[[P:.*]] = ge.max_pool %[[M]] {{.*}} -> tensor<1x2x2x2xi8>
  // CHECK: ge.dequantize %[[P]], %{{.*}}, %[[Y]] : (tensor<1x2x2x2xi8>, tensor<f32>, tensor<i8>)
  %s = ge.constant dense<0.5> : tensor<f32>
  %z = ge.constant dense<133> : tensor<ui8>
  %y = ge.constant dense<0> : tensor<ui8>
  %w = ge.constant dense<[[[[1]], [[2]]], [[[3]], [[-4]]]]> : tensor<2x2x1x1xi8>
  %none = ge.constant dense<0> : tensor<i8>
  %q = ge.quantize %x, %s, %z : (tensor<1x2x4x4xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x2x4x4xui8>
  %i = ge.conv2d_integer %q, %w, %z, %none : (tensor<1x2x4x4xui8>, tensor<2x2x1x1xi8>, tensor<ui8>, tensor<i8>) -> tensor<1x2x4x4xi32>
  %r = ge.requantize %i, %s, %y : (tensor<1x2x4x4xi32>, tensor<f32>, tensor<ui8>) -> tensor<1x2x4x4xui8>
  %m = ge.maximum %r, %y : (tensor<1x2x4x4xui8>, tensor<ui8>) -> tensor<1x2x4x4xui8>
  %p = ge.max_pool %m {kernel = [2, 2], strides = [2, 2]} : (tensor<1x2x4x4xui8>) -> tensor<1x2x2x2xui8>
  %f = ge.dequantize %p, %s, %y : (tensor<1x2x2x2xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x2x2x2xf32>
  return %f : tensor<1x2x2x2xf32>
}

// -----

// What enters or leaves the model keeps its type, and so does what moves with it.

// CHECK-LABEL: func.func @kept
func.func @kept(%x: tensor<1x2x4x4xui8>, %f: tensor<1x2x4x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xui8>) {
  // CHECK: ge.concat %x, %{{.*}} -> tensor<1x4x4x4xui8>
  // CHECK: ge.slice {{.*}} -> tensor<1x2x4x4xui8>
  // CHECK: ge.quantize %f, {{.*}} -> tensor<1x2x4x4xui8>
  %s = ge.constant dense<0.5> : tensor<f32>
  %z = ge.constant dense<133> : tensor<ui8>
  %q = ge.quantize %f, %s, %z : (tensor<1x2x4x4xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x2x4x4xui8>
  %c = ge.concat %x, %q {axis = 1} : (tensor<1x2x4x4xui8>, tensor<1x2x4x4xui8>) -> tensor<1x4x4x4xui8>
  %h = ge.slice %c {starts = [1], ends = [3], axes = [1], steps = [1]} : (tensor<1x4x4x4xui8>) -> tensor<1x2x4x4xui8>
  %b = ge.dequantize %h, %s, %z : (tensor<1x2x4x4xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x2x4x4xf32>
  %o = ge.quantize %f, %s, %z : (tensor<1x2x4x4xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x2x4x4xui8>
  return %b, %o : tensor<1x2x4x4xf32>, tensor<1x2x4x4xui8>
}
