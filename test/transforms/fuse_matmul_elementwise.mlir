// RUN: ge-opt --no-locations --fuse-matmul-elementwise --split-input-file %s | FileCheck %s

// matmul + bias + relu.
// CHECK-LABEL: func.func @matmul
func.func @matmul(%x: tensor<2x3xf32>, %w: tensor<3x2xf32>) -> tensor<2x2xf32> {
  // CHECK-NEXT: %[[B:.*]] = ge.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  // CHECK-NEXT: ge.fused ins(%x, %w, %[[B]] : {{.*}}) {anchor = "ge.matmul"} {
  // CHECK: ge.matmul %{{.*}}, %{{.*}}, %{{.*}} :
  // CHECK-NEXT: ge.relu
  %b = ge.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %0 = ge.matmul %x, %w : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %1 = ge.add %0, %b : (tensor<2x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
  %2 = ge.relu %1 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}

// -----

// A matrix product keeps its Add if the constant runs along the rows.
// CHECK-LABEL: func.func @bias_along_rows
// CHECK-NOT: ge.fused
func.func @bias_along_rows(%x: tensor<2x3xf32>, %w: tensor<3x2xf32>) -> tensor<2x2xf32> {
  %b = ge.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  // CHECK: ge.matmul %x, %w :
  // CHECK-NEXT: ge.add
  %0 = ge.matmul %x, %w : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %1 = ge.add %0, %b : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  return %1 : tensor<2x2xf32>
}

// -----

// One number and a number a column go into the weights, transposed or not, and into the bias: 2 * [3, 5].
// CHECK-LABEL: func.func @scale
func.func @scale(%x: tensor<2x1xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %w = ge.constant dense<[[1.0, 10.0]]> : tensor<1x2xf32>
  %wt = ge.constant dense<[[1.0], [10.0]]> : tensor<2x1xf32>
  %b = ge.constant dense<[1.0, 1.0]> : tensor<2xf32>
  %c = ge.constant dense<[3.0, 5.0]> : tensor<2xf32>
  %two = ge.constant dense<2.0> : tensor<f32>
  // CHECK-DAG: %[[W:.*]] = ge.constant dense<{{\[\[}}6.000000e+00, 1.000000e+02]]> : tensor<1x2xf32>
  // CHECK-DAG: %[[B:.*]] = ge.constant dense<[6.000000e+00, 1.000000e+01]> : tensor<2xf32>
  // CHECK: ge.matmul %x, %[[W]], %[[B]] :
  %0 = ge.matmul %x, %w, %b : (tensor<2x1xf32>, tensor<1x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %1 = ge.mul %0, %c : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %2 = ge.mul %two, %1 : (tensor<f32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  // CHECK: %[[T:.*]] = ge.constant dense<{{\[\[}}3.000000e+00], [5.000000e+01]]> : tensor<2x1xf32>
  // CHECK: ge.matmul %x, %[[T]] {transpose_b = true} :
  %3 = ge.matmul %x, %wt {transpose_b = true} : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %4 = ge.mul %3, %c : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  return %2, %4 : tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// Weights computed at run time, or a scale along the rows: the product keeps its Mul, which leaves with it if it can.
// CHECK-LABEL: func.func @scale_stays
func.func @scale_stays(%x: tensor<2x3xf32>, %w: tensor<3x2xf32>) -> tensor<2x2xf32> {
  %k = ge.constant dense<1.0> : tensor<2x2xf32>
  %two = ge.constant dense<2.0> : tensor<f32>
  %rows = ge.constant dense<[[2.0], [3.0]]> : tensor<2x1xf32>
  // CHECK: ge.fused ins(%x, %w, %{{.*}} : {{.*}}) {anchor = "ge.matmul"} {
  // CHECK: ge.mul
  %0 = ge.matmul %x, %w : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %1 = ge.mul %0, %two : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  // CHECK: ge.matmul
  // CHECK-NEXT: ge.mul
  // CHECK-NEXT: return
  %2 = ge.matmul %1, %k : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = ge.mul %2, %rows : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  return %3 : tensor<2x2xf32>
}

// -----

// A view between the product and its residual goes behind both; the activation follows.
// CHECK-LABEL: func.func @through_a_view
// CHECK-NEXT: %[[R:.*]] = ge.reshape %r {shape = [6, 4]}
// CHECK-NEXT: %[[F:.*]] = ge.fused ins(%x, %w, %[[R]] : {{.*}}) {anchor = "ge.matmul"} {
// CHECK: ge.matmul
// CHECK-NEXT: ge.add
// CHECK-NEXT: ge.relu
// CHECK-NEXT: ge.yield
// CHECK: ge.reshape %[[F]] {shape = [2, 3, 4]}
func.func @through_a_view(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %r: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = ge.matmul %x, %w : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %1 = ge.reshape %0 {shape = [2, 3, 4]} : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %2 = ge.add %r, %1 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %3 = ge.relu %2 : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %3 : tensor<2x3x4xf32>
}

// -----

// The view changes the columns; it has another reader; both sides come from products.
// CHECK-LABEL: func.func @views_stay
// CHECK-NOT: ge.fused
// CHECK: return
func.func @views_stay(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %r: tensor<3x8xf32>) -> (tensor<3x8xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) {
  %0 = ge.matmul %x, %w : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %1 = ge.reshape %0 {shape = [3, 8]} : (tensor<6x4xf32>) -> tensor<3x8xf32>
  %2 = ge.add %1, %r : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %3 = ge.matmul %x, %w : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %4 = ge.reshape %3 {shape = [2, 3, 4]} : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %5 = ge.relu %4 : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %6 = ge.matmul %x, %w : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %7 = ge.reshape %6 {shape = [2, 3, 4]} : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %8 = ge.matmul %x, %w : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %9 = ge.reshape %8 {shape = [2, 3, 4]} : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %10 = ge.add %7, %9 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %2, %4, %5, %10 : tensor<3x8xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>
}

// -----

// A row with leading ones is still a bias of the product behind the view, and its residual may have other readers.
// CHECK-LABEL: func.func @row_of_higher_rank
// CHECK: %[[B:.*]] = ge.constant {{.*}} : tensor<4xf32>
// CHECK: ge.fused ins(%x, %w, %[[B]], %p : {{.*}}) {anchor = "ge.matmul"} {
// CHECK: ge.matmul
// CHECK-NEXT: ge.add
// CHECK-NEXT: ge.yield
func.func @row_of_higher_rank(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %m: tensor<6x4xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) {
  %b = ge.constant dense<[[[[1.0, 2.0, 3.0, 4.0]]]]> : tensor<1x1x1x4xf32>
  %k = ge.constant dense<1.0> : tensor<4x4xf32>
  %p = ge.matmul %m, %k : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  %r = ge.reshape %p {shape = [1, 2, 3, 4]} : (tensor<6x4xf32>) -> tensor<1x2x3x4xf32>
  %0 = ge.matmul %x, %w : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %1 = ge.reshape %0 {shape = [1, 2, 3, 4]} : (tensor<6x4xf32>) -> tensor<1x2x3x4xf32>
  %2 = ge.add %b, %1 : (tensor<1x1x1x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %3 = ge.add %r, %2 : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  return %r, %3 : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>
}

// -----

// A norm of rows that a product made stays in the product's shape, and so does the next product's input.
// CHECK-LABEL: func.func @norm_behind_a_product
// CHECK: %[[P:.*]] = ge.matmul %x, %w
// CHECK-NEXT: %[[N:.*]] = ge.layer_norm %[[P]], %s {axis = 1} : (tensor<6x4xf32>, tensor<4xf32>) -> tensor<6x4xf32>
// CHECK-NEXT: ge.matmul %[[N]], %k
func.func @norm_behind_a_product(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %s: tensor<4xf32>, %k: tensor<4x4xf32>) -> tensor<6x4xf32> {
  %0 = ge.matmul %x, %w : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %1 = ge.reshape %0 {shape = [2, 3, 4]} : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %2 = ge.layer_norm %1, %s {axis = 2} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  %3 = ge.reshape %2 {shape = [6, 4]} : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %4 = ge.matmul %3, %k : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  return %4 : tensor<6x4xf32>
}

// -----

// Not over more than the columns, not where the view cuts rows, not with a scale a row, not of what is no product.
// CHECK-LABEL: func.func @norms_that_stay
// CHECK: ge.rms_norm %{{.*}}, %t {axis = 1} : (tensor<2x3x4xf32>
// CHECK: ge.rms_norm %{{.*}}, %u {axis = 2} : (tensor<2x6x2xf32>
// CHECK: ge.rms_norm %{{.*}}, %r {axis = 2} : (tensor<2x3x4xf32>
// CHECK: ge.rms_norm %{{.*}}, %s {axis = 2} : (tensor<2x3x4xf32>
func.func @norms_that_stay(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %p: tensor<6x4xf32>, %s: tensor<4xf32>, %t: tensor<3x4xf32>, %u: tensor<2xf32>, %r: tensor<3x1xf32>) -> (tensor<2x3x4xf32>, tensor<2x6x2xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) {
  %0 = ge.matmul %x, %w : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %1 = ge.reshape %0 {shape = [2, 3, 4]} : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %2 = ge.rms_norm %1, %t {axis = 1} : (tensor<2x3x4xf32>, tensor<3x4xf32>) -> tensor<2x3x4xf32>
  %3 = ge.reshape %0 {shape = [2, 6, 2]} : (tensor<6x4xf32>) -> tensor<2x6x2xf32>
  %4 = ge.rms_norm %3, %u {axis = 2} : (tensor<2x6x2xf32>, tensor<2xf32>) -> tensor<2x6x2xf32>
  %5 = ge.rms_norm %1, %r {axis = 2} : (tensor<2x3x4xf32>, tensor<3x1xf32>) -> tensor<2x3x4xf32>
  %6 = ge.reshape %p {shape = [2, 3, 4]} : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %7 = ge.rms_norm %6, %s {axis = 2} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  return %2, %4, %5, %7 : tensor<2x3x4xf32>, tensor<2x6x2xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>
}

// -----

// What is added may be a constant of all rows: it takes the product's shape while compiling, no operator is left to do so.
// CHECK-LABEL: func.func @constant_of_all_rows
// CHECK-NOT: ge.reshape %c
// CHECK: %[[C:.*]] = ge.constant dense<{{.*}}> : tensor<6x4xf32>
// CHECK-NEXT: ge.fused ins(%x, %w, %[[C]] : tensor<6x8xf32>, tensor<8x4xf32>, tensor<6x4xf32>)
func.func @constant_of_all_rows(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) -> tensor<2x3x4xf32> {
  %c = ge.constant dense<1.0> : tensor<2x3x4xf32>
  %0 = ge.matmul %x, %w : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %1 = ge.reshape %0 {shape = [2, 3, 4]} : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %2 = ge.add %1, %c : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %2 : tensor<2x3x4xf32>
}
