// RUN: ge-opt --no-locations --eliminate-common-subexpressions --split-input-file %s | FileCheck %s

// A chain that stands there twice goes in one walk; all results of an operator move together.
// CHECK-LABEL: func.func @chains
func.func @chains(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>, tensor<2xi64>) {
  // CHECK-NEXT: %[[E:.*]] = ge.exp %x
  // CHECK-NEXT: %[[L:.*]] = ge.leaky_relu %[[E]]
  // CHECK-NEXT: ge.mul %[[L]], %[[L]]
  %0 = ge.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ge.leaky_relu %0 {alpha = 0.5} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = ge.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %3 = ge.leaky_relu %2 {alpha = 0.5} : (tensor<4xf32>) -> tensor<4xf32>
  %4 = ge.mul %1, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[V:.*]], %[[I:.*]] = ge.top_k
  %5, %6 = ge.top_k %x {k = 2, axis = 0} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi64>)
  %7, %8 = ge.top_k %x {k = 2, axis = 0} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi64>)
  // CHECK-NEXT: return %{{.*}}, %[[V]], %[[I]]
  return %4, %5, %8 : tensor<4xf32>, tensor<2xf32>, tensor<2xi64>
}

// -----

// Other attributes, operands in another order, another result type, another kind.
// CHECK-LABEL: func.func @different
func.func @different(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf16>, tensor<4xi32>, tensor<4xf32>) {
  // CHECK-COUNT-2: ge.leaky_relu
  %0 = ge.leaky_relu %x {alpha = 0.5} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ge.leaky_relu %x {alpha = 0.25} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-COUNT-2: ge.sub
  %2 = ge.sub %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = ge.sub %y, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-COUNT-2: ge.cast
  %4 = ge.cast %x : (tensor<4xf32>) -> tensor<4xf16>
  %5 = ge.cast %x : (tensor<4xf32>) -> tensor<4xi32>
  // CHECK-NEXT: ge.exp
  %6 = ge.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf16>, tensor<4xi32>, tensor<4xf32>
}
