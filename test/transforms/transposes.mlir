// RUN: ge-opt --no-locations '--ge-canonicalize=only=normalise-transpose,lift-scalar-over-transpose,merge-reshapes' --split-input-file %s | FileCheck %s

// The query, key and value of one product: axes of extent 1 go, and the reshapes merge.
// CHECK-LABEL: func.func @thirds
// CHECK-NEXT: %[[R:.*]] = ge.reshape %x {shape = [197, 3, 768]}
// CHECK-NEXT: %[[T:.*]] = ge.transpose %[[R]] {perm = [1, 0, 2]}
// CHECK-NEXT: ge.reshape %[[T]] {shape = [3, 197, 1, 1, 768]}
func.func @thirds(%x: tensor<197x2304xf32>) -> tensor<3x197x1x1x768xf32> {
  %0 = ge.reshape %x {shape = [1, 197, 1, 3, 768]} : (tensor<197x2304xf32>) -> tensor<1x197x1x3x768xf32>
  %1 = ge.transpose %0 {perm = [3, 1, 2, 0, 4]} : (tensor<1x197x1x3x768xf32>) -> tensor<3x197x1x1x768xf32>
  return %1 : tensor<3x197x1x1x768xf32>
}

// -----

// Axes that move together become one.
// CHECK-LABEL: func.func @together
// CHECK-NEXT: %[[R:.*]] = ge.reshape %x {shape = [3, 85, 400]}
// CHECK-NEXT: %[[T:.*]] = ge.transpose %[[R]] {perm = [0, 2, 1]}
// CHECK-NEXT: ge.reshape %[[T]] {shape = [1, 3, 20, 20, 85]}
func.func @together(%x: tensor<1x255x20x20xf32>) -> tensor<1x3x20x20x85xf32> {
  %0 = ge.reshape %x {shape = [1, 3, 85, 20, 20]} : (tensor<1x255x20x20xf32>) -> tensor<1x3x85x20x20xf32>
  %1 = ge.transpose %0 {perm = [0, 1, 3, 4, 2]} : (tensor<1x3x85x20x20xf32>) -> tensor<1x3x20x20x85xf32>
  return %1 : tensor<1x3x20x20x85xf32>
}

// -----

// Between images nothing changes, nor without a reshape, nor where nothing is left over.
// CHECK-LABEL: func.func @guards
// CHECK-NEXT: ge.reshape
// CHECK-NEXT: ge.transpose %{{.*}} {perm = [0, 2, 3, 1]}
// CHECK-NEXT: ge.transpose %y {perm = [1, 0, 2]}
// CHECK-NEXT: ge.reshape
// CHECK-NEXT: ge.transpose %{{.*}} {perm = [1, 0]}
// CHECK-NEXT: return
func.func @guards(%x: tensor<1x3x36xf32>, %y: tensor<1x4x5xf32>, %z: tensor<20xf32>) -> (tensor<1x6x6x3xf32>, tensor<4x1x5xf32>, tensor<5x4xf32>) {
  %0 = ge.reshape %x {shape = [1, 3, 6, 6]} : (tensor<1x3x36xf32>) -> tensor<1x3x6x6xf32>
  %1 = ge.transpose %0 {perm = [0, 2, 3, 1]} : (tensor<1x3x6x6xf32>) -> tensor<1x6x6x3xf32>
  %2 = ge.transpose %y {perm = [1, 0, 2]} : (tensor<1x4x5xf32>) -> tensor<4x1x5xf32>
  %3 = ge.reshape %z {shape = [4, 5]} : (tensor<20xf32>) -> tensor<4x5xf32>
  %4 = ge.transpose %3 {perm = [1, 0]} : (tensor<4x5xf32>) -> tensor<5x4xf32>
  return %1, %2, %4 : tensor<1x6x6x3xf32>, tensor<4x1x5xf32>, tensor<5x4xf32>
}

// -----

// The scale of the keys goes behind nothing but the transpose; one value a column would have to turn with it.
// CHECK-LABEL: func.func @scaled_keys
// CHECK: %[[K:.*]] = ge.mul %k, %{{.*}} : (tensor<2x6x4xf32>, tensor<f32>)
// CHECK-NEXT: %[[T:.*]] = ge.transpose %[[K]] {perm = [0, 2, 1]}
// CHECK-NEXT: ge.matmul %q, %[[T]]
// CHECK-NEXT: %[[U:.*]] = ge.transpose %k
// CHECK-NEXT: %[[M:.*]] = ge.mul %[[U]], %c
// CHECK-NEXT: ge.matmul %q, %[[M]]
func.func @scaled_keys(%q: tensor<2x3x4xf32>, %k: tensor<2x6x4xf32>, %c: tensor<6xf32>) -> (tensor<2x3x6xf32>, tensor<2x3x6xf32>) {
  %half = ge.constant dense<0.5> : tensor<f32>
  %0 = ge.transpose %k {perm = [0, 2, 1]} : (tensor<2x6x4xf32>) -> tensor<2x4x6xf32>
  %1 = ge.mul %0, %half : (tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x4x6xf32>
  %2 = ge.matmul %q, %1 : (tensor<2x3x4xf32>, tensor<2x4x6xf32>) -> tensor<2x3x6xf32>
  %3 = ge.transpose %k {perm = [0, 2, 1]} : (tensor<2x6x4xf32>) -> tensor<2x4x6xf32>
  %4 = ge.mul %3, %c : (tensor<2x4x6xf32>, tensor<6xf32>) -> tensor<2x4x6xf32>
  %5 = ge.matmul %q, %4 : (tensor<2x3x4xf32>, tensor<2x4x6xf32>) -> tensor<2x3x6xf32>
  return %2, %5 : tensor<2x3x6xf32>, tensor<2x3x6xf32>
}
