// RUN: ge-opt %s --verify-diagnostics --split-input-file

func.func @f(%x: tensor<48x5xf32>) {
  // expected-error@+1 {{maps of 4 x 6 do not fall into windows of 3 x 3 shifted by [0, 0]}}
  %y = ge.window_partition %x {grid = [2, 4, 6], window = [3, 3], shift = [0, 0]} : (tensor<48x5xf32>) -> tensor<5x9x5xf32>
  return
}

// -----

func.func @f(%x: tensor<48x5xf32>) {
  // expected-error@+1 {{shifted by [2, 0]}}
  %y = ge.window_partition %x {grid = [2, 4, 6], window = [2, 3], shift = [2, 0]} : (tensor<48x5xf32>) -> tensor<8x6x5xf32>
  return
}

// -----

func.func @f(%x: tensor<47x5xf32>) {
  // expected-error@+1 {{47x5 is no matrix of 48 rows}}
  %y = ge.window_partition %x {grid = [2, 4, 6], window = [2, 3], shift = [0, 0]} : (tensor<47x5xf32>) -> tensor<8x6x5xf32>
  return
}

// -----

func.func @f(%x: tensor<8x5x5xf32>) {
  // expected-error@+1 {{8x5x5 are no 8 windows of 6 rows}}
  %y = ge.window_merge %x {grid = [2, 4, 6], window = [2, 3], shift = [0, 0]} : (tensor<8x5x5xf32>) -> tensor<48x5xf32>
  return
}
