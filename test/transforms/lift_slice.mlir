// RUN: ge-opt --no-locations '--ge-canonicalize=only=lift-slice-over-reshape' --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @batch
// CHECK: %[[S:.*]] = ge.slice %x {starts = [1], ends = [2], axes = [0], steps = [1]} : (tensor<3x6x8xf32>) -> tensor<1x6x8xf32>
// CHECK-NEXT: ge.reshape %[[S]] {shape = [1, 6, 1, 8]}
func.func @batch(%x: tensor<3x6x8xf32>) -> tensor<1x6x1x8xf32> {
  %0 = ge.reshape %x {shape = [3, 6, 1, 8]} : (tensor<3x6x8xf32>) -> tensor<3x6x1x8xf32>
  %1 = ge.slice %0 {starts = [1], ends = [2], axes = [0], steps = [1]} : (tensor<3x6x1x8xf32>) -> tensor<1x6x1x8xf32>
  return %1 : tensor<1x6x1x8xf32>
}

// -----

// Columns stay columns when rows are cut, and a negative axis counts from the back.
// CHECK-LABEL: func.func @columns
// CHECK: %[[S:.*]] = ge.slice %x {starts = [2], ends = [4], axes = [1], steps = [1]} : (tensor<6x8xf32>) -> tensor<6x2xf32>
// CHECK-NEXT: ge.reshape %[[S]] {shape = [2, 3, 2]}
func.func @columns(%x: tensor<6x8xf32>) -> tensor<2x3x2xf32> {
  %0 = ge.reshape %x {shape = [2, 3, 8]} : (tensor<6x8xf32>) -> tensor<2x3x8xf32>
  %1 = ge.slice %0 {starts = [2], ends = [4], axes = [-1], steps = [1]} : (tensor<2x3x8xf32>) -> tensor<2x3x2xf32>
  return %1 : tensor<2x3x2xf32>
}

// -----

// An axis that the reshape makes, one of equal extent elsewhere, two axes at once.
// CHECK-LABEL: func.func @guards
// CHECK: ge.reshape
// CHECK-NEXT: ge.slice
// CHECK-NEXT: ge.reshape
// CHECK-NEXT: ge.slice
// CHECK-NEXT: ge.slice
func.func @guards(%x: tensor<6x8xf32>, %y: tensor<2x12xf32>) -> (tensor<1x3x8xf32>, tensor<12x1xf32>, tensor<5x7xf32>) {
  %0 = ge.reshape %x {shape = [2, 3, 8]} : (tensor<6x8xf32>) -> tensor<2x3x8xf32>
  %1 = ge.slice %0 {starts = [1], ends = [2], axes = [0], steps = [1]} : (tensor<2x3x8xf32>) -> tensor<1x3x8xf32>
  %2 = ge.reshape %y {shape = [12, 2]} : (tensor<2x12xf32>) -> tensor<12x2xf32>
  %3 = ge.slice %2 {starts = [1], ends = [2], axes = [1], steps = [1]} : (tensor<12x2xf32>) -> tensor<12x1xf32>
  %4 = ge.slice %x {starts = [1, 1], ends = [6, 8], axes = [0, 1], steps = [1, 1]} : (tensor<6x8xf32>) -> tensor<5x7xf32>
  return %1, %3, %4 : tensor<1x3x8xf32>, tensor<12x1xf32>, tensor<5x7xf32>
}
