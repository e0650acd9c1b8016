// RUN: ge-opt --no-locations --simplify-attention --split-input-file %s | FileCheck %s

// The guard is needed where a row may be -inf throughout: a constant with such a row, a mask that nothing is known of,
// a choice of -inf, two masks that may complete each other.
// CHECK-LABEL: func.func @rows_without_keys
// CHECK-COUNT-4: ge.compare
func.func @rows_without_keys(%q: tensor<2x16xf32>, %k: tensor<2x16xf32>, %given: tensor<2x2xf32>, %keep: tensor<2x2xi1>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %zero = ge.constant dense<0.0> : tensor<f32>
  %inf = ge.constant dense<0xFF800000> : tensor<f32>
  %whole = ge.constant dense<[[0xFF800000, 0xFF800000], [0.0, 0.0]]> : tensor<2x2xf32>
  %upper = ge.constant dense<[[0.0, 0xFF800000], [0.0, 0.0]]> : tensor<2x2xf32>
  %lower = ge.constant dense<[[0xFF800000, 0.0], [0.0, 0.0]]> : tensor<2x2xf32>
  %chosen = ge.select %keep, %zero, %inf : (tensor<2x2xi1>, tensor<f32>, tensor<f32>) -> tensor<2x2xf32>
  %0 = ge.matmul %q, %k {transpose_b = true} : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x2xf32>
  %1 = ge.add %0, %whole : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = ge.softmax %1 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = ge.compare %2, %2 {predicate = "ne"} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
  %4 = ge.select %3, %zero, %2 : (tensor<2x2xi1>, tensor<f32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %5 = ge.matmul %q, %k {transpose_b = true} : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x2xf32>
  %6 = ge.add %5, %given : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %7 = ge.softmax %6 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %8 = ge.compare %7, %7 {predicate = "ne"} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
  %9 = ge.select %8, %zero, %7 : (tensor<2x2xi1>, tensor<f32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %10 = ge.matmul %q, %k {transpose_b = true} : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x2xf32>
  %11 = ge.add %10, %chosen : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %12 = ge.softmax %11 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %13 = ge.compare %12, %12 {predicate = "ne"} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
  %14 = ge.select %13, %zero, %12 : (tensor<2x2xi1>, tensor<f32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %15 = ge.matmul %q, %k {transpose_b = true} : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x2xf32>
  %16 = ge.add %15, %upper : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %17 = ge.add %16, %lower : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %18 = ge.softmax %17 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %19 = ge.compare %18, %18 {predicate = "ne"} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
  %20 = ge.select %19, %zero, %18 : (tensor<2x2xi1>, tensor<f32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %4, %9, %14, %20 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// No guard against nan: another comparison, another number instead, a comparison of another tensor.
// CHECK-LABEL: func.func @no_guard
// CHECK-COUNT-3: ge.select
func.func @no_guard(%q: tensor<2x16xf32>, %k: tensor<2x16xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %zero = ge.constant dense<0.0> : tensor<f32>
  %one = ge.constant dense<1.0> : tensor<f32>
  %0 = ge.matmul %q, %k {transpose_b = true} : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x2xf32>
  %1 = ge.softmax %0 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = ge.compare %1, %1 {predicate = "eq"} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
  %3 = ge.select %2, %zero, %1 : (tensor<2x2xi1>, tensor<f32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %4 = ge.compare %1, %1 {predicate = "ne"} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
  %5 = ge.select %4, %one, %1 : (tensor<2x2xi1>, tensor<f32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %6 = ge.compare %1, %zero {predicate = "ne"} : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xi1>
  %7 = ge.select %6, %zero, %1 : (tensor<2x2xi1>, tensor<f32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %3, %5, %7 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// A number that scores are seen beside is no mask to add; nor is anything chosen that no softmax reads.
// CHECK-LABEL: func.func @small_numbers
// CHECK-NOT: ge.add
func.func @small_numbers(%q: tensor<16x16xf32>, %k: tensor<16x16xf32>, %keep: tensor<16x16xi1>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %some = ge.constant dense<-10000.0> : tensor<f32>
  %low = ge.constant dense<-3.40282347e+38> : tensor<f32>
  %0 = ge.matmul %q, %k {transpose_b = true} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = ge.select %keep, %0, %some : (tensor<16x16xi1>, tensor<16x16xf32>, tensor<f32>) -> tensor<16x16xf32>
  %2 = ge.softmax %1 : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %3 = ge.matmul %q, %k {transpose_b = true} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %4 = ge.select %keep, %3, %low : (tensor<16x16xi1>, tensor<16x16xf32>, tensor<f32>) -> tensor<16x16xf32>
  return %2, %4 : tensor<16x16xf32>, tensor<16x16xf32>
}

// -----

// Scales stay: of a product with weights, which take them; of queries that leave the graph; of one number a column; in
// front of a product that makes no scores.
// CHECK-LABEL: func.func @scales_that_stay
// CHECK: %[[A:.*]] = ge.mul
// CHECK: ge.matmul %[[A]], %k
// CHECK: %[[B:.*]] = ge.mul %q, %d
// CHECK-NEXT: ge.matmul %[[B]], %k
// CHECK: %[[C:.*]] = ge.mul %q, %row
// CHECK-NEXT: ge.matmul %[[C]], %k
// CHECK: %[[D:.*]] = ge.mul %k, %d
// CHECK-NEXT: ge.matmul %q, %[[D]]
func.func @scales_that_stay(%q: tensor<16x16xf32>, %k: tensor<16x16xf32>, %row: tensor<16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) {
  %w = ge.constant dense<1.0> : tensor<16x16xf32>
  %d = ge.constant dense<0.25> : tensor<f32>
  %0 = ge.matmul %q, %w : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = ge.mul %0, %d : (tensor<16x16xf32>, tensor<f32>) -> tensor<16x16xf32>
  %2 = ge.matmul %1, %k {transpose_b = true} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %3 = ge.softmax %2 : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %4 = ge.mul %q, %d : (tensor<16x16xf32>, tensor<f32>) -> tensor<16x16xf32>
  %5 = ge.matmul %4, %k {transpose_b = true} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %6 = ge.softmax %5 : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %7 = ge.mul %q, %row : (tensor<16x16xf32>, tensor<16xf32>) -> tensor<16x16xf32>
  %8 = ge.matmul %7, %k {transpose_b = true} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %9 = ge.softmax %8 : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %10 = ge.mul %k, %d : (tensor<16x16xf32>, tensor<f32>) -> tensor<16x16xf32>
  %11 = ge.matmul %q, %10 {transpose_b = true} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %3, %6, %4, %9, %11 : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
}

// -----

// Repeated rows, or heads one group after another, are no heads that a group shares.
// CHECK-LABEL: func.func @repeated_otherwise
// CHECK: ge.matmul %q, %0
// CHECK: ge.matmul %q, %1
func.func @repeated_otherwise(%q: tensor<4x16x16xf32>, %k: tensor<4x8x16xf32>, %h: tensor<2x16x16xf32>) -> (tensor<4x16x16xf32>, tensor<4x16x16xf32>) {
  %0 = ge.resize %k {axes = [1], sizes = [16], coordinates = "asymmetric", nearest = "floor"} : (tensor<4x8x16xf32>) -> tensor<4x16x16xf32>
  %1 = ge.tile %h {repeats = [2, 1, 1]} : (tensor<2x16x16xf32>) -> tensor<4x16x16xf32>
  %2 = ge.matmul %q, %0 {transpose_b = true} : (tensor<4x16x16xf32>, tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  %3 = ge.matmul %q, %1 {transpose_b = true} : (tensor<4x16x16xf32>, tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  return %2, %3 : tensor<4x16x16xf32>, tensor<4x16x16xf32>
}

// -----

// Reshapes that cut matrices stay, and masks for parts of a batch that is joined.
// CHECK-LABEL: func.func @reshapes_that_stay
// CHECK: %[[A:.*]] = ge.reshape
// CHECK-NEXT: ge.softmax %[[A]]
// CHECK: %[[B:.*]] = ge.reshape
// CHECK-NEXT: %[[C:.*]] = ge.add %[[B]], %part
// CHECK-NEXT: ge.softmax %[[C]]
func.func @reshapes_that_stay(%q: tensor<2x2x16x16xf32>, %k: tensor<2x2x16x16xf32>, %mask: tensor<2x2x16x16xf32>, %p: tensor<4x16x16xf32>) -> (tensor<2x2x8x32xf32>, tensor<2x2x16x16xf32>) {
  %0 = ge.matmul %q, %k {transpose_b = true} : (tensor<2x2x16x16xf32>, tensor<2x2x16x16xf32>) -> tensor<2x2x16x16xf32>
  %1 = ge.reshape %0 {shape = [2, 2, 8, 32]} : (tensor<2x2x16x16xf32>) -> tensor<2x2x8x32xf32>
  %2 = ge.softmax %1 : (tensor<2x2x8x32xf32>) -> tensor<2x2x8x32xf32>
  %part = ge.slice %mask {starts = [0], ends = [1], axes = [0], steps = [1]} : (tensor<2x2x16x16xf32>) -> tensor<1x2x16x16xf32>
  %3 = ge.matmul %p, %p {transpose_b = true} : (tensor<4x16x16xf32>, tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  %4 = ge.reshape %3 {shape = [2, 2, 16, 16]} : (tensor<4x16x16xf32>) -> tensor<2x2x16x16xf32>
  %5 = ge.add %4, %part : (tensor<2x2x16x16xf32>, tensor<1x2x16x16xf32>) -> tensor<2x2x16x16xf32>
  %6 = ge.softmax %5 : (tensor<2x2x16x16xf32>) -> tensor<2x2x16x16xf32>
  return %2, %6 : tensor<2x2x8x32xf32>, tensor<2x2x16x16xf32>
}
