// RUN: ge-opt --no-locations --fuse-transpose-matmul --split-input-file %s | FileCheck %s

// Keys are transposed by the product.
// CHECK-LABEL: func.func @keys
// CHECK-NEXT: ge.matmul %q, %k {transpose_b = true} :
// CHECK-NEXT: return
func.func @keys(%q: tensor<2x4x8xf32>, %k: tensor<2x6x8xf32>) -> tensor<2x4x6xf32> {
  %t = ge.transpose %k {perm = [0, 2, 1]} : (tensor<2x6x8xf32>) -> tensor<2x8x6xf32>
  %0 = ge.matmul %q, %t : (tensor<2x4x8xf32>, tensor<2x8x6xf32>) -> tensor<2x4x6xf32>
  return %0 : tensor<2x4x6xf32>
}

// -----

// Both sides at once, one of them transposed already; the transpose with another reader stays for that one.
// CHECK-LABEL: func.func @both
// CHECK-NEXT: %[[T:.*]] = ge.transpose %a
// CHECK-NEXT: ge.matmul %a, %b {transpose_a = true} :
// CHECK-NEXT: return %{{.*}}, %[[T]]
func.func @both(%a: tensor<8x4xf32>, %b: tensor<8x6xf32>) -> (tensor<4x6xf32>, tensor<4x8xf32>) {
  %t = ge.transpose %a {perm = [1, 0]} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %u = ge.transpose %b {perm = [1, 0]} : (tensor<8x6xf32>) -> tensor<6x8xf32>
  %0 = ge.matmul %t, %u {transpose_b = true} : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
  return %0, %t : tensor<4x6xf32>, tensor<4x8xf32>
}

// -----

// [1, S, H, D] to [1, H, D, S] is split: the heads come to the front, the exchange of rows and columns goes to the product.
// CHECK-LABEL: func.func @heads
// CHECK-NEXT: %[[T:.*]] = ge.transpose %k {perm = [0, 2, 1, 3]}
// CHECK-NEXT: ge.matmul %q, %[[T]] {transpose_b = true} :
func.func @heads(%q: tensor<1x2x6x4xf32>, %k: tensor<1x6x2x4xf32>) -> tensor<1x2x6x6xf32> {
  %t = ge.transpose %k {perm = [0, 2, 3, 1]} : (tensor<1x6x2x4xf32>) -> tensor<1x2x4x6xf32>
  %0 = ge.matmul %q, %t : (tensor<1x2x6x4xf32>, tensor<1x2x4x6xf32>) -> tensor<1x2x6x6xf32>
  return %0 : tensor<1x2x6x6xf32>
}

// -----

// A transpose that leaves the columns in place gains nothing.
// CHECK-LABEL: func.func @columns_stay
// CHECK-NEXT: ge.transpose
// CHECK-NEXT: ge.matmul %{{.*}}, %{{.*}} :
func.func @columns_stay(%q: tensor<2x4x8xf32>, %k: tensor<8x2x6xf32>) -> tensor<2x4x6xf32> {
  %t = ge.transpose %k {perm = [1, 0, 2]} : (tensor<8x2x6xf32>) -> tensor<2x8x6xf32>
  %0 = ge.matmul %q, %t : (tensor<2x4x8xf32>, tensor<2x8x6xf32>) -> tensor<2x4x6xf32>
  return %0 : tensor<2x4x6xf32>
}

// -----

// All heads transposed at once, then cut apart: the product reads the heads of the untransposed matrix.
// CHECK-LABEL: func.func @transposed_heads
// CHECK-NEXT: %[[H:.*]] = ge.split_heads %k {heads = 2} : (tensor<6x8xf32>) -> tensor<2x6x4xf32>
// CHECK-NEXT: %[[R:.*]] = ge.reshape %[[H]] {shape = [1, 2, 6, 4]}
// CHECK-NEXT: ge.matmul %q, %[[R]] {transpose_b = true} :
func.func @transposed_heads(%q: tensor<1x2x3x4xf32>, %k: tensor<6x8xf32>) -> tensor<1x2x3x6xf32> {
  %0 = ge.transpose %k {perm = [1, 0]} : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %1 = ge.reshape %0 {shape = [1, 2, 4, 6]} : (tensor<8x6xf32>) -> tensor<1x2x4x6xf32>
  %2 = ge.matmul %q, %1 : (tensor<1x2x3x4xf32>, tensor<1x2x4x6xf32>) -> tensor<1x2x3x6xf32>
  return %2 : tensor<1x2x3x6xf32>
}

// -----

// One head: what is left of the permutation moves an axis of one element, which a reshape does.
// CHECK-LABEL: func.func @one_head
func.func @one_head(%q: tensor<1x1x9x8xf32>, %k: tensor<1x7x1x8xf32>) -> tensor<1x1x9x7xf32> {
  // CHECK-NEXT: %[[K:.*]] = ge.reshape %k {shape = [1, 1, 7, 8]}
  // CHECK-NEXT: ge.matmul %q, %[[K]] {transpose_b = true}
  // CHECK-NEXT: return
  %0 = ge.transpose %k {perm = [0, 2, 3, 1]} : (tensor<1x7x1x8xf32>) -> tensor<1x1x8x7xf32>
  %1 = ge.matmul %q, %0 : (tensor<1x1x9x8xf32>, tensor<1x1x8x7xf32>) -> tensor<1x1x9x7xf32>
  return %1 : tensor<1x1x9x7xf32>
}
