// RUN: ge-opt --no-locations --recognise-channel-shuffle --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @shuffle
func.func @shuffle(%x: tensor<1x12x4x5xf32>) -> tensor<1x12x4x5xf32> {
  // CHECK-NEXT: ge.channel_shuffle %x {groups = 3} : (tensor<1x12x4x5xf32>) -> tensor<1x12x4x5xf32>
  // CHECK-NEXT: return
  %0 = ge.reshape %x {shape = [1, 3, 4, 4, 5]} : (tensor<1x12x4x5xf32>) -> tensor<1x3x4x4x5xf32>
  %1 = ge.transpose %0 {perm = [0, 2, 1, 3, 4]} : (tensor<1x3x4x4x5xf32>) -> tensor<1x4x3x4x5xf32>
  %2 = ge.reshape %1 {shape = [1, 12, 4, 5]} : (tensor<1x4x3x4x5xf32>) -> tensor<1x12x4x5xf32>
  return %2 : tensor<1x12x4x5xf32>
}

// -----

// The axes of the first reshape are not those of the channels.
// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<1x2x6x5xf32>) -> tensor<1x2x6x5xf32> {
  // CHECK-NOT: ge.channel_shuffle
  %0 = ge.reshape %x {shape = [1, 4, 3, 1, 5]} : (tensor<1x2x6x5xf32>) -> tensor<1x4x3x1x5xf32>
  %1 = ge.transpose %0 {perm = [0, 2, 1, 3, 4]} : (tensor<1x4x3x1x5xf32>) -> tensor<1x3x4x1x5xf32>
  %2 = ge.reshape %1 {shape = [1, 2, 6, 5]} : (tensor<1x3x4x1x5xf32>) -> tensor<1x2x6x5xf32>
  return %2 : tensor<1x2x6x5xf32>
}

// -----

// Somebody reads the transposed tensor.
// CHECK-LABEL: func.func @read
func.func @read(%x: tensor<1x12x4x5xf32>) -> (tensor<1x12x4x5xf32>, tensor<1x4x3x4x5xf32>) {
  // CHECK-NOT: ge.channel_shuffle
  %0 = ge.reshape %x {shape = [1, 3, 4, 4, 5]} : (tensor<1x12x4x5xf32>) -> tensor<1x3x4x4x5xf32>
  %1 = ge.transpose %0 {perm = [0, 2, 1, 3, 4]} : (tensor<1x3x4x4x5xf32>) -> tensor<1x4x3x4x5xf32>
  %2 = ge.reshape %1 {shape = [1, 12, 4, 5]} : (tensor<1x4x3x4x5xf32>) -> tensor<1x12x4x5xf32>
  return %2, %1 : tensor<1x12x4x5xf32>, tensor<1x4x3x4x5xf32>
}
