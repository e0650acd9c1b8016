// RUN: ge-opt --no-locations --fuse-heads --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @split_and_merge
// CHECK-NEXT: %[[H:.*]] = ge.split_heads %x {heads = 12} : (tensor<1x128x768xf32>) -> tensor<1x12x128x64xf32>
// CHECK-NEXT: %[[M:.*]] = ge.merge_heads %[[H]] : (tensor<1x12x128x64xf32>) -> tensor<1x128x768xf32>
// CHECK-NEXT: return %[[M]]
func.func @split_and_merge(%x: tensor<1x128x768xf32>) -> tensor<1x128x768xf32> {
  %0 = ge.reshape %x {shape = [1, 128, 12, 64]} : (tensor<1x128x768xf32>) -> tensor<1x128x12x64xf32>
  %1 = ge.transpose %0 {perm = [0, 2, 1, 3]} : (tensor<1x128x12x64xf32>) -> tensor<1x12x128x64xf32>
  %2 = ge.transpose %1 {perm = [0, 2, 1, 3]} : (tensor<1x12x128x64xf32>) -> tensor<1x128x12x64xf32>
  %3 = ge.reshape %2 {shape = [1, 128, 768]} : (tensor<1x128x12x64xf32>) -> tensor<1x128x768xf32>
  return %3 : tensor<1x128x768xf32>
}

// -----

// Rows of all sequences in one matrix: the reshape that is left only cuts rows.
// CHECK-LABEL: func.func @flat_rows
// CHECK-NEXT: %[[R:.*]] = ge.reshape %x {shape = [2, 16, 24]}
// CHECK-NEXT: %[[H:.*]] = ge.split_heads %[[R]] {heads = 3} : (tensor<2x16x24xf32>) -> tensor<2x3x16x8xf32>
// CHECK-NEXT: %[[M:.*]] = ge.merge_heads %[[H]]
// CHECK-NEXT: ge.reshape %[[M]] {shape = [32, 24]}
func.func @flat_rows(%x: tensor<32x24xf32>) -> tensor<32x24xf32> {
  %0 = ge.reshape %x {shape = [2, 16, 3, 8]} : (tensor<32x24xf32>) -> tensor<2x16x3x8xf32>
  %1 = ge.transpose %0 {perm = [0, 2, 1, 3]} : (tensor<2x16x3x8xf32>) -> tensor<2x3x16x8xf32>
  %2 = ge.transpose %1 {perm = [0, 2, 1, 3]} : (tensor<2x3x16x8xf32>) -> tensor<2x16x3x8xf32>
  %3 = ge.reshape %2 {shape = [32, 24]} : (tensor<2x16x3x8xf32>) -> tensor<32x24xf32>
  return %3 : tensor<32x24xf32>
}

// -----

// Another permutation; a reshape that does not cut the columns; a transposed tensor that somebody else reads as well.
// CHECK-LABEL: func.func @guards
// CHECK-NOT: heads
// CHECK: return
func.func @guards(%x: tensor<2x6x8xf32>, %y: tensor<6x16xf32>, %z: tensor<2x3x4x8xf32>) -> (tensor<2x8x6x1xf32>, tensor<2x3x4x4xf32>, tensor<2x4x24xf32>, tensor<2x4x3x8xf32>) {
  %0 = ge.reshape %x {shape = [2, 6, 1, 8]} : (tensor<2x6x8xf32>) -> tensor<2x6x1x8xf32>
  %1 = ge.transpose %0 {perm = [0, 3, 1, 2]} : (tensor<2x6x1x8xf32>) -> tensor<2x8x6x1xf32>
  %2 = ge.reshape %y {shape = [2, 4, 3, 4]} : (tensor<6x16xf32>) -> tensor<2x4x3x4xf32>
  %3 = ge.transpose %2 {perm = [0, 2, 1, 3]} : (tensor<2x4x3x4xf32>) -> tensor<2x3x4x4xf32>
  %4 = ge.transpose %z {perm = [0, 2, 1, 3]} : (tensor<2x3x4x8xf32>) -> tensor<2x4x3x8xf32>
  %5 = ge.reshape %4 {shape = [2, 4, 24]} : (tensor<2x4x3x8xf32>) -> tensor<2x4x24xf32>
  return %1, %3, %5, %4 : tensor<2x8x6x1xf32>, tensor<2x3x4x4xf32>, tensor<2x4x24xf32>, tensor<2x4x3x8xf32>
}

// -----

