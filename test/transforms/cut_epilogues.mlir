// RUN: ge-opt --no-locations --cut-epilogues='soc=Ascend910B3 teams=false' --split-input-file %s | FileCheck %s

// Where Cube and Vector have cores of their own, FixPipe takes ReLU along; the rest is a task of the Vector cores.
// CHECK-LABEL: func.func @conv
// CHECK: %[[C:.*]] = ge.fused ins(%x, %w : {{.*}}) {anchor = "ge.conv2d"} {
// CHECK: ge.conv2d
// CHECK-NEXT: ge.relu
// CHECK-NEXT: ge.yield
// CHECK: ge.fused ins(%[[C]], %r : {{.*}}) {anchor = "ge.add"} {
// CHECK: ge.add
// CHECK-NEXT: ge.sigmoid
// CHECK-NEXT: ge.yield
func.func @conv(%x: tensor<1x16x4x4xf16>, %w: tensor<16x16x1x1xf16>, %r: tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16> {
  %0 = ge.fused ins(%x, %w, %r : tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>, tensor<1x16x4x4xf16>) {anchor = "ge.conv2d"} {
  ^bb0(%a: tensor<1x16x4x4xf16>, %f: tensor<16x16x1x1xf16>, %b: tensor<1x16x4x4xf16>):
    %1 = ge.conv2d %a, %f : (tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>) -> tensor<1x16x4x4xf16>
    %2 = ge.relu %1 : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
    %3 = ge.add %2, %b : (tensor<1x16x4x4xf16>, tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
    %4 = ge.sigmoid %3 : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
    ge.yield %4 : tensor<1x16x4x4xf16>
  } -> tensor<1x16x4x4xf16>
  return %0 : tensor<1x16x4x4xf16>
}

// -----

// ReLU alone stays; a group of the Vector is not touched.
// CHECK-LABEL: func.func @whole
// CHECK-COUNT-2: ge.fused
// CHECK-NOT: ge.fused
func.func @whole(%a: tensor<32x32xf16>, %b: tensor<32x32xf16>) -> tensor<32x32xf16> {
  %0 = ge.fused ins(%a, %b : tensor<32x32xf16>, tensor<32x32xf16>) {anchor = "ge.matmul"} {
  ^bb0(%p: tensor<32x32xf16>, %q: tensor<32x32xf16>):
    %1 = ge.matmul %p, %q : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
    %2 = ge.relu %1 : (tensor<32x32xf16>) -> tensor<32x32xf16>
    ge.yield %2 : tensor<32x32xf16>
  } -> tensor<32x32xf16>
  %3 = ge.fused ins(%0, %b : tensor<32x32xf16>, tensor<32x32xf16>) {anchor = "ge.add"} {
  ^bb0(%p: tensor<32x32xf16>, %q: tensor<32x32xf16>):
    %4 = ge.add %p, %q : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
    %5 = ge.exp %4 : (tensor<32x32xf16>) -> tensor<32x32xf16>
    ge.yield %5 : tensor<32x32xf16>
  } -> tensor<32x32xf16>
  return %3 : tensor<32x32xf16>
}

// -----

// Attention becomes its products and, between them, the softmax with its steps.
// CHECK-LABEL: func.func @attention
// CHECK: %[[S:.*]] = ge.matmul %q, %k
// CHECK: %[[P:.*]] = ge.fused ins(%[[S]], %m : {{.*}}) {anchor = "ge.softmax"} {
// CHECK: ge.add
// CHECK-NEXT: ge.softmax
// CHECK: ge.matmul %[[P]], %v
func.func @attention(%q: tensor<2x32x64xf16>, %k: tensor<2x32x64xf16>, %v: tensor<2x32x64xf16>, %m: tensor<2x32x32xf16>) -> tensor<2x32x64xf16> {
  %0 = ge.fused ins(%q, %k, %m, %v : tensor<2x32x64xf16>, tensor<2x32x64xf16>, tensor<2x32x32xf16>, tensor<2x32x64xf16>) {anchor = "ge.matmul"} {
  ^bb0(%a: tensor<2x32x64xf16>, %b: tensor<2x32x64xf16>, %c: tensor<2x32x32xf16>, %d: tensor<2x32x64xf16>):
    %1 = ge.matmul %a, %b {transpose_b = true} : (tensor<2x32x64xf16>, tensor<2x32x64xf16>) -> tensor<2x32x32xf16>
    %2 = ge.add %1, %c : (tensor<2x32x32xf16>, tensor<2x32x32xf16>) -> tensor<2x32x32xf16>
    %3 = ge.softmax %2 : (tensor<2x32x32xf16>) -> tensor<2x32x32xf16>
    %4 = ge.matmul %3, %d : (tensor<2x32x32xf16>, tensor<2x32x64xf16>) -> tensor<2x32x64xf16>
    ge.yield %4 : tensor<2x32x64xf16>
  } -> tensor<2x32x64xf16>
  return %0 : tensor<2x32x64xf16>
}

// -----

// A gated product becomes its products, which FixPipe takes out, and the gate with the join.
// CHECK-LABEL: func.func @gated
// CHECK: %[[G:.*]] = ge.matmul %x, %w
// CHECK-NEXT: %[[U:.*]] = ge.matmul %x, %v
// CHECK-NEXT: ge.fused ins(%[[G]], %[[U]] : {{.*}}) {anchor = "ge.swish"} {
// CHECK: ge.swish
// CHECK-NEXT: ge.mul
// CHECK-NEXT: ge.yield
func.func @gated(%x: tensor<16x32xf16>, %w: tensor<32x64xf16>, %v: tensor<32x64xf16>) -> tensor<16x64xf16> {
  %0 = ge.fused ins(%x, %w, %v : tensor<16x32xf16>, tensor<32x64xf16>, tensor<32x64xf16>) {anchor = "ge.matmul"} {
  ^bb0(%a: tensor<16x32xf16>, %b: tensor<32x64xf16>, %c: tensor<32x64xf16>):
    %g = ge.matmul %a, %b : (tensor<16x32xf16>, tensor<32x64xf16>) -> tensor<16x64xf16>
    %u = ge.matmul %a, %c : (tensor<16x32xf16>, tensor<32x64xf16>) -> tensor<16x64xf16>
    %s = ge.swish %g : (tensor<16x64xf16>) -> tensor<16x64xf16>
    %y = ge.mul %s, %u : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    ge.yield %y : tensor<16x64xf16>
  } -> tensor<16x64xf16>
  return %0 : tensor<16x64xf16>
}
