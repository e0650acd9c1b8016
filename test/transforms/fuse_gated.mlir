// RUN: ge-opt --no-locations --fuse-matmul-elementwise --split-input-file %s | FileCheck %s

// Two products of one input, one of which is the gate of the other: the products, the gate, the join.
// CHECK-LABEL: func.func @swiglu
// CHECK: ge.fused ins(%x, %w, %v : {{.*}}) {anchor = "ge.matmul"} {
// CHECK: %[[G:.*]] = ge.matmul
// CHECK-NEXT: %[[U:.*]] = ge.matmul
// CHECK-NEXT: %[[S:.*]] = ge.swish %[[G]]
// CHECK-NEXT: ge.mul %[[S]], %[[U]]
// CHECK-NEXT: ge.yield
// CHECK-NOT: ge.fused
func.func @swiglu(%x: tensor<1x16x32xf32>) -> tensor<1x16x64xf32> {
  %w = ge.constant dense<0.5> : tensor<32x64xf32>
  %v = ge.constant dense<0.25> : tensor<32x64xf32>
  %g = ge.matmul %x, %w : (tensor<1x16x32xf32>, tensor<32x64xf32>) -> tensor<1x16x64xf32>
  %s = ge.swish %g : (tensor<1x16x64xf32>) -> tensor<1x16x64xf32>
  %u = ge.matmul %x, %v : (tensor<1x16x32xf32>, tensor<32x64xf32>) -> tensor<1x16x64xf32>
  %y = ge.mul %s, %u : (tensor<1x16x64xf32>, tensor<1x16x64xf32>) -> tensor<1x16x64xf32>
  return %y : tensor<1x16x64xf32>
}

// -----

// The gate may stand on the right, and be two operators; both products have a bias.
// CHECK-LABEL: func.func @on_the_right
// CHECK: ge.fused
// CHECK-COUNT-2: ge.matmul %{{.*}}, %{{.*}}, %{{.*}} :
// CHECK: ge.abs
// CHECK-NEXT: ge.sigmoid
// CHECK-NEXT: ge.mul
func.func @on_the_right(%x: tensor<16x32xf32>) -> tensor<16x64xf32> {
  %w = ge.constant dense<0.5> : tensor<32x64xf32>
  %v = ge.constant dense<0.25> : tensor<32x64xf32>
  %b = ge.constant dense<1.0> : tensor<64xf32>
  %u = ge.matmul %x, %v, %b : (tensor<16x32xf32>, tensor<32x64xf32>, tensor<64xf32>) -> tensor<16x64xf32>
  %g = ge.matmul %x, %w, %b : (tensor<16x32xf32>, tensor<32x64xf32>, tensor<64xf32>) -> tensor<16x64xf32>
  %0 = ge.abs %g : (tensor<16x64xf32>) -> tensor<16x64xf32>
  %1 = ge.sigmoid %0 : (tensor<16x64xf32>) -> tensor<16x64xf32>
  %y = ge.mul %u, %1 : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  return %y : tensor<16x64xf32>
}

// -----

// Apart: a gate that something else reads.
// CHECK-LABEL: func.func @read_twice
// CHECK: %[[S:.*]] = ge.fused ins(%x, %w : {{.*}}) {anchor = "ge.matmul"} {
// CHECK: %y = ge.fused ins(%x, %v, %[[S]] : {{.*}}) {anchor = "ge.matmul"} {
func.func @read_twice(%x: tensor<16x32xf32>) -> (tensor<16x64xf32>, tensor<16x64xf32>) {
  %w = ge.constant dense<0.5> : tensor<32x64xf32>
  %v = ge.constant dense<0.25> : tensor<32x64xf32>
  %g = ge.matmul %x, %w : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
  %s = ge.swish %g : (tensor<16x64xf32>) -> tensor<16x64xf32>
  %u = ge.matmul %x, %v : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
  %y = ge.mul %s, %u : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  return %y, %s : tensor<16x64xf32>, tensor<16x64xf32>
}

// -----

// Apart: products of two inputs, of matrices of two orientations, and one product joined with itself.
// CHECK-LABEL: func.func @apart
// CHECK: %[[A:.*]] = ge.fused ins(%x, %w : {{.*}}) {anchor = "ge.matmul"} {
// CHECK: ge.fused ins(%z, %v, %[[A]] : {{.*}}) {anchor = "ge.matmul"} {
// CHECK: %[[B:.*]] = ge.fused ins(%x, %v : {{.*}}) {anchor = "ge.matmul"} {
// CHECK: ge.fused ins(%x, %t, %[[B]] : {{.*}}) {anchor = "ge.matmul"} {
// CHECK: %[[C:.*]] = ge.matmul %z, %w :
// CHECK-NEXT: ge.mul %[[C]], %[[C]]
func.func @apart(%x: tensor<16x32xf32>, %z: tensor<16x32xf32>) -> (tensor<16x64xf32>, tensor<16x64xf32>, tensor<16x64xf32>) {
  %w = ge.constant dense<0.5> : tensor<32x64xf32>
  %v = ge.constant dense<0.25> : tensor<32x64xf32>
  %t = ge.constant dense<0.75> : tensor<64x32xf32>
  %0 = ge.matmul %x, %w : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
  %1 = ge.tanh %0 : (tensor<16x64xf32>) -> tensor<16x64xf32>
  %2 = ge.matmul %z, %v : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
  %3 = ge.mul %1, %2 : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  %4 = ge.matmul %x, %v : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
  %5 = ge.tanh %4 : (tensor<16x64xf32>) -> tensor<16x64xf32>
  %6 = ge.matmul %x, %t {transpose_b = true} : (tensor<16x32xf32>, tensor<64x32xf32>) -> tensor<16x64xf32>
  %7 = ge.mul %5, %6 : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  %8 = ge.matmul %z, %w : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
  %9 = ge.mul %8, %8 : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  return %3, %7, %9 : tensor<16x64xf32>, tensor<16x64xf32>, tensor<16x64xf32>
}

// -----

// Apart: products with matrices that are computed, which need not lie as weights do.
// CHECK-LABEL: func.func @computed
// CHECK: %[[S:.*]] = ge.fused ins(%x, %w : {{.*}}) {anchor = "ge.matmul"} {
// CHECK: ge.fused ins(%x, %v, %[[S]] : {{.*}}) {anchor = "ge.matmul"} {
func.func @computed(%x: tensor<16x32xf32>, %w: tensor<32x64xf32>, %v: tensor<32x64xf32>) -> tensor<16x64xf32> {
  %g = ge.matmul %x, %w : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
  %s = ge.swish %g : (tensor<16x64xf32>) -> tensor<16x64xf32>
  %u = ge.matmul %x, %v : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
  %y = ge.mul %s, %u : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  return %y : tensor<16x64xf32>
}
