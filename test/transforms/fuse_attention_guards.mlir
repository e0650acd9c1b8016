// RUN: ge-opt --no-locations --fuse-attention %s | FileCheck %s

// CHECK-NOT: ge.fused

// The weights leave the graph.
func.func @weights_are_read(%q: tensor<5x16xf32>, %k: tensor<7x16xf32>, %v: tensor<7x16xf32>) -> (tensor<5x16xf32>, tensor<5x7xf32>) {
  %0 = ge.matmul %q, %k {transpose_b = true} : (tensor<5x16xf32>, tensor<7x16xf32>) -> tensor<5x7xf32>
  %1 = ge.softmax %0 : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %2 = ge.matmul %1, %v : (tensor<5x7xf32>, tensor<7x16xf32>) -> tensor<5x16xf32>
  return %2, %1 : tensor<5x16xf32>, tensor<5x7xf32>
}

// Somebody else reads the scores.
func.func @scores_are_read(%q: tensor<5x16xf32>, %k: tensor<7x16xf32>, %v: tensor<7x16xf32>, %s: tensor<f32>) -> (tensor<5x16xf32>, tensor<5x7xf32>) {
  %0 = ge.matmul %q, %k {transpose_b = true} : (tensor<5x16xf32>, tensor<7x16xf32>) -> tensor<5x7xf32>
  %1 = ge.mul %0, %s : (tensor<5x7xf32>, tensor<f32>) -> tensor<5x7xf32>
  %2 = ge.softmax %1 : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %3 = ge.matmul %2, %v : (tensor<5x7xf32>, tensor<7x16xf32>) -> tensor<5x16xf32>
  return %3, %0 : tensor<5x16xf32>, tensor<5x7xf32>
}

// A softmax over the queries.
func.func @other_axis(%q: tensor<5x16xf32>, %k: tensor<7x16xf32>, %v: tensor<7x16xf32>) -> tensor<5x16xf32> {
  %0 = ge.matmul %q, %k {transpose_b = true} : (tensor<5x16xf32>, tensor<7x16xf32>) -> tensor<5x7xf32>
  %1 = ge.softmax %0 {axis = 0} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %2 = ge.matmul %1, %v : (tensor<5x7xf32>, tensor<7x16xf32>) -> tensor<5x16xf32>
  return %2 : tensor<5x16xf32>
}

// A mask of more axes than the scores gives them a batch.
func.func @mask_of_higher_rank(%q: tensor<5x16xf32>, %k: tensor<7x16xf32>, %v: tensor<7x16xf32>, %m: tensor<2x5x7xf32>) -> tensor<2x5x16xf32> {
  %0 = ge.matmul %q, %k {transpose_b = true} : (tensor<5x16xf32>, tensor<7x16xf32>) -> tensor<5x7xf32>
  %1 = ge.add %0, %m : (tensor<5x7xf32>, tensor<2x5x7xf32>) -> tensor<2x5x7xf32>
  %2 = ge.softmax %1 : (tensor<2x5x7xf32>) -> tensor<2x5x7xf32>
  %3 = ge.matmul %2, %v : (tensor<2x5x7xf32>, tensor<7x16xf32>) -> tensor<2x5x16xf32>
  return %3 : tensor<2x5x16xf32>
}

// A mask of one value a query.
func.func @mask_of_columns(%q: tensor<5x16xf32>, %k: tensor<7x16xf32>, %v: tensor<7x16xf32>, %m: tensor<5x1xf32>) -> tensor<5x16xf32> {
  %0 = ge.matmul %q, %k {transpose_b = true} : (tensor<5x16xf32>, tensor<7x16xf32>) -> tensor<5x7xf32>
  %1 = ge.add %0, %m : (tensor<5x7xf32>, tensor<5x1xf32>) -> tensor<5x7xf32>
  %2 = ge.softmax %1 : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %3 = ge.matmul %2, %v : (tensor<5x7xf32>, tensor<7x16xf32>) -> tensor<5x16xf32>
  return %3 : tensor<5x16xf32>
}

