// RUN: ge-opt --no-locations --expand-cum-sum --split-input-file %s | FileCheck %s

// A triangle of ones from the right on the last axis, from the left on any other.
// CHECK-LABEL: func.func @axes
// CHECK: %[[T:.*]] = ge.constant #ge.weight<"triangle"
// CHECK: %[[X:.*]] = ge.reshape %x {shape = [12, 20]}
// CHECK: ge.matmul %[[X]], %[[T]] : (tensor<12x20xf32>, tensor<20x20xf32>) -> tensor<12x20xf32>
// CHECK: ge.matmul %{{.*}}, %{{.*}} : (tensor<9x9xf32>, tensor<9x20xf32>) -> tensor<9x20xf32>
func.func @axes(%x: tensor<3x4x20xf32>, %y: tensor<9x20xf32>) -> (tensor<3x4x20xf32>, tensor<9x20xf32>) {
  %0 = ge.cum_sum %x {axis = -1} : (tensor<3x4x20xf32>) -> tensor<3x4x20xf32>
  %1 = ge.cum_sum %y {axis = 0} : (tensor<9x20xf32>) -> tensor<9x20xf32>
  return %0, %1 : tensor<3x4x20xf32>, tensor<9x20xf32>
}

// -----

// Which elements a sum has.
// CHECK-LABEL: func.func @kinds
// CHECK: ge.constant dense<{{\[\[}}0.000000e+00, 1.000000e+00, 1.000000e+00], [0.000000e+00, 0.000000e+00, 1.000000e+00], [0.000000e+00, 0.000000e+00, 0.000000e+00]]>
// CHECK: ge.constant dense<{{\[\[}}1.000000e+00, 0.000000e+00, 0.000000e+00], [1.000000e+00, 1.000000e+00, 0.000000e+00], [1.000000e+00, 1.000000e+00, 1.000000e+00]]>
func.func @kinds(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = ge.cum_sum %x {axis = 1, exclusive = true} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = ge.cum_sum %x {axis = 1, reverse = true} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// Integers wrap around, for which the Cube has no sum.
// CHECK-LABEL: func.func @integers
// CHECK: ge.cum_sum
func.func @integers(%x: tensor<2x3xi32>) -> tensor<2x3xi32> {
  %0 = ge.cum_sum %x {axis = 1} : (tensor<2x3xi32>) -> tensor<2x3xi32>
  return %0 : tensor<2x3xi32>
}
