// RUN: ge-opt --no-locations --ge-canonicalize='only=remove-zero-pad,remove-dead' %s | FileCheck %s

// The reshape would go as well, if it were asked for.
// CHECK-LABEL: func.func @one_pattern
func.func @one_pattern(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  // CHECK-NEXT: %[[R:.*]] = ge.reshape %x
  %0 = ge.reshape %x {shape = [2, 4]} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = ge.pad %0 {pads = [0, 0, 0, 0]} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = ge.exp %1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: return %[[R]]
  return %1 : tensor<2x4xf32>
}
