// RUN: ge-opt --no-locations --expand-channel-scales --split-input-file %s | FileCheck %s

// A scale a channel broadcasts; all of it is fp32.
// CHECK-LABEL: func.func @channels
// CHECK: ge.reshape %s {shape = [1, 64, 1, 1], ge.precision = "fp32"}
// CHECK: ge.sub {{.*}} (tensor<1x64x8x8xf32>, tensor<1x64x1x1xf32>)
// CHECK: ge.mul {{.*}} (tensor<1x64x8x8xf32>, tensor<1x64x1x1xf32>)
// CHECK: ge.div
// CHECK: ge.round
// CHECK: ge.clip {{.*}}min = -1.280000e+02, max = 1.270000e+02
// CHECK: ge.cast {{.*}} -> tensor<1x64x8x8xi8>
func.func @channels(%x: tensor<1x64x8x8xi8>, %s: tensor<64xf32>, %z: tensor<64xi8>) -> tensor<1x64x8x8xi8> {
  %0 = ge.dequantize %x, %s, %z : (tensor<1x64x8x8xi8>, tensor<64xf32>, tensor<64xi8>) -> tensor<1x64x8x8xf32>
  %1 = ge.quantize %0, %s, %z : (tensor<1x64x8x8xf32>, tensor<64xf32>, tensor<64xi8>) -> tensor<1x64x8x8xi8>
  return %1 : tensor<1x64x8x8xi8>
}

// -----

// A scale a block of four elements is repeated; the last block is not full.
// CHECK-LABEL: func.func @blocks
// CHECK: ge.expand %{{.*}} {shape = [3, 3, 4], ge.precision = "fp32"}
// CHECK: ge.slice %{{.*}} -> tensor<3x10xf32>
func.func @blocks(%x: tensor<3x10xui8>, %s: tensor<3x3xf32>, %z: tensor<3x3xui8>) -> tensor<3x10xf32> {
  %0 = ge.dequantize %x, %s, %z {axis = 1, block = 4} : (tensor<3x10xui8>, tensor<3x3xf32>, tensor<3x3xui8>) -> tensor<3x10xf32>
  return %0 : tensor<3x10xf32>
}

// -----

// CHECK-LABEL: func.func @one_scale
// CHECK-NEXT: ge.dequantize
func.func @one_scale(%x: tensor<3x10xui8>, %s: tensor<f32>, %z: tensor<ui8>) -> tensor<3x10xf32> {
  %0 = ge.dequantize %x, %s, %z : (tensor<3x10xui8>, tensor<f32>, tensor<ui8>) -> tensor<3x10xf32>
  return %0 : tensor<3x10xf32>
}
