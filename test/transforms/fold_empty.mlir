// RUN: ge-opt --no-locations --fold-empty --fold-constants --ge-canonicalize --split-input-file %s | FileCheck %s

// What a slice takes nothing of leaves a concat alone.
// CHECK-LABEL: func.func @part
// CHECK-NEXT: %[[B:.*]] = ge.relu %x
// CHECK-NEXT: return %[[B]]
func.func @part(%x: tensor<2x6xf32>) -> tensor<2x6xf32> {
  %0 = ge.slice %x {starts = [3], ends = [3], axes = [1], steps = [1]} : (tensor<2x6xf32>) -> tensor<2x0xf32>
  %1 = ge.relu %x : (tensor<2x6xf32>) -> tensor<2x6xf32>
  %2 = ge.concat %0, %1 {axis = 1} : (tensor<2x0xf32>, tensor<2x6xf32>) -> tensor<2x6xf32>
  return %2 : tensor<2x6xf32>
}

// -----

// The past of a cache that is empty yet, and updates of nothing.
// CHECK-LABEL: func.func @from_outside
// CHECK-NEXT: %[[C:.*]] = ge.concat %x, %x
// CHECK-NEXT: return %[[C]], %x
func.func @from_outside(%x: tensor<2x6xf32>, %past: tensor<2x0xf32>, %at: tensor<0x1xi64>, %new: tensor<0x6xf32>) -> (tensor<2x12xf32>, tensor<2x6xf32>) {
  %0 = ge.concat %past, %x, %x {axis = 1} : (tensor<2x0xf32>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x12xf32>
  %1 = ge.scatter_nd %x, %at, %new : (tensor<2x6xf32>, tensor<0x1xi64>, tensor<0x6xf32>) -> tensor<2x6xf32>
  return %0, %1 : tensor<2x12xf32>, tensor<2x6xf32>
}

// -----

// Sums and largest of nothing are known; what may have elements stays.
// CHECK-LABEL: func.func @reduced
// CHECK-DAG: ge.constant dense<0.000000e+00> : tensor<2xf32>
// CHECK-DAG: ge.constant dense<"0x000080FF"> : tensor<2xf32>
// CHECK: ge.concat %u, %u
func.func @reduced(%x: tensor<2x0xf32>, %u: tensor<2x?xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2x?xf32>) {
  %0 = ge.reduce_sum %x {axes = [1], keepdims = false} : (tensor<2x0xf32>) -> tensor<2xf32>
  %1 = ge.reduce_max %x {axes = [1], keepdims = false} : (tensor<2x0xf32>) -> tensor<2xf32>
  %2 = ge.concat %u, %u {axis = 1} : (tensor<2x?xf32>, tensor<2x?xf32>) -> tensor<2x?xf32>
  return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2x?xf32>
}
