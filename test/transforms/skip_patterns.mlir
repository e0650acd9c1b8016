// RUN: ge-opt --no-locations --ge-canonicalize='skip=remove-zero-pad' %s | FileCheck %s

// CHECK-LABEL: func.func @all_but_one
func.func @all_but_one(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = ge.reshape %x {shape = [2, 4]} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %[[P:.*]] = ge.pad %x
  %1 = ge.pad %0 {pads = [0, 0, 0, 0]} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: return %[[P]]
  return %1 : tensor<2x4xf32>
}
