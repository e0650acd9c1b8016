// RUN: ge-opt --no-locations --expand-sequences --split-input-file %s | FileCheck %s

// A cache is written on row by row: batch, head and place name a row.
// CHECK-LABEL: func.func @cache
// CHECK: %[[STARTS:.*]] = ge.cast %{{.*}} : (tensor<2xi64>) -> tensor<2xi32>
// CHECK: %[[PLACES:.*]] = ge.add %{{.*}}, %{{.*}} : (tensor<2x3x1xi32>, tensor<2x1x1xi32>) -> tensor<2x3x1xi32>
// CHECK: %[[INDEX:.*]] = ge.concat {{.*}} -> tensor<2x3x1x3xi32>
// CHECK: ge.scatter_nd %x, %[[INDEX]], %u
func.func @cache(%x: tensor<2x3x8x4xf32>, %u: tensor<2x3x1x4xf32>, %s: tensor<2xi64>) -> tensor<2x3x8x4xf32> {
  %0 = ge.tensor_scatter %x, %u, %s : (tensor<2x3x8x4xf32>, tensor<2x3x1x4xf32>, tensor<2xi64>) -> tensor<2x3x8x4xf32>
  return %0 : tensor<2x3x8x4xf32>
}

// -----

// Around the end of the axis.
// CHECK-LABEL: func.func @circular
// CHECK: ge.mod
// CHECK: ge.scatter_nd
func.func @circular(%x: tensor<2x8x4xf32>, %u: tensor<2x2x4xf32>, %s: tensor<2xi64>) -> tensor<2x8x4xf32> {
  %0 = ge.tensor_scatter %x, %u, %s {circular = true} : (tensor<2x8x4xf32>, tensor<2x2x4xf32>, tensor<2xi64>) -> tensor<2x8x4xf32>
  return %0 : tensor<2x8x4xf32>
}

// -----

// From the begin on: nothing is to be looked up.
// CHECK-LABEL: func.func @begin
// CHECK: %[[REST:.*]] = ge.slice %x {starts = [2], ends = [8], axes = [1], steps = [1]}
// CHECK: ge.concat %u, %[[REST]] {axis = 1}
func.func @begin(%x: tensor<2x8x4xf32>, %u: tensor<2x2x4xf32>) -> tensor<2x8x4xf32> {
  %0 = ge.tensor_scatter %x, %u : (tensor<2x8x4xf32>, tensor<2x2x4xf32>) -> tensor<2x8x4xf32>
  return %0 : tensor<2x8x4xf32>
}

// -----

// Behind the end of a sequence the places stay.
// CHECK-LABEL: func.func @turned
// CHECK: %[[INSIDE:.*]] = ge.compare %{{.*}}, %{{.*}} {predicate = "lt"} : (tensor<9x1xi32>, tensor<1x2xi32>) -> tensor<9x2xi1>
// CHECK: ge.select %[[INSIDE]]
// CHECK: ge.gather_nd %x, %{{.*}} : (tensor<9x2x16xf32>, tensor<9x2x2xi32>) -> tensor<9x2x16xf32>
func.func @turned(%x: tensor<9x2x16xf32>, %l: tensor<2xi64>) -> tensor<9x2x16xf32> {
  %0 = ge.reverse_sequence %x, %l : (tensor<9x2x16xf32>, tensor<2xi64>) -> tensor<9x2x16xf32>
  return %0 : tensor<9x2x16xf32>
}
