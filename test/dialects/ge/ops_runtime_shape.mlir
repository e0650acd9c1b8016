// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// Shapes, sizes and bounds that are computed at run time.

// CHECK-LABEL: func.func @shape_of
func.func @shape_of(%x: tensor<?x3x?xf32>) {
  // CHECK: %a = ge.shape_of %x : (tensor<?x3x?xf32>) -> tensor<3xi64>
  %a = ge.shape_of %x : (tensor<?x3x?xf32>) -> tensor<3xi64>
  // CHECK: %b = ge.shape_of %x {start = -2, end = 2} : (tensor<?x3x?xf32>) -> tensor<1xi64>
  %b = ge.shape_of %x {start = -2, end = 2} : (tensor<?x3x?xf32>) -> tensor<1xi64>
  return
}

// CHECK-LABEL: func.func @reshape_to
func.func @reshape_to(%x: tensor<?x3x?xf32>, %s: tensor<2xi64>) {
  // CHECK: %a = ge.reshape_to %x, %s : (tensor<?x3x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %a = ge.reshape_to %x, %s : (tensor<?x3x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  // CHECK: %b = ge.reshape_to %x, %s {allow_zero = true} : (tensor<?x3x?xf32>, tensor<2xi64>) -> tensor<?x12xf32>
  %b = ge.reshape_to %x, %s {allow_zero = true} : (tensor<?x3x?xf32>, tensor<2xi64>) -> tensor<?x12xf32>
  return
}

// CHECK-LABEL: func.func @expand_to
func.func @expand_to(%x: tensor<3x1xf32>, %s: tensor<3xi64>) {
  // CHECK: %a = ge.expand_to %x, %s : (tensor<3x1xf32>, tensor<3xi64>) -> tensor<?x3x?xf32>
  %a = ge.expand_to %x, %s : (tensor<3x1xf32>, tensor<3xi64>) -> tensor<?x3x?xf32>
  return
}

// CHECK-LABEL: func.func @tile_by
func.func @tile_by(%x: tensor<3x?xi8>, %n: tensor<2xi64>) {
  // CHECK: %a = ge.tile_by %x, %n : (tensor<3x?xi8>, tensor<2xi64>) -> tensor<?x?xi8>
  %a = ge.tile_by %x, %n : (tensor<3x?xi8>, tensor<2xi64>) -> tensor<?x?xi8>
  return
}

// CHECK-LABEL: func.func @slice_at
func.func @slice_at(%x: tensor<3x8x?xf32>, %a: tensor<1xi64>, %b: tensor<1xi64>) {
  // CHECK: %c = ge.slice_at %x, %a, %b {axes = [1]} : (tensor<3x8x?xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<3x?x?xf32>
  %c = ge.slice_at %x, %a, %b {axes = [1]} : (tensor<3x8x?xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<3x?x?xf32>
  // CHECK: %d = ge.slice_at %x, %a, %b, %b {axes = [-1]} : (tensor<3x8x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3x8x?xf32>
  %d = ge.slice_at %x, %a, %b, %b {axes = [-1]} : (tensor<3x8x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3x8x?xf32>
  return
}

// CHECK-LABEL: func.func @pad_by
func.func @pad_by(%x: tensor<3x?xf32>, %p: tensor<2xi32>, %v: tensor<f32>) {
  // CHECK: %a = ge.pad_by %x, %p {axes = [1], mode = "reflect"} : (tensor<3x?xf32>, tensor<2xi32>) -> tensor<3x?xf32>
  %a = ge.pad_by %x, %p {axes = [1], mode = "reflect"} : (tensor<3x?xf32>, tensor<2xi32>) -> tensor<3x?xf32>
  // CHECK: %b = ge.pad_by %x, %p, %v {axes = [0]} : (tensor<3x?xf32>, tensor<2xi32>, tensor<f32>) -> tensor<?x?xf32>
  %b = ge.pad_by %x, %p, %v {axes = [0]} : (tensor<3x?xf32>, tensor<2xi32>, tensor<f32>) -> tensor<?x?xf32>
  return
}

// CHECK-LABEL: func.func @made
func.func @made(%a: tensor<i64>, %s: tensor<2xi64>, %v: tensor<1xf16>) {
  // CHECK: %r = ge.range %a, %a, %a : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %r = ge.range %a, %a, %a : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  // CHECK: %f = ge.fill %s, %v : (tensor<2xi64>, tensor<1xf16>) -> tensor<?x?xf16>
  %f = ge.fill %s, %v : (tensor<2xi64>, tensor<1xf16>) -> tensor<?x?xf16>
  return
}
