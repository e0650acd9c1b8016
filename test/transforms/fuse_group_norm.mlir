// RUN: ge-opt --no-locations --fuse-group-norm --split-input-file %s | FileCheck %s

// Two groups, as torch.onnx writes GroupNorm: an instance normalisation between reshapes, then a scale and a bias.
// CHECK-LABEL: func.func @between_reshapes
// CHECK: %[[Y:.*]] = ge.group_norm %x, %{{.*}}, %{{.*}} {groups = 2} : (tensor<1x4x2x3xf32>, tensor<4xf32>, tensor<4xf32>)
// CHECK-NEXT: return %[[Y]]
func.func @between_reshapes(%x: tensor<1x4x2x3xf32>) -> tensor<1x4x2x3xf32> {
  %ones = ge.constant dense<1.0> : tensor<2xf32>
  %zeros = ge.constant dense<0.0> : tensor<2xf32>
  %scale = ge.constant dense<[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]> : tensor<4x1x1xf32>
  %bias = ge.constant dense<[[[5.0]], [[6.0]], [[7.0]], [[8.0]]]> : tensor<4x1x1xf32>
  %0 = ge.reshape %x {shape = [1, 2, 12]} : (tensor<1x4x2x3xf32>) -> tensor<1x2x12xf32>
  %1 = ge.group_norm %0, %ones, %zeros {groups = 2} : (tensor<1x2x12xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x12xf32>
  %2 = ge.reshape %1 {shape = [1, 4, 2, 3]} : (tensor<1x2x12xf32>) -> tensor<1x4x2x3xf32>
  %3 = ge.mul %2, %scale : (tensor<1x4x2x3xf32>, tensor<4x1x1xf32>) -> tensor<1x4x2x3xf32>
  %4 = ge.add %bias, %3 : (tensor<4x1x1xf32>, tensor<1x4x2x3xf32>) -> tensor<1x4x2x3xf32>
  return %4 : tensor<1x4x2x3xf32>
}

// -----

// What fuse-layer-norm makes of an instance normalisation written with means.
// CHECK-LABEL: func.func @rows_of_pixels
// CHECK: %[[Y:.*]] = ge.group_norm %x, %{{.*}}, %{{.*}} {groups = 2}
// CHECK-NEXT: return %[[Y]]
func.func @rows_of_pixels(%x: tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32> {
  %ones = ge.constant dense<1.0> : tensor<3x3xf32>
  %scale = ge.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %0 = ge.layer_norm %x, %ones {axis = 2} : (tensor<1x2x3x3xf32>, tensor<3x3xf32>) -> tensor<1x2x3x3xf32>
  %1 = ge.mul %scale, %0 : (tensor<2x1x1xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  return %1 : tensor<1x2x3x3xf32>
}

// -----

// A scale that varies along the width stays behind.
// CHECK-LABEL: func.func @scale_along_width
// CHECK: %[[N:.*]] = ge.group_norm %x
// CHECK-NEXT: ge.mul %[[N]]
func.func @scale_along_width(%x: tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32> {
  %ones = ge.constant dense<1.0> : tensor<2xf32>
  %zeros = ge.constant dense<0.0> : tensor<2xf32>
  %scale = ge.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %0 = ge.group_norm %x, %ones, %zeros {groups = 2} : (tensor<1x2x3x3xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x3x3xf32>
  %1 = ge.mul %0, %scale : (tensor<1x2x3x3xf32>, tensor<3xf32>) -> tensor<1x2x3x3xf32>
  return %1 : tensor<1x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @read_again
// CHECK: ge.group_norm %x
// CHECK: ge.mul
func.func @read_again(%x: tensor<1x2x3x3xf32>) -> (tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) {
  %ones = ge.constant dense<1.0> : tensor<2xf32>
  %zeros = ge.constant dense<0.0> : tensor<2xf32>
  %scale = ge.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %0 = ge.group_norm %x, %ones, %zeros {groups = 2} : (tensor<1x2x3x3xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x3x3xf32>
  %1 = ge.mul %0, %scale : (tensor<1x2x3x3xf32>, tensor<2x1x1xf32>) -> tensor<1x2x3x3xf32>
  return %0, %1 : tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>
}

// -----

// Groups that cut a channel in two, and a scale that differs between groups: the reshapes stay.
// CHECK-LABEL: func.func @cut_channels
// CHECK: ge.reshape
// CHECK: ge.group_norm
// CHECK: ge.reshape
// CHECK: ge.reshape
// CHECK: ge.group_norm
func.func @cut_channels(%x: tensor<1x4x2x3xf32>) -> (tensor<1x4x2x3xf32>, tensor<1x4x2x3xf32>) {
  %ones = ge.constant dense<1.0> : tensor<8xf32>
  %zeros = ge.constant dense<0.0> : tensor<8xf32>
  %0 = ge.reshape %x {shape = [1, 8, 3]} : (tensor<1x4x2x3xf32>) -> tensor<1x8x3xf32>
  %1 = ge.group_norm %0, %ones, %zeros {groups = 8} : (tensor<1x8x3xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<1x8x3xf32>
  %2 = ge.reshape %1 {shape = [1, 4, 2, 3]} : (tensor<1x8x3xf32>) -> tensor<1x4x2x3xf32>
  %scale = ge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %none = ge.constant dense<0.0> : tensor<2xf32>
  %3 = ge.reshape %x {shape = [1, 2, 12]} : (tensor<1x4x2x3xf32>) -> tensor<1x2x12xf32>
  %4 = ge.group_norm %3, %scale, %none {groups = 2} : (tensor<1x2x12xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x12xf32>
  %5 = ge.reshape %4 {shape = [1, 4, 2, 3]} : (tensor<1x2x12xf32>) -> tensor<1x4x2x3xf32>
  return %2, %5 : tensor<1x4x2x3xf32>, tensor<1x4x2x3xf32>
}
