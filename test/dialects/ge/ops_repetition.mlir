// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// Operators that repeat elements.

// CHECK-LABEL: func.func @expand
func.func @expand(%x: tensor<3x1xf32>, %d: tensor<?x1xf32>) {
  // CHECK: %y = ge.expand %x {shape = [2, 1, 4]} : (tensor<3x1xf32>) -> tensor<2x3x4xf32>
  %y = ge.expand %x {shape = [2, 1, 4]} : (tensor<3x1xf32>) -> tensor<2x3x4xf32>
  // CHECK: %z = ge.expand %d {shape = [1, 4]} : (tensor<?x1xf32>) -> tensor<?x4xf32>
  %z = ge.expand %d {shape = [1, 4]} : (tensor<?x1xf32>) -> tensor<?x4xf32>
  return
}

// CHECK-LABEL: func.func @tile
func.func @tile(%x: tensor<?x2xi8>) {
  // CHECK: %y = ge.tile %x {repeats = [2, 3]} : (tensor<?x2xi8>) -> tensor<?x6xi8>
  %y = ge.tile %x {repeats = [2, 3]} : (tensor<?x2xi8>) -> tensor<?x6xi8>
  return
}