// Heads wider than the chip's tiles; keys stored column by column; weights that are the right side.
func.func @wide_heads(%q: tensor<5x272xf32>, %k: tensor<7x272xf32>, %v: tensor<7x272xf32>) -> tensor<5x272xf32> {
  %0 = ge.matmul %q, %k {transpose_b = true} : (tensor<5x272xf32>, tensor<7x272xf32>) -> tensor<5x7xf32>
  %1 = ge.softmax %0 : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %2 = ge.matmul %1, %v : (tensor<5x7xf32>, tensor<7x272xf32>) -> tensor<5x272xf32>
  return %2 : tensor<5x272xf32>
}
func.func @keys_by_columns(%q: tensor<5x16xf32>, %k: tensor<16x7xf32>, %v: tensor<7x16xf32>) -> tensor<5x16xf32> {
  %0 = ge.matmul %q, %k : (tensor<5x16xf32>, tensor<16x7xf32>) -> tensor<5x7xf32>
  %1 = ge.softmax %0 : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %2 = ge.matmul %1, %v : (tensor<5x7xf32>, tensor<7x16xf32>) -> tensor<5x16xf32>
  return %2 : tensor<5x16xf32>
}
func.func @weights_on_the_right(%q: tensor<5x16xf32>, %k: tensor<7x16xf32>, %v: tensor<16x5xf32>) -> tensor<16x7xf32> {
  %0 = ge.matmul %q, %k {transpose_b = true} : (tensor<5x16xf32>, tensor<7x16xf32>) -> tensor<5x7xf32>
  %1 = ge.softmax %0 : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %2 = ge.matmul %v, %1 : (tensor<16x5xf32>, tensor<5x7xf32>) -> tensor<16x7xf32>
  return %2 : tensor<16x7xf32>
}

// Values of a larger batch than the scores; another element type; a size that is not known.
func.func @batch_of_values(%q: tensor<5x16xf32>, %k: tensor<7x16xf32>, %v: tensor<2x7x16xf32>) -> tensor<2x5x16xf32> {
  %0 = ge.matmul %q, %k {transpose_b = true} : (tensor<5x16xf32>, tensor<7x16xf32>) -> tensor<5x7xf32>
  %1 = ge.softmax %0 : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %2 = ge.matmul %1, %v : (tensor<5x7xf32>, tensor<2x7x16xf32>) -> tensor<2x5x16xf32>
  return %2 : tensor<2x5x16xf32>
}
func.func @doubles(%q: tensor<5x16xf64>, %k: tensor<7x16xf64>, %v: tensor<7x16xf64>) -> tensor<5x16xf64> {
  %0 = ge.matmul %q, %k {transpose_b = true} : (tensor<5x16xf64>, tensor<7x16xf64>) -> tensor<5x7xf64>
  %1 = ge.softmax %0 : (tensor<5x7xf64>) -> tensor<5x7xf64>
  %2 = ge.matmul %1, %v : (tensor<5x7xf64>, tensor<7x16xf64>) -> tensor<5x16xf64>
  return %2 : tensor<5x16xf64>
}
func.func @unknown_size(%q: tensor<?x16xf32>, %k: tensor<7x16xf32>, %v: tensor<7x16xf32>) -> tensor<?x16xf32> {
  %0 = ge.matmul %q, %k {transpose_b = true} : (tensor<?x16xf32>, tensor<7x16xf32>) -> tensor<?x7xf32>
  %1 = ge.softmax %0 : (tensor<?x7xf32>) -> tensor<?x7xf32>
  %2 = ge.matmul %1, %v : (tensor<?x7xf32>, tensor<7x16xf32>) -> tensor<?x16xf32>
  return %2 : tensor<?x16xf32>
}
