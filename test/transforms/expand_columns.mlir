// RUN: ge-opt --no-locations --expand-columns %s | FileCheck %s

// Blocks of 2 x 2 at 2 x 3 places: block and place of each axis side by side, then a product an axis.
// CHECK-LABEL: func.func @main
// CHECK: %[[APART:.*]] = ge.reshape %x {shape = [3, 2, 2, 2, 3]}
// CHECK: %[[TURNED:.*]] = ge.transpose %[[APART]] {perm = [0, 1, 3, 2, 4]}
// CHECK: ge.matmul %{{.*}}, %{{.*}} : (tensor<12x6xf32>, tensor<6x4xf32>) -> tensor<12x4xf32>
// CHECK: ge.constant dense<{{\[\[}}1.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00], [0.000000e+00, 1.000000e+00, 1.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00, 0.000000e+00, 1.000000e+00]]>
// CHECK: ge.matmul %{{.*}}, %{{.*}} : (tensor<3x4xf32>, tensor<3x4x4xf32>) -> tensor<3x3x4xf32>
// CHECK: ge.reshape %{{.*}} {shape = [1, 3, 3, 4]}
func.func @main(%x: tensor<1x12x6xf32>) -> tensor<1x3x3x4xf32> {
  %0 = ge.col2im %x {image = [3, 4], block = [2, 2], strides = [1, 1], dilations = [1, 1], pads = [0, 0, 0, 0]} : (tensor<1x12x6xf32>) -> tensor<1x3x3x4xf32>
  return %0 : tensor<1x3x3x4xf32>
}
