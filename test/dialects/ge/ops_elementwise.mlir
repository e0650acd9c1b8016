// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// Unary functions, clips, casts, binary arithmetic with broadcasting.

// CHECK-LABEL: func.func @unary
func.func @unary(%x: tensor<2x3xf16>) {
  // CHECK: %relu = ge.relu %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %relu = ge.relu %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %sigmoid = ge.sigmoid %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %sigmoid = ge.sigmoid %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %tanh = ge.tanh %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %tanh = ge.tanh %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %exp = ge.exp %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %exp = ge.exp %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %log = ge.log %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %log = ge.log %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %sqrt = ge.sqrt %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %sqrt = ge.sqrt %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %abs = ge.abs %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %abs = ge.abs %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %neg = ge.neg %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %neg = ge.neg %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %reciprocal = ge.reciprocal %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %reciprocal = ge.reciprocal %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %erf = ge.erf %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %erf = ge.erf %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  return
}

// CHECK-LABEL: func.func @leaky_relu
func.func @leaky_relu(%x: tensor<?x3xf32>) {
  // CHECK: %y = ge.leaky_relu %x : (tensor<?x3xf32>) -> tensor<?x3xf32>
  %y = ge.leaky_relu %x : (tensor<?x3xf32>) -> tensor<?x3xf32>
  // CHECK: %z = ge.leaky_relu %x {alpha = 1.000000e-01} : (tensor<?x3xf32>) -> tensor<?x3xf32>
  %z = ge.leaky_relu %x {alpha = 1.000000e-01} : (tensor<?x3xf32>) -> tensor<?x3xf32>
  return
}

// CHECK-LABEL: func.func @clip
func.func @clip(%x: tensor<3xf32>) {
  // CHECK: %a = ge.clip %x : (tensor<3xf32>) -> tensor<3xf32>
  %a = ge.clip %x : (tensor<3xf32>) -> tensor<3xf32>
  // CHECK: %b = ge.clip %x {min = 0.000000e+00, max = 6.000000e+00} : (tensor<3xf32>) -> tensor<3xf32>
  %b = ge.clip %x {min = 0.000000e+00, max = 6.000000e+00} : (tensor<3xf32>) -> tensor<3xf32>
  // CHECK: %c = ge.clip %x {min = -1.000000e+00, max = 0x7F800000} : (tensor<3xf32>) -> tensor<3xf32>
  %c = ge.clip %x {min = -1, max = 0x7F800000} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// CHECK-LABEL: func.func @cast
func.func @cast(%x: tensor<?x3xf32>) {
  // CHECK: %a = ge.cast %x : (tensor<?x3xf32>) -> tensor<?x3xf16>
  %a = ge.cast %x : (tensor<?x3xf32>) -> tensor<?x3xf16>
  // CHECK: %b = ge.cast %a : (tensor<?x3xf16>) -> tensor<?x3xi64>
  %b = ge.cast %a : (tensor<?x3xf16>) -> tensor<?x3xi64>
  // CHECK: %c = ge.cast %b : (tensor<?x3xi64>) -> tensor<?x3xi1>
  %c = ge.cast %b : (tensor<?x3xi64>) -> tensor<?x3xi1>
  return
}

// CHECK-LABEL: func.func @binary
func.func @binary(%x: tensor<2x3xf16>) {
  // CHECK: %add = ge.add %x, %x : (tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<2x3xf16>
  %add = ge.add %x, %x : (tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %sub = ge.sub %x, %x : (tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<2x3xf16>
  %sub = ge.sub %x, %x : (tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %mul = ge.mul %x, %x : (tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<2x3xf16>
  %mul = ge.mul %x, %x : (tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %div = ge.div %x, %x : (tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<2x3xf16>
  %div = ge.div %x, %x : (tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %maximum = ge.maximum %x, %x : (tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<2x3xf16>
  %maximum = ge.maximum %x, %x : (tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %minimum = ge.minimum %x, %x : (tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<2x3xf16>
  %minimum = ge.minimum %x, %x : (tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %pow = ge.pow %x, %x : (tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<2x3xf16>
  %pow = ge.pow %x, %x : (tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<2x3xf16>
  return
}

// CHECK-LABEL: func.func @binary_broadcasts
func.func @binary_broadcasts(%x: tensor<2x3x4xf32>, %r: tensor<3x1xf32>, %s: tensor<f32>, %d: tensor<?x1x4xf32>) {
  // CHECK: %a = ge.add %x, %r : (tensor<2x3x4xf32>, tensor<3x1xf32>) -> tensor<2x3x4xf32>
  %a = ge.add %x, %r : (tensor<2x3x4xf32>, tensor<3x1xf32>) -> tensor<2x3x4xf32>
  // CHECK: %b = ge.mul %s, %x : (tensor<f32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %b = ge.mul %s, %x : (tensor<f32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: %c = ge.sub %d, %r : (tensor<?x1x4xf32>, tensor<3x1xf32>) -> tensor<?x3x4xf32>
  %c = ge.sub %d, %r : (tensor<?x1x4xf32>, tensor<3x1xf32>) -> tensor<?x3x4xf32>
  return
}
