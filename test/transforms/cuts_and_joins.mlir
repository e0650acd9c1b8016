// RUN: ge-opt --no-locations --ge-canonicalize --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @concats
func.func @concats(%a: tensor<1x2x4xf32>, %b: tensor<1x3x4xf32>) -> tensor<1x10x4xf32> {
  // CHECK-NEXT: ge.concat %a, %b, %a, %b {axis = 1}
  %0 = ge.concat %b, %a {axis = -2} : (tensor<1x3x4xf32>, tensor<1x2x4xf32>) -> tensor<1x5x4xf32>
  %1 = ge.concat %a, %0, %b {axis = 1} : (tensor<1x2x4xf32>, tensor<1x5x4xf32>, tensor<1x3x4xf32>) -> tensor<1x10x4xf32>
  return %1 : tensor<1x10x4xf32>
}

// -----

// Not on two axes, and not if somebody else reads the inner one.
// CHECK-LABEL: func.func @concats_stay
func.func @concats_stay(%a: tensor<2x2xf32>, %b: tensor<4x2xf32>) -> (tensor<4x4xf32>, tensor<6x2xf32>, tensor<8x2xf32>) {
  // CHECK: ge.concat %a, %a {axis = 0}
  %0 = ge.concat %a, %a {axis = 0} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  // CHECK-NEXT: ge.concat %{{.*}}, %b {axis = 1}
  %1 = ge.concat %0, %b {axis = 1} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: %[[S:.*]] = ge.concat %a, %b {axis = 0}
  %2 = ge.concat %a, %b {axis = 0} : (tensor<2x2xf32>, tensor<4x2xf32>) -> tensor<6x2xf32>
  // CHECK-NEXT: ge.concat %[[S]], %a {axis = 0}
  %3 = ge.concat %2, %a {axis = 0} : (tensor<6x2xf32>, tensor<2x2xf32>) -> tensor<8x2xf32>
  return %1, %2, %3 : tensor<4x4xf32>, tensor<6x2xf32>, tensor<8x2xf32>
}

// -----

