// RUN: ge-opt --no-locations --fuse-parallel-matmuls --split-input-file %s | FileCheck %s

// Query, key and value, the first with twice the columns of the others: one product, each part a slice of it.
// CHECK-LABEL: func.func @query_key_value
// CHECK: %[[W:.*]] = ge.constant #ge.fold<"ge.concat", [{{.*}}], {axis = 1 : i64}, tensor<32x128xf32>>
// CHECK: %[[Y:.*]] = ge.matmul %x, %[[W]] : (tensor<1x16x32xf32>, tensor<32x128xf32>) -> tensor<1x16x128xf32>
// CHECK-NEXT: %[[Q:.*]] = ge.slice %[[Y]] {starts = [0], ends = [64], axes = [2], steps = [1]}
// CHECK-NEXT: %[[K:.*]] = ge.slice %[[Y]] {starts = [64], ends = [96], axes = [2], steps = [1]}
// CHECK-NEXT: %[[V:.*]] = ge.slice %[[Y]] {starts = [96], ends = [128], axes = [2], steps = [1]}
// CHECK-NEXT: return %[[Q]], %[[K]], %[[V]]
func.func @query_key_value(%x: tensor<1x16x32xf32>) -> (tensor<1x16x64xf32>, tensor<1x16x32xf32>, tensor<1x16x32xf32>) {
  %wq = ge.constant dense<1.0> : tensor<32x64xf32>
  %wk = ge.constant dense<2.0> : tensor<32x32xf32>
  %wv = ge.constant dense<3.0> : tensor<32x32xf32>
  %q = ge.matmul %x, %wq : (tensor<1x16x32xf32>, tensor<32x64xf32>) -> tensor<1x16x64xf32>
  %k = ge.matmul %x, %wk : (tensor<1x16x32xf32>, tensor<32x32xf32>) -> tensor<1x16x32xf32>
  %v = ge.matmul %x, %wv : (tensor<1x16x32xf32>, tensor<32x32xf32>) -> tensor<1x16x32xf32>
  return %q, %k, %v : tensor<1x16x64xf32>, tensor<1x16x32xf32>, tensor<1x16x32xf32>
}

// -----

