// RUN: ge-opt --no-locations --expand-linear-attention %s | FileCheck %s

// One step of two heads that share a state: decayed, changed, read, in fp32.
// CHECK-LABEL: func.func @main
// CHECK: %[[FADING:.*]] = ge.exp %d {ge.precision = "fp32"}
// CHECK: %[[LEFT:.*]] = ge.mul %s, %{{.*}} : (tensor<1x1x8x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x8x4xf32>
// CHECK: %[[CHANGE:.*]] = ge.mul %{{.*}}, %{{.*}} : (tensor<1x1x8x1xf32>, tensor<1x1x1x4xf32>) -> tensor<1x1x8x4xf32>
// CHECK: %[[STATE:.*]] = ge.add %[[LEFT]], %[[CHANGE]]
// CHECK: ge.mul %{{.*}}, %{{.*}} : (tensor<1x1x2x8x1xf32>, tensor<1x1x1x8x4xf32>) -> tensor<1x1x2x8x4xf32>
// CHECK: ge.reduce_sum %{{.*}} {axes = [3], keepdims = false
// CHECK: return %{{.*}}, %[[STATE]]
func.func @main(%q: tensor<1x1x16xf32>, %k: tensor<1x1x8xf32>, %v: tensor<1x1x4xf32>, %s: tensor<1x1x8x4xf32>, %d: tensor<1x1x1xf32>) -> (tensor<1x1x8xf32>, tensor<1x1x8x4xf32>) {
  %0, %1 = ge.linear_attention %q, %k, %v, %s, %d {heads = 2, kv_heads = 1} : (tensor<1x1x16xf32>, tensor<1x1x8xf32>, tensor<1x1x4xf32>, tensor<1x1x8x4xf32>, tensor<1x1x1xf32>) -> (tensor<1x1x8xf32>, tensor<1x1x8x4xf32>)
  return %0, %1 : tensor<1x1x8xf32>, tensor<1x1x8x4xf32>
}
