// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// Activation functions; attributes equal to their defaults are not printed.

// CHECK-LABEL: func.func @elu
func.func @elu(%x: tensor<1x8x4x4xf32>) {
  // CHECK: %elu = ge.elu %x : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  %elu = ge.elu %x : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  // CHECK: %selu = ge.elu %x {alpha = 1.500000e+00, scale = 1.250000e+00} : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  %selu = ge.elu %x {alpha = 1.500000e+00, scale = 1.250000e+00} : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  // CHECK: %celu = ge.elu %x {alpha = 2.000000e+00, input_scale = 5.000000e-01} : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  %celu = ge.elu %x {alpha = 2.000000e+00, input_scale = 5.000000e-01} : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  return
}

// CHECK-LABEL: func.func @gelu
func.func @gelu(%x: tensor<1x8x4x4xf32>) {
  // CHECK: %exact = ge.gelu %x : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  %exact = ge.gelu %x : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  // CHECK: %tanh = ge.gelu %x {approximate = "tanh"} : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  %tanh = ge.gelu %x {approximate = "tanh"} : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  return
}

// CHECK-LABEL: func.func @sigmoids
func.func @sigmoids(%x: tensor<1x8x4x4xf32>) {
  // CHECK: %silu = ge.swish %x : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  %silu = ge.swish %x : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  // CHECK: %swish = ge.swish %x {alpha = 1.500000e+00} : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  %swish = ge.swish %x {alpha = 1.500000e+00} : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  // CHECK: %hard = ge.hard_sigmoid %x : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  %hard = ge.hard_sigmoid %x : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  // CHECK: %harder = ge.hard_sigmoid %x {alpha = 2.500000e-01, beta = 0.000000e+00} : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  %harder = ge.hard_sigmoid %x {alpha = 2.500000e-01, beta = 0.000000e+00} : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  // CHECK: %hard_swish = ge.hard_swish %x : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  %hard_swish = ge.hard_swish %x : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  // CHECK: %softplus = ge.softplus %x : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  %softplus = ge.softplus %x : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  // CHECK: %mish = ge.mish %x : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  %mish = ge.mish %x : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  return
}

// CHECK-LABEL: func.func @prelu
func.func @prelu(%x: tensor<1x8x4x4xf32>, %slope: tensor<8x1x1xf32>) {
  // CHECK: %y = ge.prelu %x, %slope : (tensor<1x8x4x4xf32>, tensor<8x1x1xf32>) -> tensor<1x8x4x4xf32>
  %y = ge.prelu %x, %slope : (tensor<1x8x4x4xf32>, tensor<8x1x1xf32>) -> tensor<1x8x4x4xf32>
  return
}
