// RUN: ge-opt --no-locations --expand-resize --split-input-file %s | FileCheck %s

// A product with a constant for each axis that changes: from the left on inner ones, from the right on the last.
// CHECK-LABEL: func.func @linear
// CHECK: %[[H:.*]] = ge.constant #ge.weight<"resize"
// CHECK: %[[X:.*]] = ge.reshape %x {shape = [21, 28, 28]}
// CHECK: %[[Y:.*]] = ge.matmul %[[H]], %[[X]] : (tensor<56x28xf32>, tensor<21x28x28xf32>) -> tensor<21x56x28xf32>
// CHECK: %[[R:.*]] = ge.reshape %[[Y]] {shape = [1176, 28]}
// CHECK: ge.matmul %[[R]], %{{.*}} : (tensor<1176x28xf32>, tensor<28x84xf32>) -> tensor<1176x84xf32>
// CHECK: ge.reshape {{.*}} {shape = [1, 21, 56, 84]}
func.func @linear(%x: tensor<1x21x28x28xf32>) -> tensor<1x21x56x84xf32> {
  %0 = ge.resize %x {axes = [2, 3], sizes = [56, 84], mode = "linear"} : (tensor<1x21x28x28xf32>) -> tensor<1x21x56x84xf32>
  return %0 : tensor<1x21x56x84xf32>
}

// -----

// What lies outside of a crop is filled in behind the products.
// CHECK-LABEL: func.func @crop
// CHECK: ge.matmul
// CHECK: %[[Y:.*]] = ge.reshape %{{.*}} {shape = [1, 1, 2, 2]}
// CHECK: %[[FILL:.*]] = ge.constant dense<5.000000e-01>
// CHECK: %[[OUT:.*]] = ge.constant dense<{{\[\[\[\[}}false, true], [false, true]]]]>
// CHECK: ge.select %[[OUT]], %[[FILL]], %[[Y]]
func.func @crop(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32> {
  %0 = ge.resize %x {axes = [2, 3], sizes = [2, 2], roi = [0.0, 0.0, 1.0, 2.0], mode = "linear", coordinates = "tf_crop_and_resize", extrapolation = 0.5} : (tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32>
  return %0 : tensor<1x1x2x2xf32>
}

// -----

// What only repeats elements is a movement; what depends on the run is no constant.
// CHECK-LABEL: func.func @stays
// CHECK-COUNT-3: ge.resize
// CHECK-NOT: ge.matmul
func.func @stays(%x: tensor<1x3x8x8xf32>, %t: tensor<2xi64>, %u: tensor<1x3x?x8xf32>) -> (tensor<1x3x16x16xf32>, tensor<1x3x?x?xf32>, tensor<1x3x?x16xf32>) {
  %0 = ge.resize %x {axes = [2, 3], scales = [2.0, 2.0], coordinates = "asymmetric", nearest = "floor"} : (tensor<1x3x8x8xf32>) -> tensor<1x3x16x16xf32>
  %1 = ge.resize %x, %t {axes = [2, 3], mode = "linear"} : (tensor<1x3x8x8xf32>, tensor<2xi64>) -> tensor<1x3x?x?xf32>
  %2 = ge.resize %u {axes = [2, 3], scales = [2.0, 2.0], mode = "linear"} : (tensor<1x3x?x8xf32>) -> tensor<1x3x?x16xf32>
  return %0, %1, %2 : tensor<1x3x16x16xf32>, tensor<1x3x?x?xf32>, tensor<1x3x?x16xf32>
}
