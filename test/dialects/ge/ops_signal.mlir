// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// CHECK-LABEL: func.func @dft
func.func @dft(%x: tensor<2x?x1xf32>) {
  // CHECK: %y = ge.dft %x {axis = 1, length = 9, onesided = true} : (tensor<2x?x1xf32>) -> tensor<2x5x2xf32>
  %y = ge.dft %x {axis = 1, length = 9, onesided = true} : (tensor<2x?x1xf32>) -> tensor<2x5x2xf32>
  // CHECK: %z = ge.dft %y {axis = -2, length = 9, inverse = true, onesided = true} : (tensor<2x5x2xf32>) -> tensor<2x9x1xf32>
  %z = ge.dft %y {axis = -2, length = 9, inverse = true, onesided = true} : (tensor<2x5x2xf32>) -> tensor<2x9x1xf32>
  return
}
