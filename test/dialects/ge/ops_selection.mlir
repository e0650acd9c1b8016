// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// Elements chosen by value; sizes that depend on the data are unknown.

// CHECK-LABEL: func.func @top_k
func.func @top_k(%x: tensor<2x8xf32>, %n: tensor<1xi64>) {
  // CHECK: %a, %ai = ge.top_k %x {k = 3} : (tensor<2x8xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>)
  %a, %ai = ge.top_k %x {k = 3} : (tensor<2x8xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>)
  // CHECK: %b, %bi = ge.top_k %x {k = 1, axis = 0, largest = false, sorted = false} : (tensor<2x8xf32>) -> (tensor<1x8xf32>, tensor<1x8xi64>)
  %b, %bi = ge.top_k %x {k = 1, axis = 0, largest = false, sorted = false} : (tensor<2x8xf32>) -> (tensor<1x8xf32>, tensor<1x8xi64>)
  // CHECK: %c, %ci = ge.top_k %x, %n : (tensor<2x8xf32>, tensor<1xi64>) -> (tensor<2x?xf32>, tensor<2x?xi64>)
  %c, %ci = ge.top_k %x, %n : (tensor<2x8xf32>, tensor<1xi64>) -> (tensor<2x?xf32>, tensor<2x?xi64>)
  return
}

// CHECK-LABEL: func.func @unique
func.func @unique(%x: tensor<4x5xi32>) {
  // CHECK: %a, %b, %c, %d = ge.unique %x {axis = 1, sorted = false} : (tensor<4x5xi32>) -> (tensor<4x?xi32>, tensor<?xi64>, tensor<5xi64>, tensor<?xi64>)
  %a, %b, %c, %d = ge.unique %x {axis = 1, sorted = false} : (tensor<4x5xi32>) -> (tensor<4x?xi32>, tensor<?xi64>, tensor<5xi64>, tensor<?xi64>)
  return
}

// CHECK-LABEL: func.func @non_zero
func.func @non_zero(%x: tensor<4x5xi1>) {
  // CHECK: %a = ge.non_zero %x : (tensor<4x5xi1>) -> tensor<2x?xi64>
  %a = ge.non_zero %x : (tensor<4x5xi1>) -> tensor<2x?xi64>
  // CHECK: %b = ge.non_zero %x : (tensor<4x5xi1>) -> tensor<2x7xi64>
  %b = ge.non_zero %x : (tensor<4x5xi1>) -> tensor<2x7xi64>
  return
}

// CHECK-LABEL: func.func @compress
func.func @compress(%x: tensor<4x5xf32>, %c: tensor<3xi1>) {
  // CHECK: %a = ge.compress %x, %c {axis = 1} : (tensor<4x5xf32>, tensor<3xi1>) -> tensor<4x?xf32>
  %a = ge.compress %x, %c {axis = 1} : (tensor<4x5xf32>, tensor<3xi1>) -> tensor<4x?xf32>
  return
}

// CHECK-LABEL: func.func @non_max_suppression
func.func @non_max_suppression(%b: tensor<1x6x4xf32>, %s: tensor<1x2x6xf32>, %n: tensor<i64>, %i: tensor<1xf32>, %t: tensor<1xf32>) {
  // CHECK: %a = ge.non_max_suppression %b, %s, %n, %i, %t : (tensor<1x6x4xf32>, tensor<1x2x6xf32>, tensor<i64>, tensor<1xf32>, tensor<1xf32>) -> tensor<?x3xi64>
  %a = ge.non_max_suppression %b, %s, %n, %i, %t : (tensor<1x6x4xf32>, tensor<1x2x6xf32>, tensor<i64>, tensor<1xf32>, tensor<1xf32>) -> tensor<?x3xi64>
  // CHECK: %c = ge.non_max_suppression %b, %s, %n, %i, %t {center_point_box = true} : (tensor<1x6x4xf32>, tensor<1x2x6xf32>, tensor<i64>, tensor<1xf32>, tensor<1xf32>) -> tensor<?x3xi64>
  %c = ge.non_max_suppression %b, %s, %n, %i, %t {center_point_box = true} : (tensor<1x6x4xf32>, tensor<1x2x6xf32>, tensor<i64>, tensor<1xf32>, tensor<1xf32>) -> tensor<?x3xi64>
  return
}
