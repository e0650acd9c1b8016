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
