// RUN: ge-opt --no-locations --fuse-elementwise --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @chain
func.func @chain(%x: tensor<1x2x4x4xf16>) -> tensor<1x2x4x4xf16> {
  // CHECK: %[[C:.*]] = ge.constant
  %c = ge.constant dense<[[[[1.0]], [[2.0]]]]> : tensor<1x2x1x1xf16>
  // CHECK-NEXT: %[[Y:.*]] = ge.fused ins(%x, %[[C]] : tensor<1x2x4x4xf16>, tensor<1x2x1x1xf16>) {anchor = "ge.relu"} {
  // CHECK: ge.mul
  // CHECK-NEXT: ge.add
  // CHECK-NEXT: ge.relu
  // CHECK-NEXT: ge.yield
  // CHECK: return %[[Y]]
  %0 = ge.mul %x, %c : (tensor<1x2x4x4xf16>, tensor<1x2x1x1xf16>) -> tensor<1x2x4x4xf16>
  %1 = ge.add %0, %c : (tensor<1x2x4x4xf16>, tensor<1x2x1x1xf16>) -> tensor<1x2x4x4xf16>
  %2 = ge.relu %1 : (tensor<1x2x4x4xf16>) -> tensor<1x2x4x4xf16>
  return %2 : tensor<1x2x4x4xf16>
}

// -----

// Both branches of a tree, in program order.
// CHECK-LABEL: func.func @tree
func.func @tree(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: ge.fused ins({{.*}}) {anchor = "ge.mul"}
  // CHECK-DAG: ge.sigmoid
  // CHECK-DAG: ge.tanh
  // CHECK: ge.mul
  // CHECK-NEXT: ge.yield
  %0 = ge.sigmoid %x : (tensor<8xf32>) -> tensor<8xf32>
  %1 = ge.tanh %y : (tensor<8xf32>) -> tensor<8xf32>
  %2 = ge.mul %0, %1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

// A value with a second user, or one that leaves the graph, ends the chain.
// CHECK-LABEL: func.func @users
// CHECK-NOT: ge.fused
func.func @users(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = ge.sigmoid %x : (tensor<8xf32>) -> tensor<8xf32>
  %1 = ge.tanh %0 : (tensor<8xf32>) -> tensor<8xf32>
  %2 = ge.exp %0 : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK: return
  return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// A producer of another shape is computed once, not once per row.
// CHECK-LABEL: func.func @broadcast
// CHECK-NOT: ge.fused
func.func @broadcast(%x: tensor<1x8xf32>, %y: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %0 = ge.exp %x : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %1 = ge.mul %y, %0 : (tensor<64x8xf32>, tensor<1x8xf32>) -> tensor<64x8xf32>
  // CHECK: return
  return %1 : tensor<64x8xf32>
}

// -----

// Types mix at a cast; integers have no kernel.
// CHECK-LABEL: func.func @types
// CHECK-NOT: ge.fused
func.func @types(%x: tensor<8xf32>, %i: tensor<8xi64>) -> (tensor<8xf16>, tensor<8xi64>) {
  %0 = ge.exp %x : (tensor<8xf32>) -> tensor<8xf32>
  %1 = ge.cast %0 : (tensor<8xf32>) -> tensor<8xf16>
  %2 = ge.relu %1 : (tensor<8xf16>) -> tensor<8xf16>
  %3 = ge.add %i, %i : (tensor<8xi64>, tensor<8xi64>) -> tensor<8xi64>
  %4 = ge.mul %3, %i : (tensor<8xi64>, tensor<8xi64>) -> tensor<8xi64>
  // CHECK: return
  return %2, %4 : tensor<8xf16>, tensor<8xi64>
}
