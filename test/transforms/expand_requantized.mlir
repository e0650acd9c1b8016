// RUN: ge-opt --no-locations --expand-requantized='soc=Ascend910B3' --split-input-file %s | FileCheck %s

// The factor goes to the weights and the bias, which are constants; what is left is a convolution of floats.
// CHECK-LABEL: func.func @conv
// CHECK-DAG: %[[ONE:.*]] = ge.constant dense<1.000000e+00> : tensor<f32>
// CHECK-DAG: %[[W:.*]] = ge.constant dense<{{.*}}5.000000e-01{{.*}}-5.000000e-01{{.*}}> : tensor<2x1x1x1xf32>
// CHECK-DAG: %[[B:.*]] = ge.constant dense<[5.000000e+00, -1.000000e+01]> : tensor<2xf32>
// CHECK-DAG: %[[X:.*]] = ge.dequantize %x, %[[ONE]]
// CHECK: %[[C:.*]] = ge.conv2d %[[X]], %[[W]], %[[B]] : {{.*}} -> tensor<1x2x4x4xf32>
// CHECK: ge.quantize %[[C]], %[[ONE]], {{.*}} -> tensor<1x2x4x4xui8>
func.func @conv(%x: tensor<1x1x4x4xui8>) -> tensor<1x2x4x4xui8> {
  %z = ge.constant dense<100> : tensor<ui8>
  %w = ge.constant dense<[[[[3]]], [[[1]]]]> : tensor<2x1x1x1xui8>
  %wz = ge.constant dense<2> : tensor<ui8>
  %b = ge.constant dense<[[[[10]], [[-20]]]]> : tensor<1x2x1x1xi32>
  %f = ge.constant dense<0.5> : tensor<f32>
  %yz = ge.constant dense<7> : tensor<ui8>
  %0 = ge.conv2d_integer %x, %w, %z, %wz : (tensor<1x1x4x4xui8>, tensor<2x1x1x1xui8>, tensor<ui8>, tensor<ui8>) -> tensor<1x2x4x4xi32>
  %1 = ge.add %0, %b : (tensor<1x2x4x4xi32>, tensor<1x2x1x1xi32>) -> tensor<1x2x4x4xi32>
  %2 = ge.requantize %1, %f, %yz : (tensor<1x2x4x4xi32>, tensor<f32>, tensor<ui8>) -> tensor<1x2x4x4xui8>
  return %2 : tensor<1x2x4x4xui8>
}

// -----

// Sums that something else reads stay integers.
// CHECK-LABEL: func.func @shared
// CHECK: ge.conv2d_integer
// CHECK: ge.requantize
func.func @shared(%x: tensor<1x1x4x4xui8>) -> (tensor<1x2x4x4xui8>, tensor<1x2x4x4xi32>) {
  %z = ge.constant dense<100> : tensor<ui8>
  %w = ge.constant dense<[[[[3]]], [[[1]]]]> : tensor<2x1x1x1xui8>
  %wz = ge.constant dense<2> : tensor<ui8>
  %f = ge.constant dense<0.5> : tensor<f32>
  %0 = ge.conv2d_integer %x, %w, %z, %wz : (tensor<1x1x4x4xui8>, tensor<2x1x1x1xui8>, tensor<ui8>, tensor<ui8>) -> tensor<1x2x4x4xi32>
  %1 = ge.requantize %0, %f, %z : (tensor<1x2x4x4xi32>, tensor<f32>, tensor<ui8>) -> tensor<1x2x4x4xui8>
  return %1, %0 : tensor<1x2x4x4xui8>, tensor<1x2x4x4xi32>
}
