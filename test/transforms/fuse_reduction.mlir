// RUN: ge-opt --no-locations --fuse-reduction --split-input-file %s | FileCheck %s

// Scale and mask in front of softmax, an Add behind it; a gate and a residual in front of a norm, an activation behind it.
// CHECK-LABEL: func.func @around
// CHECK: ge.fused ins(%{{.*}}) {anchor = "ge.softmax"} {
// CHECK: ge.mul
// CHECK-NEXT: ge.add
// CHECK-NEXT: ge.softmax
// CHECK-NEXT: ge.add
// CHECK-NEXT: ge.yield
// CHECK: ge.fused ins(%{{.*}}) {anchor = "ge.layer_norm"} {
// CHECK: ge.sigmoid
// CHECK-NEXT: ge.mul
// CHECK-NEXT: ge.add
// CHECK-NEXT: ge.layer_norm
// CHECK-NEXT: ge.relu
// CHECK-NEXT: ge.yield
func.func @around(%x: tensor<2x4x8xf32>, %mask: tensor<1x8xf32>, %r: tensor<2x4x8xf32>, %s: tensor<8xf32>) -> tensor<2x4x8xf32> {
  %f = ge.constant dense<0.5> : tensor<f32>
  %0 = ge.mul %x, %f : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
  %1 = ge.add %0, %mask : (tensor<2x4x8xf32>, tensor<1x8xf32>) -> tensor<2x4x8xf32>
  %2 = ge.softmax %1 : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %3 = ge.add %2, %r : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %4 = ge.sigmoid %3 : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %5 = ge.mul %3, %4 : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %6 = ge.add %5, %r : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %7 = ge.layer_norm %6, %s, %s : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  %8 = ge.relu %7 : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %8 : tensor<2x4x8xf32>
}

// -----

// A sum that others read too, a result that leaves the graph, a reader that broadcasts the statistic, integers.
// CHECK-LABEL: func.func @guards
// CHECK-NOT: ge.fused
// CHECK: return
func.func @guards(%x: tensor<4x8xf32>, %i: tensor<4x8xi32>, %j: tensor<4x1xi32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x1xi32>) {
  %0 = ge.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = ge.softmax %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = ge.exp %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = ge.reduce_sum %x {axes = [1]} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %4 = ge.div %x, %3 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %5 = ge.reduce_sum %i {axes = [1]} : (tensor<4x8xi32>) -> tensor<4x1xi32>
  %6 = ge.add %5, %j : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x1xi32>
  return %0, %1, %2, %4, %6 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x1xi32>
}