// A norm of each head's columns stands behind the heads, one over all of a row's columns or read twice stays.
// CHECK-LABEL: func.func @norm_of_heads
// CHECK: %[[H:.*]] = ge.split_heads %x {heads = 2} : (tensor<1x3x32xf32>) -> tensor<1x2x3x16xf32>
// CHECK-NEXT: ge.rms_norm %[[H]], %s {axis = 3
func.func @norm_of_heads(%x: tensor<1x3x32xf32>, %s: tensor<16xf32>) -> tensor<1x2x3x16xf32> {
  %0 = ge.reshape %x {shape = [1, 3, 2, 16]} : (tensor<1x3x32xf32>) -> tensor<1x3x2x16xf32>
  %1 = ge.rms_norm %0, %s {axis = 3} : (tensor<1x3x2x16xf32>, tensor<16xf32>) -> tensor<1x3x2x16xf32>
  %2 = ge.transpose %1 {perm = [0, 2, 1, 3]} : (tensor<1x3x2x16xf32>) -> tensor<1x2x3x16xf32>
  return %2 : tensor<1x2x3x16xf32>
}
// CHECK-LABEL: func.func @norms_that_stay
// CHECK-COUNT-2: ge.transpose
// CHECK-NOT: ge.rms_norm
func.func @norms_that_stay(%x: tensor<1x3x32xf32>, %s: tensor<2x16xf32>, %t: tensor<16xf32>) -> (tensor<1x2x3x16xf32>, tensor<1x2x3x16xf32>, tensor<1x3x2x16xf32>) {
  %0 = ge.reshape %x {shape = [1, 3, 2, 16]} : (tensor<1x3x32xf32>) -> tensor<1x3x2x16xf32>
  %1 = ge.rms_norm %0, %s {axis = 2} : (tensor<1x3x2x16xf32>, tensor<2x16xf32>) -> tensor<1x3x2x16xf32>
  %2 = ge.rms_norm %0, %t {axis = 3} : (tensor<1x3x2x16xf32>, tensor<16xf32>) -> tensor<1x3x2x16xf32>
  %3 = ge.transpose %1 {perm = [0, 2, 1, 3]} : (tensor<1x3x2x16xf32>) -> tensor<1x2x3x16xf32>
  %4 = ge.transpose %2 {perm = [0, 2, 1, 3]} : (tensor<1x3x2x16xf32>) -> tensor<1x2x3x16xf32>
  return %3, %4, %2 : tensor<1x2x3x16xf32>, tensor<1x2x3x16xf32>, tensor<1x3x2x16xf32>
}

// -----

// Swin cuts queries, keys and values of each window at once: heads of the whole, and slices of these.
// CHECK-LABEL: func.func @three_at_once
// CHECK-NEXT: %[[H:.*]] = ge.split_heads %x {heads = 6} : (tensor<2x3x96xf32>) -> tensor<2x6x3x16xf32>
// CHECK-NEXT: %[[K:.*]] = ge.slice %[[H]] {starts = [2], ends = [4], axes = [1], steps = [1]}
// CHECK-NEXT: ge.reshape %[[K]] {shape = [1, 2, 2, 3, 16]}
func.func @three_at_once(%x: tensor<2x3x96xf32>) -> tensor<1x2x2x3x16xf32> {
  %0 = ge.reshape %x {shape = [2, 3, 3, 2, 16]} : (tensor<2x3x96xf32>) -> tensor<2x3x3x2x16xf32>
  %1 = ge.transpose %0 {perm = [2, 0, 3, 1, 4]} : (tensor<2x3x3x2x16xf32>) -> tensor<3x2x2x3x16xf32>
  %2 = ge.slice %1 {starts = [1], ends = [2], axes = [0], steps = [1]} : (tensor<3x2x2x3x16xf32>) -> tensor<1x2x2x3x16xf32>
  return %2 : tensor<1x2x2x3x16xf32>
}
// Heads of 8 columns, rows of all windows in one matrix, two parts of three: they would be copied in any case.
// CHECK-LABEL: func.func @parts_that_stay
// CHECK-NOT: ge.split_heads
func.func @parts_that_stay(%x: tensor<2x3x48xf32>, %y: tensor<6x96xf32>, %z: tensor<2x3x96xf32>) -> (tensor<1x2x2x3x8xf32>, tensor<1x2x2x3x16xf32>, tensor<2x2x2x3x16xf32>) {
  %0 = ge.reshape %x {shape = [2, 3, 3, 2, 8]} : (tensor<2x3x48xf32>) -> tensor<2x3x3x2x8xf32>
  %1 = ge.transpose %0 {perm = [2, 0, 3, 1, 4]} : (tensor<2x3x3x2x8xf32>) -> tensor<3x2x2x3x8xf32>
  %2 = ge.slice %1 {starts = [1], ends = [2], axes = [0], steps = [1]} : (tensor<3x2x2x3x8xf32>) -> tensor<1x2x2x3x8xf32>
  %3 = ge.reshape %y {shape = [2, 3, 3, 2, 16]} : (tensor<6x96xf32>) -> tensor<2x3x3x2x16xf32>
  %4 = ge.transpose %3 {perm = [2, 0, 3, 1, 4]} : (tensor<2x3x3x2x16xf32>) -> tensor<3x2x2x3x16xf32>
  %5 = ge.slice %4 {starts = [1], ends = [2], axes = [0], steps = [1]} : (tensor<3x2x2x3x16xf32>) -> tensor<1x2x2x3x16xf32>
  %6 = ge.reshape %z {shape = [2, 3, 3, 2, 16]} : (tensor<2x3x96xf32>) -> tensor<2x3x3x2x16xf32>
  %7 = ge.transpose %6 {perm = [2, 0, 3, 1, 4]} : (tensor<2x3x3x2x16xf32>) -> tensor<3x2x2x3x16xf32>
  %8 = ge.slice %7 {starts = [1], ends = [3], axes = [0], steps = [1]} : (tensor<3x2x2x3x16xf32>) -> tensor<2x2x2x3x16xf32>
  return %2, %5, %8 : tensor<1x2x2x3x8xf32>, tensor<1x2x2x3x16xf32>, tensor<2x2x2x3x16xf32>
}