// Also if somebody else reads the first slice; backwards it ends in front of place 0.
// CHECK-LABEL: func.func @slices
func.func @slices(%x: tensor<1x9x4xf32>) -> (tensor<1x6x4xf32>, tensor<1x2x4xf32>, tensor<1x3x4xf32>) {
  // CHECK-NEXT: ge.slice %x {starts = [2], ends = [-1], axes = [1], steps = [1]}
  %0 = ge.slice %x {starts = [2], ends = [-1], axes = [1], steps = [1]} : (tensor<1x9x4xf32>) -> tensor<1x6x4xf32>
  // CHECK-NEXT: ge.slice %x {starts = [3], ends = [7], axes = [1], steps = [2]}
  %1 = ge.slice %0 {starts = [1], ends = [5], axes = [-2], steps = [2]} : (tensor<1x6x4xf32>) -> tensor<1x2x4xf32>
  // CHECK-NEXT: ge.slice %x {starts = [4], ends = [-10], axes = [1], steps = [-2]}
  %2 = ge.slice %x {starts = [0], ends = [5], axes = [1], steps = [2]} : (tensor<1x9x4xf32>) -> tensor<1x3x4xf32>
  %3 = ge.slice %2 {starts = [2], ends = [-9], axes = [1], steps = [-1]} : (tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
  return %0, %1, %3 : tensor<1x6x4xf32>, tensor<1x2x4xf32>, tensor<1x3x4xf32>
}

// -----

// Two axes, or an extent that nobody knows.
// CHECK-LABEL: func.func @slices_stay
func.func @slices_stay(%x: tensor<8x8xf32>, %y: tensor<?x8xf32>) -> (tensor<4x4xf32>, tensor<?x8xf32>) {
  // CHECK-COUNT-4: ge.slice
  %0 = ge.slice %x {starts = [0], ends = [8], axes = [0], steps = [2]} : (tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = ge.slice %0 {starts = [0], ends = [8], axes = [1], steps = [2]} : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %2 = ge.slice %y {starts = [1], ends = [7], axes = [0], steps = [1]} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %3 = ge.slice %2 {starts = [1], ends = [7], axes = [0], steps = [1]} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %1, %3 : tensor<4x4xf32>, tensor<?x8xf32>
}

// -----

// What lies in one part is cut from it, or is that part.
// CHECK-LABEL: func.func @slice_of_concat
func.func @slice_of_concat(%a: tensor<1x2x4xf32>, %b: tensor<1x6x4xf32>) -> (tensor<1x2x4xf32>, tensor<1x3x4xf32>, tensor<1x6x4xf32>, tensor<1x8x4xf32>) {
  %0 = ge.concat %a, %b {axis = 1} : (tensor<1x2x4xf32>, tensor<1x6x4xf32>) -> tensor<1x8x4xf32>
  %1 = ge.slice %0 {starts = [0], ends = [2], axes = [1], steps = [1]} : (tensor<1x8x4xf32>) -> tensor<1x2x4xf32>
  // CHECK: %[[S:.*]] = ge.slice %b {starts = [5], ends = [-7], axes = [1], steps = [-2]}
  %2 = ge.slice %0 {starts = [-1], ends = [1], axes = [1], steps = [-2]} : (tensor<1x8x4xf32>) -> tensor<1x3x4xf32>
  %3 = ge.slice %0 {starts = [2], ends = [8], axes = [1], steps = [1]} : (tensor<1x8x4xf32>) -> tensor<1x6x4xf32>
  // CHECK-NEXT: return %a, %[[S]], %b
  return %1, %2, %3, %0 : tensor<1x2x4xf32>, tensor<1x3x4xf32>, tensor<1x6x4xf32>, tensor<1x8x4xf32>
}

// -----

// Across the border between the parts, or along another axis.
// CHECK-LABEL: func.func @slice_of_concat_stays
func.func @slice_of_concat_stays(%a: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>) {
  // CHECK-NEXT: %[[C:.*]] = ge.concat
  %0 = ge.concat %a, %a {axis = 0} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: ge.slice %[[C]]
  %1 = ge.slice %0 {starts = [1], ends = [3], axes = [0], steps = [1]} : (tensor<4x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: ge.slice %[[C]]
  %2 = ge.slice %0 {starts = [0], ends = [2], axes = [1], steps = [1]} : (tensor<4x4xf32>) -> tensor<4x2xf32>
  return %1, %2 : tensor<2x4xf32>, tensor<4x2xf32>
}

// -----

// A split that is put together again is what it was, or one slice.
// CHECK-LABEL: func.func @join
func.func @join(%x: tensor<8x4xf32>) -> (tensor<2x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) {
  // CHECK-NEXT: %[[A:.*]] = ge.slice %x {starts = [0], ends = [2]
  %0 = ge.slice %x {starts = [0], ends = [2], axes = [0], steps = [1]} : (tensor<8x4xf32>) -> tensor<2x4xf32>
  %1 = ge.slice %x {starts = [2], ends = [8], axes = [0], steps = [1]} : (tensor<8x4xf32>) -> tensor<6x4xf32>
  %2 = ge.concat %0, %1 {axis = 0} : (tensor<2x4xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %3 = ge.slice %x {starts = [1], ends = [3], axes = [0], steps = [1]} : (tensor<8x4xf32>) -> tensor<2x4xf32>
  %4 = ge.slice %x {starts = [3], ends = [7], axes = [0], steps = [1]} : (tensor<8x4xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: %[[J:.*]] = ge.slice %x {starts = [1], ends = [7], axes = [0], steps = [1]}
  // CHECK-NEXT: %[[C:.*]] = ge.concat %[[A]], %[[J]] {axis = 0}
  %5 = ge.concat %0, %3, %4 {axis = 0} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: return %[[A]], %x, %[[C]]
  return %0, %2, %5 : tensor<2x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// In another order, along another axis, or with a slice that somebody else reads.
// CHECK-LABEL: func.func @join_stays
func.func @join_stays(%x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<2x8xf32>, tensor<2x4xf32>, tensor<4x4xf32>) {
  // CHECK-COUNT-6: ge.slice
  %0 = ge.slice %x {starts = [0], ends = [3], axes = [0], steps = [1]} : (tensor<8x4xf32>) -> tensor<3x4xf32>
  %1 = ge.slice %x {starts = [3], ends = [8], axes = [0], steps = [1]} : (tensor<8x4xf32>) -> tensor<5x4xf32>
  %2 = ge.concat %1, %0 {axis = 0} : (tensor<5x4xf32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  %3 = ge.slice %x {starts = [0], ends = [2], axes = [0], steps = [1]} : (tensor<8x4xf32>) -> tensor<2x4xf32>
  %4 = ge.slice %x {starts = [2], ends = [4], axes = [0], steps = [1]} : (tensor<8x4xf32>) -> tensor<2x4xf32>
  %5 = ge.concat %3, %4 {axis = 1} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  %6 = ge.slice %x {starts = [4], ends = [6], axes = [0], steps = [1]} : (tensor<8x4xf32>) -> tensor<2x4xf32>
  %7 = ge.slice %x {starts = [6], ends = [8], axes = [0], steps = [1]} : (tensor<8x4xf32>) -> tensor<2x4xf32>
  %8 = ge.concat %6, %7 {axis = 0} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  return %2, %5, %6, %8 : tensor<8x4xf32>, tensor<2x8xf32>, tensor<2x4xf32>, tensor<4x4xf32>
}
