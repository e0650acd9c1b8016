// RUN: ge-opt --no-locations --ge-infer-shapes --verify-diagnostics --split-input-file %s

// Sixteen unknown columns turn out to be twelve, which a matrix product with sixteen rows does not take.
func.func @late(%x: tensor<4x12xf32>, %w: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %0 = ge.relu %x : (tensor<4x12xf32>) -> tensor<4x?xf32>
  // expected-error@+1 {{inner extents 12 and 16 differ}}
  %1 = ge.matmul %0, %w : (tensor<4x?xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
