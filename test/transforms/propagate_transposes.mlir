// RUN: ge-opt --no-locations --propagate-transposes --split-input-file %s | FileCheck %s

// What lies between two convolutions turns, with its axes, constants and pads; the transposes meet and vanish.
// CHECK-LABEL: func.func @between
func.func @between(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>, %v: tensor<4x8x1x1xf32>) -> tensor<1x4x9x8xf32> {
  // CHECK: %[[C:.*]] = ge.constant dense<{{.*}}> : tensor<1x4x1x1xf32>
  // CHECK: ge.mul {{.*}}, %[[C]] : (tensor<1x4x8x8xf32>, tensor<1x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  // CHECK-NEXT: ge.concat {{.*}} {axis = 1} : {{.*}} -> tensor<1x8x8x8xf32>
  // CHECK-NEXT: ge.pad {{.*}} {pads = [0, 0, 1, 0, 0, 0, 0, 0]} : {{.*}} -> tensor<1x8x9x8xf32>
  // CHECK-NEXT: ge.conv2d
  // CHECK-NOT: ge.transpose
  %c = ge.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = ge.conv2d %x, %w : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %1 = ge.transpose %0 {perm = [0, 2, 3, 1]} : (tensor<1x4x8x8xf32>) -> tensor<1x8x8x4xf32>
  %2 = ge.mul %1, %c : (tensor<1x8x8x4xf32>, tensor<4xf32>) -> tensor<1x8x8x4xf32>
  %3 = ge.concat %1, %2 {axis = 3} : (tensor<1x8x8x4xf32>, tensor<1x8x8x4xf32>) -> tensor<1x8x8x8xf32>
  %4 = ge.pad %3 {pads = [0, 1, 0, 0, 0, 0, 0, 0]} : (tensor<1x8x8x8xf32>) -> tensor<1x9x8x8xf32>
  %5 = ge.transpose %4 {perm = [0, 3, 1, 2]} : (tensor<1x9x8x8xf32>) -> tensor<1x8x9x8xf32>
  %6 = ge.conv2d %5, %v : (tensor<1x8x9x8xf32>, tensor<4x8x1x1xf32>) -> tensor<1x4x9x8xf32>
  return %6 : tensor<1x4x9x8xf32>
}

// -----

// A reader that keeps its order, here the model's output, costs one transpose wherever it stands.
// CHECK-LABEL: func.func @border
func.func @border(%x: tensor<1x8x8x4xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x8x8x4xf32> {
  // CHECK-NEXT: ge.transpose %x
  // CHECK-NEXT: ge.conv2d
  // CHECK-NEXT: ge.relu {{.*}} -> tensor<1x4x8x8xf32>
  // CHECK-NEXT: ge.transpose
  // CHECK-NEXT: return
  %0 = ge.transpose %x {perm = [0, 3, 1, 2]} : (tensor<1x8x8x4xf32>) -> tensor<1x4x8x8xf32>
  %1 = ge.conv2d %0, %w : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %2 = ge.transpose %1 {perm = [0, 2, 3, 1]} : (tensor<1x4x8x8xf32>) -> tensor<1x8x8x4xf32>
  %3 = ge.relu %2 : (tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
  return %3 : tensor<1x8x8x4xf32>
}

// -----

// Without an operator that is NCHW by definition nothing says which order is which: transformers keep theirs.
// CHECK-LABEL: func.func @no_anchor
func.func @no_anchor(%x: tensor<1x8x8x4xf32>) -> tensor<1x4x8x8xf32> {
  // CHECK-NEXT: ge.relu %x
  // CHECK-NEXT: ge.transpose
  %0 = ge.relu %x : (tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
  %1 = ge.transpose %0 {perm = [0, 3, 1, 2]} : (tensor<1x8x8x4xf32>) -> tensor<1x4x8x8xf32>
  return %1 : tensor<1x4x8x8xf32>
}

// -----

// What mixes the channels of each pixel turns as well: a LayerNorm, and products with constants, which become convolutions.
// CHECK-LABEL: func.func @pointwise
func.func @pointwise(%x: tensor<1x4x8x8xf32>, %w: tensor<4x1x3x3xf32>, %v: tensor<8x1x3x3xf32>) -> tensor<1x8x8x8xf32> {
  // CHECK-NOT: ge.transpose
  // CHECK: ge.layer_norm {{.*}} {axis = 1, last_axis = 1} : (tensor<1x4x8x8xf32>, tensor<1x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  // CHECK: ge.conv2d {{.*}} : (tensor<1x4x8x8xf32>, tensor<8x4x1x1xf32>, tensor<8xf32>) -> tensor<1x8x8x8xf32>
  // CHECK-NEXT: ge.relu
  // CHECK: ge.conv2d {{.*}} : (tensor<1x8x8x8xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x8x8xf32>
  // CHECK-NEXT: ge.conv2d {{.*}}group = 8
  // CHECK-NEXT: return
  %s = ge.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %k = ge.constant dense<0.5> : tensor<4x8xf32>
  %l = ge.constant dense<0.25> : tensor<8x8xf32>
  %b = ge.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %0 = ge.conv2d %x, %w {pads = [1, 1, 1, 1], group = 4} : (tensor<1x4x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x8x8xf32>
  %1 = ge.transpose %0 {perm = [0, 2, 3, 1]} : (tensor<1x4x8x8xf32>) -> tensor<1x8x8x4xf32>
  %2 = ge.layer_norm %1, %s : (tensor<1x8x8x4xf32>, tensor<4xf32>) -> tensor<1x8x8x4xf32>
  %3 = ge.matmul %2, %k, %b : (tensor<1x8x8x4xf32>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<1x8x8x8xf32>
  %4 = ge.relu %3 : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %5 = ge.matmul %4, %l {transpose_b = true} : (tensor<1x8x8x8xf32>, tensor<8x8xf32>) -> tensor<1x8x8x8xf32>
  %6 = ge.transpose %5 {perm = [0, 3, 1, 2]} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %7 = ge.conv2d %6, %v {pads = [1, 1, 1, 1], group = 8} : (tensor<1x8x8x8xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x8x8xf32>
  return %7 : tensor<1x8x8x8xf32>
}

// -----

// Products that keep their order: with weights that are computed, or along the width of an image.
// CHECK-LABEL: func.func @not_pointwise
func.func @not_pointwise(%x: tensor<1x8x8x8xf32>, %w: tensor<8x8x1x1xf32>, %k: tensor<8x8xf32>) -> tensor<1x8x8x8xf32> {
  // CHECK: ge.matmul
  // CHECK: ge.matmul
  // CHECK-NOT: ge.matmul
  %l = ge.constant dense<0.25> : tensor<8x8xf32>
  %0 = ge.conv2d %x, %w : (tensor<1x8x8x8xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x8x8xf32>
  %1 = ge.transpose %0 {perm = [0, 2, 3, 1]} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %2 = ge.matmul %1, %k : (tensor<1x8x8x8xf32>, tensor<8x8xf32>) -> tensor<1x8x8x8xf32>
  %3 = ge.transpose %2 {perm = [0, 3, 1, 2]} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %4 = ge.matmul %3, %l : (tensor<1x8x8x8xf32>, tensor<8x8xf32>) -> tensor<1x8x8x8xf32>
  %5 = ge.conv2d %4, %w : (tensor<1x8x8x8xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x8x8xf32>
  return %5 : tensor<1x8x8x8xf32>
}