// Rows as columns of the weights; a product without bias gets zeros, as Whisper's keys have none.
// CHECK-LABEL: func.func @transposed_with_one_bias
// CHECK: ge.constant #ge.fold<"ge.concat", [{{.*}}], {axis = 0 : i64}, tensor<48x32xf32>>
// CHECK-NEXT: ge.constant dense<[{{.*}}1.000000e+00, 0.000000e+00, {{.*}}]> : tensor<48xf32>
// CHECK-NEXT: ge.matmul %x, %{{.*}}, %{{.*}} {transpose_b = true} : (tensor<16x32xf32>, tensor<48x32xf32>, tensor<48xf32>) -> tensor<16x48xf32>
func.func @transposed_with_one_bias(%x: tensor<16x32xf32>) -> (tensor<16x16xf32>, tensor<16x32xf32>) {
  %wq = ge.constant dense<1.0> : tensor<16x32xf32>
  %wk = ge.constant dense<2.0> : tensor<32x32xf32>
  %bq = ge.constant dense<1.0> : tensor<16xf32>
  %q = ge.matmul %x, %wq, %bq {transpose_b = true} : (tensor<16x32xf32>, tensor<16x32xf32>, tensor<16xf32>) -> tensor<16x16xf32>
  %k = ge.matmul %x, %wk {transpose_b = true} : (tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<16x32xf32>
  return %q, %k : tensor<16x16xf32>, tensor<16x32xf32>
}

// -----

// Other inputs, weights that are not known, weights stored the other way: nothing is joined.
// CHECK-LABEL: func.func @nothing_in_common
// CHECK-NOT: ge.slice
func.func @nothing_in_common(%x: tensor<16x32xf32>, %z: tensor<16x32xf32>, %w: tensor<32x32xf32>) -> (tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>) {
  %w1 = ge.constant dense<1.0> : tensor<32x32xf32>
  %0 = ge.matmul %x, %w1 : (tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<16x32xf32>
  %1 = ge.matmul %z, %w1 : (tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<16x32xf32>
  %2 = ge.matmul %x, %w : (tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<16x32xf32>
  %3 = ge.matmul %x, %w1 {transpose_b = true} : (tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<16x32xf32>
  return %0, %1, %2, %3 : tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>
}

// -----

// Parts that are no views cost a task each: of several matrices, and of a part of a block of columns. Two starts are
// then dearer than one, whatever the sizes.
// CHECK-LABEL: func.func @parts_to_copy
// CHECK-NOT: ge.slice
func.func @parts_to_copy(%x: tensor<2x16x32xf32>, %z: tensor<16x32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16x32xf32>, tensor<16x24xf32>, tensor<16x24xf32>) {
  %w0 = ge.constant dense<1.0> : tensor<32x32xf32>
  %w1 = ge.constant dense<2.0> : tensor<32x32xf32>
  %w2 = ge.constant dense<3.0> : tensor<32x24xf32>
  %w3 = ge.constant dense<4.0> : tensor<32x24xf32>
  %0 = ge.matmul %x, %w0 : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32>
  %1 = ge.matmul %x, %w1 : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32>
  %2 = ge.matmul %z, %w2 : (tensor<16x32xf32>, tensor<32x24xf32>) -> tensor<16x24xf32>
  %3 = ge.matmul %z, %w3 : (tensor<16x32xf32>, tensor<32x24xf32>) -> tensor<16x24xf32>
  return %0, %1, %2, %3 : tensor<2x16x32xf32>, tensor<2x16x32xf32>, tensor<16x24xf32>, tensor<16x24xf32>
}

// -----

// A matrix as bias, and sums of whole numbers: neither is one constant value a column in a float type.
// CHECK-LABEL: func.func @biases
// CHECK-NOT: ge.slice
func.func @biases(%x: tensor<16x32xf32>, %c: tensor<16x32xf32>, %n: tensor<16x32xi32>) -> (tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xi32>, tensor<16x32xi32>) {
  %w0 = ge.constant dense<1.0> : tensor<32x32xf32>
  %w1 = ge.constant dense<2.0> : tensor<32x32xf32>
  %w2 = ge.constant dense<1> : tensor<32x32xi32>
  %w3 = ge.constant dense<2> : tensor<32x32xi32>
  %0 = ge.matmul %x, %w0 : (tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<16x32xf32>
  %1 = ge.matmul %x, %w1, %c : (tensor<16x32xf32>, tensor<32x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
  %2 = ge.matmul %n, %w2 : (tensor<16x32xi32>, tensor<32x32xi32>) -> tensor<16x32xi32>
  %3 = ge.matmul %n, %w3 : (tensor<16x32xi32>, tensor<32x32xi32>) -> tensor<16x32xi32>
  return %0, %1, %2, %3 : tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xi32>, tensor<16x32xi32>
}

// -----

// Of a batch the heads are free that attention alone reads: it finds them where they lie.
// CHECK-LABEL: func.func @heads_of_a_batch
// CHECK: %[[Y:.*]] = ge.matmul %x, %{{.*}} : (tensor<2x16x32xf32>, tensor<32x96xf32>) -> tensor<2x16x96xf32>
// CHECK-NEXT: %[[H:.*]] = ge.split_heads %[[Y]] {heads = 6} : (tensor<2x16x96xf32>) -> tensor<2x6x16x16xf32>
// CHECK-NEXT: %[[Q:.*]] = ge.slice %[[H]] {starts = [0], ends = [2], axes = [1], steps = [1]}
// CHECK-NEXT: %[[K:.*]] = ge.slice %[[H]] {starts = [2], ends = [4], axes = [1], steps = [1]}
// CHECK-NEXT: %[[V:.*]] = ge.slice %[[H]] {starts = [4], ends = [6], axes = [1], steps = [1]}
// CHECK-NEXT: ge.fused ins(%[[Q]], %[[K]], %[[V]] :
func.func @heads_of_a_batch(%x: tensor<2x16x32xf32>) -> (tensor<2x2x16x16xf32>) {
  %wq = ge.constant dense<1.0> : tensor<32x32xf32>
  %mq = ge.matmul %x, %wq : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32>
  %q = ge.split_heads %mq {heads = 2} : (tensor<2x16x32xf32>) -> tensor<2x2x16x16xf32>
  %wk = ge.constant dense<2.0> : tensor<32x32xf32>
  %mk = ge.matmul %x, %wk : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32>
  %k = ge.split_heads %mk {heads = 2} : (tensor<2x16x32xf32>) -> tensor<2x2x16x16xf32>
  %wv = ge.constant dense<3.0> : tensor<32x32xf32>
  %mv = ge.matmul %x, %wv : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32>
  %v = ge.split_heads %mv {heads = 2} : (tensor<2x16x32xf32>) -> tensor<2x2x16x16xf32>
  %y = ge.fused ins(%q, %k, %v : tensor<2x2x16x16xf32>, tensor<2x2x16x16xf32>, tensor<2x2x16x16xf32>) {anchor = "ge.matmul"} {
  ^bb0(%0: tensor<2x2x16x16xf32>, %1: tensor<2x2x16x16xf32>, %2: tensor<2x2x16x16xf32>):
    %3 = ge.matmul %0, %1 {transpose_b = true} : (tensor<2x2x16x16xf32>, tensor<2x2x16x16xf32>) -> tensor<2x2x16x16xf32>
    %4 = ge.softmax %3 {axis = 3} : (tensor<2x2x16x16xf32>) -> tensor<2x2x16x16xf32>
    %5 = ge.matmul %4, %2 : (tensor<2x2x16x16xf32>, tensor<2x2x16x16xf32>) -> tensor<2x2x16x16xf32>
    ge.yield %5 : tensor<2x2x16x16xf32>
  } -> tensor<2x2x16x16xf32>
  return %y : tensor<2x2x16x16xf32>
}

// -----

// Keys that leave the graph too would have to be copied.
// CHECK-LABEL: func.func @heads_that_leave
// CHECK-COUNT-3: ge.split_heads
// CHECK-NOT: ge.slice
func.func @heads_that_leave(%x: tensor<2x16x32xf32>) -> (tensor<2x2x16x16xf32>, tensor<2x2x16x16xf32>) {
  %wq = ge.constant dense<1.0> : tensor<32x32xf32>
  %mq = ge.matmul %x, %wq : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32>
  %q = ge.split_heads %mq {heads = 2} : (tensor<2x16x32xf32>) -> tensor<2x2x16x16xf32>
  %wk = ge.constant dense<2.0> : tensor<32x32xf32>
  %mk = ge.matmul %x, %wk : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32>
  %k = ge.split_heads %mk {heads = 2} : (tensor<2x16x32xf32>) -> tensor<2x2x16x16xf32>
  %wv = ge.constant dense<3.0> : tensor<32x32xf32>
  %mv = ge.matmul %x, %wv : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32>
  %v = ge.split_heads %mv {heads = 2} : (tensor<2x16x32xf32>) -> tensor<2x2x16x16xf32>
  %y = ge.fused ins(%q, %k, %v : tensor<2x2x16x16xf32>, tensor<2x2x16x16xf32>, tensor<2x2x16x16xf32>) {anchor = "ge.matmul"} {
  ^bb0(%0: tensor<2x2x16x16xf32>, %1: tensor<2x2x16x16xf32>, %2: tensor<2x2x16x16xf32>):
    %3 = ge.matmul %0, %1 {transpose_b = true} : (tensor<2x2x16x16xf32>, tensor<2x2x16x16xf32>) -> tensor<2x2x16x16xf32>
    %4 = ge.softmax %3 {axis = 3} : (tensor<2x2x16x16xf32>) -> tensor<2x2x16x16xf32>
    %5 = ge.matmul %4, %2 : (tensor<2x2x16x16xf32>, tensor<2x2x16x16xf32>) -> tensor<2x2x16x16xf32>
    ge.yield %5 : tensor<2x2x16x16xf32>
  } -> tensor<2x2x16x16xf32>
  return %y, %k : tensor<2x2x16x16xf32>, tensor<2x2x16x16xf32>
}
