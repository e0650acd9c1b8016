// RUN: ge-opt --no-locations --fuse-matmul-elementwise --split-input-file %s | FileCheck %s

// factor = 4 / sqrt(4), 3 / sqrt(1); shift = 5 - 1 * 2, 7 - 2 * 3: columns [1, 10] become [2, 30].
// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<1x4x1xf32>) -> tensor<4x2xf32> {
  %w = ge.constant dense<[[1.0, 10.0]]> : tensor<1x2xf32>
  %s = ge.constant dense<[4.0, 3.0]> : tensor<2xf32>
  %b = ge.constant dense<[5.0, 7.0]> : tensor<2xf32>
  %m = ge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %v = ge.constant dense<[4.0, 1.0]> : tensor<2xf32>
  // CHECK-DAG: %[[W:.*]] = ge.constant dense<{{\[\[}}2.000000e+00, 3.000000e+01]]> : tensor<1x2xf32>
  // CHECK-DAG: %[[B:.*]] = ge.constant dense<[3.000000e+00, 1.000000e+00]> : tensor<2xf32>
  // CHECK: %[[P:.*]] = ge.matmul %x, %[[W]], %[[B]] :
  // CHECK-NEXT: %[[R:.*]] = ge.reshape %[[P]] {shape = [4, 2]}
  // CHECK-NEXT: return %[[R]]
  %0 = ge.matmul %x, %w : (tensor<1x4x1xf32>, tensor<1x2xf32>) -> tensor<1x4x2xf32>
  %1 = ge.reshape %0 {shape = [4, 2]} : (tensor<1x4x2xf32>) -> tensor<4x2xf32>
  %2 = ge.batch_norm %1, %s, %b, %m, %v {epsilon = 0.0} : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// -----

// The same with a bias of 1 and weights that lie the other way round: shift = 1 * 2 + 3, 1 * 3 + 1.
// CHECK-LABEL: func.func @bias
func.func @bias(%x: tensor<4x1xf32>) -> tensor<4x2xf32> {
  %w = ge.constant dense<[[1.0], [10.0]]> : tensor<2x1xf32>
  %one = ge.constant dense<1.0> : tensor<2xf32>
  %s = ge.constant dense<[4.0, 3.0]> : tensor<2xf32>
  %b = ge.constant dense<[5.0, 7.0]> : tensor<2xf32>
  %m = ge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %v = ge.constant dense<[4.0, 1.0]> : tensor<2xf32>
  // CHECK-DAG: %[[W:.*]] = ge.constant dense<{{\[\[}}2.000000e+00], [3.000000e+01]]> : tensor<2x1xf32>
  // CHECK-DAG: %[[B:.*]] = ge.constant dense<[5.000000e+00, 4.000000e+00]> : tensor<2xf32>
  // CHECK: %[[P:.*]] = ge.matmul %x, %[[W]], %[[B]] {transpose_b = true} :
  // CHECK-NEXT: return %[[P]]
  %0 = ge.matmul %x, %w, %one {transpose_b = true} : (tensor<4x1xf32>, tensor<2x1xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %1 = ge.batch_norm %0, %s, %b, %m, %v {epsilon = 0.0} : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

// -----

// A reshape that makes other columns, a second reader of the product, and of the reshape.
// CHECK-LABEL: func.func @other_columns_and_readers
// CHECK-COUNT-3: ge.batch_norm
func.func @other_columns_and_readers(%x: tensor<4x1xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>) {
  %w = ge.constant dense<1.0> : tensor<1x2xf32>
  %two = ge.constant dense<2.0> : tensor<2xf32>
  %four = ge.constant dense<4.0> : tensor<4xf32>
  %0 = ge.matmul %x, %w : (tensor<4x1xf32>, tensor<1x2xf32>) -> tensor<4x2xf32>
  %1 = ge.reshape %0 {shape = [2, 4]} : (tensor<4x2xf32>) -> tensor<2x4xf32>
  %2 = ge.batch_norm %1, %four, %four, %four, %four : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %3 = ge.matmul %x, %w : (tensor<4x1xf32>, tensor<1x2xf32>) -> tensor<4x2xf32>
  %4 = ge.batch_norm %3, %two, %two, %two, %two : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %5 = ge.matmul %x, %w : (tensor<4x1xf32>, tensor<1x2xf32>) -> tensor<4x2xf32>
  %6 = ge.relu %5 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %7 = ge.batch_norm %5, %two, %two, %two, %two : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  return %2, %3, %4, %6, %7 : tensor<2x4xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>
}

// -----

// Weights, statistics or a bias of the run, a bias that varies along the rows, and a dead column: variance 0, no epsilon.
// CHECK-LABEL: func.func @not_known
// CHECK-COUNT-5: ge.batch_norm
func.func @not_known(%x: tensor<4x1xf32>, %r: tensor<1x2xf32>, %c: tensor<2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>) {
  %w = ge.constant dense<1.0> : tensor<1x2xf32>
  %two = ge.constant dense<2.0> : tensor<2xf32>
  %dead = ge.constant dense<[1.0, 0.0]> : tensor<2xf32>
  %rows = ge.constant dense<1.0> : tensor<4x1xf32>
  %0 = ge.matmul %x, %r : (tensor<4x1xf32>, tensor<1x2xf32>) -> tensor<4x2xf32>
  %1 = ge.batch_norm %0, %two, %two, %two, %two : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %2 = ge.matmul %x, %w : (tensor<4x1xf32>, tensor<1x2xf32>) -> tensor<4x2xf32>
  %3 = ge.batch_norm %2, %two, %two, %c, %two : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %4 = ge.matmul %x, %w, %c : (tensor<4x1xf32>, tensor<1x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %5 = ge.batch_norm %4, %two, %two, %two, %two : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %6 = ge.matmul %x, %w, %rows : (tensor<4x1xf32>, tensor<1x2xf32>, tensor<4x1xf32>) -> tensor<4x2xf32>
  %7 = ge.batch_norm %6, %two, %two, %two, %two : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %8 = ge.matmul %x, %w : (tensor<4x1xf32>, tensor<1x2xf32>) -> tensor<4x2xf32>
  %9 = ge.batch_norm %8, %two, %two, %two, %dead {epsilon = 0.0} : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  return %1, %3, %5, %7, %9 : tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>
}

// -----

// Channels of a map of three axes are its rows.
// CHECK-LABEL: func.func @three_axes
// CHECK: ge.batch_norm
func.func @three_axes(%x: tensor<1x2x1xf32>) -> tensor<1x2x2xf32> {
  %w = ge.constant dense<1.0> : tensor<1x2xf32>
  %two = ge.constant dense<2.0> : tensor<2xf32>
  %0 = ge.matmul %x, %w : (tensor<1x2x1xf32>, tensor<1x2xf32>) -> tensor<1x2x2xf32>
  %1 = ge.batch_norm %0, %two, %two, %two, %two : (tensor<1x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x2xf32>
  return %1 : tensor<1x2x2xf32>
}
