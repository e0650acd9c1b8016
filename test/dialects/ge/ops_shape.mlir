// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// Reshape, transpose, concat, pad, slice, triangles, bit casts.

// CHECK-LABEL: func.func @reshape
func.func @reshape(%x: tensor<2x3x4xf32>, %d: tensor<?x3x4xf32>, %s: tensor<f32>) {
  // CHECK: %a = ge.reshape %x {shape = [6, -1]} : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %a = ge.reshape %x {shape = [6, -1]} : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  // CHECK: %b = ge.reshape %d {shape = [-1, 12]} : (tensor<?x3x4xf32>) -> tensor<?x12xf32>
  %b = ge.reshape %d {shape = [-1, 12]} : (tensor<?x3x4xf32>) -> tensor<?x12xf32>
  // CHECK: %c = ge.reshape %s {shape = [1, 1]} : (tensor<f32>) -> tensor<1x1xf32>
  %c = ge.reshape %s {shape = [1, 1]} : (tensor<f32>) -> tensor<1x1xf32>
  // CHECK: %e = ge.reshape %c {shape = []} : (tensor<1x1xf32>) -> tensor<f32>
  %e = ge.reshape %c {shape = []} : (tensor<1x1xf32>) -> tensor<f32>
  return
}

// CHECK-LABEL: func.func @transpose
func.func @transpose(%x: tensor<2x?x4xi64>) {
  // CHECK: %a = ge.transpose %x {perm = [2, 0, 1]} : (tensor<2x?x4xi64>) -> tensor<4x2x?xi64>
  %a = ge.transpose %x {perm = [2, 0, 1]} : (tensor<2x?x4xi64>) -> tensor<4x2x?xi64>
  return
}

