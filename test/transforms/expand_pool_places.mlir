// RUN: ge-opt --no-locations --expand-pool-places %s | FileCheck %s

// Of two taps the second one wins where it is larger; channels begin 6 elements apart.
// CHECK-LABEL: func.func @main
// CHECK: %[[FIRST:.*]] = ge.slice %x {starts = [0], ends = [5], axes = [2], steps = [2]}
// CHECK: %[[HERE:.*]] = ge.constant dense<{{\[\[\[}}0, 2, 4]]]> : tensor<1x1x3xi32>
// CHECK: %[[SECOND:.*]] = ge.slice %x {starts = [1], ends = [6], axes = [2], steps = [2]}
// CHECK: %[[THERE:.*]] = ge.constant dense<{{\[\[\[}}1, 3, 5]]]> : tensor<1x1x3xi32>
// CHECK: %[[BETTER:.*]] = ge.compare %[[SECOND]], %[[FIRST]] {predicate = "gt"}
// CHECK: %[[PLACE:.*]] = ge.select %[[BETTER]], %[[THERE]], %[[HERE]]
// CHECK: %[[BEST:.*]] = ge.maximum %[[SECOND]], %[[FIRST]]
// CHECK: ge.constant dense<{{\[\[\[}}0], [6]]]> : tensor<1x2x1xi32>
// CHECK: return %[[BEST]]
func.func @main(%x: tensor<1x2x6xf32>) -> (tensor<1x2x3xf32>, tensor<1x2x3xi64>) {
  %0, %1 = ge.max_pool_indices %x {kernel = [2], strides = [2], pads = [0, 0], dilations = [1]} : (tensor<1x2x6xf32>) -> (tensor<1x2x3xf32>, tensor<1x2x3xi64>)
  return %0, %1 : tensor<1x2x3xf32>, tensor<1x2x3xi64>
}
