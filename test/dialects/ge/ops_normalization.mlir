// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// Normalizations.

// CHECK-LABEL: func.func @batch_norm
func.func @batch_norm(%x: tensor<1x4x9x11xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>) {
  // CHECK: %y = ge.batch_norm %x, %s, %b, %m, %v : (tensor<1x4x9x11xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x9x11xf32>
  %y = ge.batch_norm %x, %s, %b, %m, %v : (tensor<1x4x9x11xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x9x11xf32>
  // CHECK: %z = ge.batch_norm %x, %s, %b, %m, %v {epsilon = 1.000000e-03} : (tensor<1x4x9x11xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x9x11xf32>
  %z = ge.batch_norm %x, %s, %b, %m, %v {epsilon = 1.000000e-03} : (tensor<1x4x9x11xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x9x11xf32>
  return
}

// CHECK-LABEL: func.func @lrn
func.func @lrn(%x: tensor<1x4x9x11xf32>) {
  // CHECK: %y = ge.lrn %x {size = 5} : (tensor<1x4x9x11xf32>) -> tensor<1x4x9x11xf32>
  %y = ge.lrn %x {size = 5} : (tensor<1x4x9x11xf32>) -> tensor<1x4x9x11xf32>
  // CHECK: %z = ge.lrn %x {size = 3, alpha = 2.000000e-03, beta = 5.000000e-01, bias = 2.000000e+00} : (tensor<1x4x9x11xf32>) -> tensor<1x4x9x11xf32>
  %z = ge.lrn %x {size = 3, alpha = 2.000000e-03, beta = 5.000000e-01, bias = 2.000000e+00} : (tensor<1x4x9x11xf32>) -> tensor<1x4x9x11xf32>
  return
}

// CHECK-LABEL: func.func @softmax
func.func @softmax(%x: tensor<?x1000xf16>) {
  // CHECK: %y = ge.softmax %x : (tensor<?x1000xf16>) -> tensor<?x1000xf16>
  %y = ge.softmax %x : (tensor<?x1000xf16>) -> tensor<?x1000xf16>
  // CHECK: %z = ge.softmax %x {axis = 0} : (tensor<?x1000xf16>) -> tensor<?x1000xf16>
  %z = ge.softmax %x {axis = 0} : (tensor<?x1000xf16>) -> tensor<?x1000xf16>
  return
}

// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<2x8x4xf16>, %s: tensor<4xf16>, %m: tensor<8x1xf16>) {
  // CHECK: %ln = ge.layer_norm %x, %s, %s : (tensor<2x8x4xf16>, tensor<4xf16>, tensor<4xf16>) -> tensor<2x8x4xf16>
  %ln = ge.layer_norm %x, %s, %s : (tensor<2x8x4xf16>, tensor<4xf16>, tensor<4xf16>) -> tensor<2x8x4xf16>
  // CHECK: %nobias = ge.layer_norm %x, %s {axis = 1, epsilon = 1.000000e-03} : (tensor<2x8x4xf16>, tensor<4xf16>) -> tensor<2x8x4xf16>
  %nobias = ge.layer_norm %x, %s {axis = 1, epsilon = 1.000000e-03} : (tensor<2x8x4xf16>, tensor<4xf16>) -> tensor<2x8x4xf16>
  // CHECK: %middle = ge.layer_norm %x, %m {axis = 1, last_axis = 1} : (tensor<2x8x4xf16>, tensor<8x1xf16>) -> tensor<2x8x4xf16>
  %middle = ge.layer_norm %x, %m {axis = 1, last_axis = 1} : (tensor<2x8x4xf16>, tensor<8x1xf16>) -> tensor<2x8x4xf16>
  // CHECK: %rms = ge.rms_norm %x, %s {axis = 2} : (tensor<2x8x4xf16>, tensor<4xf16>) -> tensor<2x8x4xf16>
  %rms = ge.rms_norm %x, %s {axis = 2} : (tensor<2x8x4xf16>, tensor<4xf16>) -> tensor<2x8x4xf16>
  return
}

// CHECK-LABEL: func.func @groups
func.func @groups(%x: tensor<2x8x4xf16>, %s: tensor<8xf16>) {
  // CHECK: %gn = ge.group_norm %x, %s, %s {groups = 4} : (tensor<2x8x4xf16>, tensor<8xf16>, tensor<8xf16>) -> tensor<2x8x4xf16>
  %gn = ge.group_norm %x, %s, %s {groups = 4} : (tensor<2x8x4xf16>, tensor<8xf16>, tensor<8xf16>) -> tensor<2x8x4xf16>
  return
}
