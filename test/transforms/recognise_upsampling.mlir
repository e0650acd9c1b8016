// RUN: ge-opt --no-locations --recognise-upsampling --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @channels_first
func.func @channels_first(%x: tensor<1x8x4x5xf32>) -> tensor<1x8x8x15xf32> {
  // CHECK-NEXT: ge.resize %x {axes = [2, 3], sizes = [8, 15], coordinates = "asymmetric", nearest = "floor"} : (tensor<1x8x4x5xf32>) -> tensor<1x8x8x15xf32>
  // CHECK-NEXT: return
  %0 = ge.reshape %x {shape = [1, 8, 4, 1, 5, 1]} : (tensor<1x8x4x5xf32>) -> tensor<1x8x4x1x5x1xf32>
  %1 = ge.expand %0 {shape = [1, 8, 4, 2, 5, 3]} : (tensor<1x8x4x1x5x1xf32>) -> tensor<1x8x4x2x5x3xf32>
  %2 = ge.reshape %1 {shape = [1, 8, 8, 15]} : (tensor<1x8x4x2x5x3xf32>) -> tensor<1x8x8x15xf32>
  return %2 : tensor<1x8x8x15xf32>
}

// -----

// CHECK-LABEL: func.func @channels_last
func.func @channels_last(%x: tensor<1x4x5x8xf32>) -> tensor<1x8x5x8xf32> {
  // CHECK-NEXT: ge.resize %x {axes = [1], sizes = [8]
  %0 = ge.reshape %x {shape = [1, 4, 1, 5, 8]} : (tensor<1x4x5x8xf32>) -> tensor<1x4x1x5x8xf32>
  %1 = ge.tile %0 {repeats = [1, 1, 2, 1, 1]} : (tensor<1x4x1x5x8xf32>) -> tensor<1x4x2x5x8xf32>
  %2 = ge.reshape %1 {shape = [1, 8, 5, 8]} : (tensor<1x4x2x5x8xf32>) -> tensor<1x8x5x8xf32>
  return %2 : tensor<1x8x5x8xf32>
}

// -----

// The whole axis one after another is no element repeated in place.
// CHECK-LABEL: func.func @tiled
func.func @tiled(%x: tensor<1x4x5x8xf32>) -> tensor<1x8x5x8xf32> {
  // CHECK-NOT: ge.resize
  %0 = ge.reshape %x {shape = [1, 1, 4, 5, 8]} : (tensor<1x4x5x8xf32>) -> tensor<1x1x4x5x8xf32>
  %1 = ge.tile %0 {repeats = [1, 2, 1, 1, 1]} : (tensor<1x1x4x5x8xf32>) -> tensor<1x2x4x5x8xf32>
  %2 = ge.reshape %1 {shape = [1, 8, 5, 8]} : (tensor<1x2x4x5x8xf32>) -> tensor<1x8x5x8xf32>
  return %2 : tensor<1x8x5x8xf32>
}
