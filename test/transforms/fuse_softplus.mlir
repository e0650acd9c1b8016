// RUN: ge-opt --no-locations --fuse-softplus --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @log_of_exp
// CHECK-NEXT: %[[Y:.*]] = ge.softplus %x
// CHECK-NEXT: return %[[Y]]
func.func @log_of_exp(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = ge.constant dense<1.0> : tensor<f32>
  %0 = ge.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ge.add %one, %0 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = ge.log %1 : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @another_constant
// CHECK-NOT: ge.softplus
func.func @another_constant(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = ge.constant dense<1.001> : tensor<f32>
  %0 = ge.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ge.add %one, %0 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = ge.log %1 : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @exp_leaves_the_graph
// CHECK-NOT: ge.softplus
func.func @exp_leaves_the_graph(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %one = ge.constant dense<1.0> : tensor<f32>
  %0 = ge.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ge.add %0, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = ge.log %1 : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %2 : tensor<4xf32>, tensor<4xf32>
}
