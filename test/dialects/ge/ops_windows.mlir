// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// CHECK-LABEL: func.func @windows
func.func @windows(%x: tensor<48x5xf32>, %d: tensor<?x5xf32>) {
  // CHECK: %a = ge.window_partition %x {grid = [2, 4, 6], window = [2, 3], shift = [1, 0]} : (tensor<48x5xf32>) -> tensor<8x6x5xf32>
  %a = ge.window_partition %x {grid = [2, 4, 6], window = [2, 3], shift = [1, 0]} : (tensor<48x5xf32>) -> tensor<8x6x5xf32>
  // CHECK: %b = ge.window_merge %a {grid = [2, 4, 6], window = [2, 3], shift = [1, 0]} : (tensor<8x6x5xf32>) -> tensor<48x5xf32>
  %b = ge.window_merge %a {grid = [2, 4, 6], window = [2, 3], shift = [1, 0]} : (tensor<8x6x5xf32>) -> tensor<48x5xf32>
  // CHECK: %c = ge.window_partition %d {grid = [2, 4, 6], window = [4, 6], shift = [0, 0]} : (tensor<?x5xf32>) -> tensor<2x24x5xf32>
  %c = ge.window_partition %d {grid = [2, 4, 6], window = [4, 6], shift = [0, 0]} : (tensor<?x5xf32>) -> tensor<2x24x5xf32>
  return
}