// CHECK-LABEL: func.func @concat
func.func @concat(%x: tensor<2x3xf32>, %y: tensor<2x5xf32>, %z: tensor<?x?xf32>) {
  // CHECK: %a = ge.concat %x, %y {axis = 1} : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x8xf32>
  %a = ge.concat %x, %y {axis = 1} : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x8xf32>
  // CHECK: %b = ge.concat %x, %y, %z {axis = -1} : (tensor<2x3xf32>, tensor<2x5xf32>, tensor<?x?xf32>) -> tensor<2x?xf32>
  %b = ge.concat %x, %y, %z {axis = -1} : (tensor<2x3xf32>, tensor<2x5xf32>, tensor<?x?xf32>) -> tensor<2x?xf32>
  // CHECK: %c = ge.concat %x {axis = 0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %c = ge.concat %x {axis = 0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: func.func @pad
func.func @pad(%x: tensor<2x?xf32>) {
  // CHECK: %a = ge.pad %x {pads = [0, 1, 2, 3]} : (tensor<2x?xf32>) -> tensor<4x?xf32>
  %a = ge.pad %x {pads = [0, 1, 2, 3]} : (tensor<2x?xf32>) -> tensor<4x?xf32>
  // CHECK: %b = ge.pad %x {pads = [0, 0, 0, 0], value = 0xFF800000} : (tensor<2x?xf32>) -> tensor<2x?xf32>
  %b = ge.pad %x {pads = [0, 0, 0, 0], value = 0xFF800000} : (tensor<2x?xf32>) -> tensor<2x?xf32>
  return
}

// CHECK-LABEL: func.func @slice
func.func @slice(%x: tensor<9x8x?xf32>) {
  // CHECK: %a = ge.slice %x {starts = [1, -1], ends = [7, -9223372036854775808], axes = [0, 1], steps = [2, -1]} : (tensor<9x8x?xf32>) -> tensor<3x8x?xf32>
  %a = ge.slice %x {starts = [1, -1], ends = [7, -9223372036854775808], axes = [0, 1], steps = [2, -1]} : (tensor<9x8x?xf32>) -> tensor<3x8x?xf32>
  return
}

// CHECK-LABEL: func.func @trilu
func.func @trilu(%x: tensor<2x4x?xf32>, %k: tensor<1xi64>) {
  // CHECK: %a = ge.trilu %x {upper = false, k = -1} : (tensor<2x4x?xf32>) -> tensor<2x4x?xf32>
  %a = ge.trilu %x {upper = false, k = -1} : (tensor<2x4x?xf32>) -> tensor<2x4x?xf32>
  // CHECK: %b = ge.trilu %x, %k : (tensor<2x4x?xf32>, tensor<1xi64>) -> tensor<2x4x?xf32>
  %b = ge.trilu %x, %k : (tensor<2x4x?xf32>, tensor<1xi64>) -> tensor<2x4x?xf32>
  return
}

// CHECK-LABEL: func.func @bitcast
func.func @bitcast(%x: tensor<2x?xf32>) {
  // CHECK: %a = ge.bitcast %x : (tensor<2x?xf32>) -> tensor<2x?xi32>
  %a = ge.bitcast %x : (tensor<2x?xf32>) -> tensor<2x?xi32>
  return
}

// CHECK-LABEL: func.func @depth_to_space
func.func @depth_to_space(%x: tensor<2x12x5x4xf32>, %d: tensor<1x?x?x4xf16>) {
  // CHECK: %a = ge.depth_to_space %x {blocks = [2, 3]} : (tensor<2x12x5x4xf32>) -> tensor<2x2x10x12xf32>
  %a = ge.depth_to_space %x {blocks = [2, 3]} : (tensor<2x12x5x4xf32>) -> tensor<2x2x10x12xf32>
  // CHECK: %b = ge.depth_to_space %d {blocks = [2, 2], mode = "CRD"} : (tensor<1x?x?x4xf16>) -> tensor<1x?x?x8xf16>
  %b = ge.depth_to_space %d {blocks = [2, 2], mode = "CRD"} : (tensor<1x?x?x4xf16>) -> tensor<1x?x?x8xf16>
  return
}

// CHECK-LABEL: func.func @channel_shuffle
func.func @channel_shuffle(%x: tensor<2x6x5x4xf32>, %d: tensor<?x?x4xf16>) {
  // CHECK: %a = ge.channel_shuffle %x {groups = 3} : (tensor<2x6x5x4xf32>) -> tensor<2x6x5x4xf32>
  %a = ge.channel_shuffle %x {groups = 3} : (tensor<2x6x5x4xf32>) -> tensor<2x6x5x4xf32>
  // CHECK: %b = ge.channel_shuffle %d {groups = 2} : (tensor<?x?x4xf16>) -> tensor<?x?x4xf16>
  %b = ge.channel_shuffle %d {groups = 2} : (tensor<?x?x4xf16>) -> tensor<?x?x4xf16>
  return
}

// CHECK-LABEL: func.func @heads
func.func @heads(%x: tensor<2x5x12xf32>, %d: tensor<?x12xf32>, %s: tensor<5x4xf32>) {
  // CHECK: %a = ge.split_heads %x {heads = 3} : (tensor<2x5x12xf32>) -> tensor<2x3x5x4xf32>
  %a = ge.split_heads %x {heads = 3} : (tensor<2x5x12xf32>) -> tensor<2x3x5x4xf32>
  // CHECK: %b = ge.merge_heads %a : (tensor<2x3x5x4xf32>) -> tensor<2x5x12xf32>
  %b = ge.merge_heads %a : (tensor<2x3x5x4xf32>) -> tensor<2x5x12xf32>
  // CHECK: %c = ge.split_heads %d {heads = 3} : (tensor<?x12xf32>) -> tensor<3x?x4xf32>
  %c = ge.split_heads %d {heads = 3} : (tensor<?x12xf32>) -> tensor<3x?x4xf32>
  // CHECK: %e = ge.rotary_mul %a, %a, %s : (tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>, tensor<5x4xf32>) -> tensor<2x3x5x4xf32>
  %e = ge.rotary_mul %a, %a, %s : (tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>, tensor<5x4xf32>) -> tensor<2x3x5x4xf32>
  return
}
