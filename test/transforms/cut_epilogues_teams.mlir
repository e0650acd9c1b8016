// RUN: ge-opt --no-locations --cut-epilogues='soc=Ascend910B3' --split-input-file %s | FileCheck %s

// A short addition behind a convolution: in a team it costs no launch of its own.
// CHECK-LABEL: func.func @residual
// CHECK: ge.fused ins(%x, %w, %r : {{.*}}) {anchor = "ge.conv2d"} {
// CHECK: ge.conv2d
// CHECK-NEXT: ge.add
// CHECK-NEXT: ge.sigmoid
// CHECK-NEXT: ge.yield
// CHECK-NOT: ge.fused
func.func @residual(%x: tensor<1x64x32x32xf16>, %w: tensor<64x64x3x3xf16>, %r: tensor<1x64x32x32xf16>) -> tensor<1x64x32x32xf16> {
  %0 = ge.fused ins(%x, %w, %r : tensor<1x64x32x32xf16>, tensor<64x64x3x3xf16>, tensor<1x64x32x32xf16>) {anchor = "ge.conv2d"} {
  ^bb0(%a: tensor<1x64x32x32xf16>, %f: tensor<64x64x3x3xf16>, %b: tensor<1x64x32x32xf16>):
    %1 = ge.conv2d %a, %f {pads = [1, 1, 1, 1]} : (tensor<1x64x32x32xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x32x32xf16>
    %2 = ge.add %1, %b : (tensor<1x64x32x32xf16>, tensor<1x64x32x32xf16>) -> tensor<1x64x32x32xf16>
    %3 = ge.sigmoid %2 : (tensor<1x64x32x32xf16>) -> tensor<1x64x32x32xf16>
    ge.yield %3 : tensor<1x64x32x32xf16>
  } -> tensor<1x64x32x32xf16>
  return %0 : tensor<1x64x32x32xf16>
}

// -----

// Thirty transcendental functions of a small result: the two Vector cores of its one block would take longer than all 40.
// CHECK-LABEL: func.func @long
// CHECK: ge.conv2d
// CHECK: ge.fused ins({{.*}}) {anchor = "ge.tanh"} {
func.func @long(%x: tensor<1x16x32x32xf16>, %w: tensor<16x16x1x1xf16>) -> tensor<1x16x32x32xf16> {
  %0 = ge.fused ins(%x, %w : tensor<1x16x32x32xf16>, tensor<16x16x1x1xf16>) {anchor = "ge.conv2d"} {
  ^bb0(%a: tensor<1x16x32x32xf16>, %f: tensor<16x16x1x1xf16>):
    %1 = ge.conv2d %a, %f : (tensor<1x16x32x32xf16>, tensor<16x16x1x1xf16>) -> tensor<1x16x32x32xf16>
    %2 = ge.tanh %1 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %3 = ge.exp %2 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %4 = ge.tanh %3 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %5 = ge.exp %4 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %6 = ge.tanh %5 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %7 = ge.exp %6 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %8 = ge.tanh %7 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %9 = ge.exp %8 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %10 = ge.tanh %9 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %11 = ge.exp %10 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %12 = ge.tanh %11 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %13 = ge.exp %12 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %14 = ge.tanh %13 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %15 = ge.exp %14 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %16 = ge.tanh %15 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %17 = ge.exp %16 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %18 = ge.tanh %17 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %19 = ge.exp %18 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %20 = ge.tanh %19 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %21 = ge.exp %20 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %22 = ge.tanh %21 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %23 = ge.exp %22 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %24 = ge.tanh %23 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %25 = ge.exp %24 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %26 = ge.tanh %25 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %27 = ge.exp %26 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %28 = ge.tanh %27 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %29 = ge.exp %28 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %30 = ge.tanh %29 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    %31 = ge.exp %30 : (tensor<1x16x32x32xf16>) -> tensor<1x16x32x32xf16>
    ge.yield %31 : tensor<1x16x32x32xf16>
  } -> tensor<1x16x32x32xf16>
  return %0 : tensor<1x16x32x32xf16>
}

// -----

// Attention stays one kernel where there are strips of rows enough for the cores ...
// CHECK-LABEL: func.func @attention
// CHECK: ge.fused ins(%q, %k, %v
// CHECK: ge.softmax
// CHECK-NEXT: ge.matmul
// CHECK-NEXT: ge.yield
func.func @attention(%q: tensor<12x128x64xf16>, %k: tensor<12x128x64xf16>, %v: tensor<12x128x64xf16>) -> tensor<12x128x64xf16> {
  %0 = ge.fused ins(%q, %k, %v : tensor<12x128x64xf16>, tensor<12x128x64xf16>, tensor<12x128x64xf16>) {anchor = "ge.matmul"} {
  ^bb0(%a: tensor<12x128x64xf16>, %b: tensor<12x128x64xf16>, %c: tensor<12x128x64xf16>):
    %1 = ge.matmul %a, %b {transpose_b = true} : (tensor<12x128x64xf16>, tensor<12x128x64xf16>) -> tensor<12x128x128xf16>
    %2 = ge.softmax %1 : (tensor<12x128x128xf16>) -> tensor<12x128x128xf16>
    %3 = ge.matmul %2, %c : (tensor<12x128x128xf16>, tensor<12x128x64xf16>) -> tensor<12x128x64xf16>
    ge.yield %3 : tensor<12x128x64xf16>
  } -> tensor<12x128x64xf16>
  return %0 : tensor<12x128x64xf16>
}

// -----

// ... and not where one team would have all of the keys to itself.
// CHECK-LABEL: func.func @few_rows
// CHECK-NEXT: ge.matmul
// CHECK-NEXT: ge.softmax
// CHECK-NEXT: ge.matmul
func.func @few_rows(%q: tensor<16x64xf16>, %k: tensor<4096x64xf16>, %v: tensor<4096x64xf16>) -> tensor<16x64xf16> {
  %0 = ge.fused ins(%q, %k, %v : tensor<16x64xf16>, tensor<4096x64xf16>, tensor<4096x64xf16>) {anchor = "ge.matmul"} {
  ^bb0(%a: tensor<16x64xf16>, %b: tensor<4096x64xf16>, %c: tensor<4096x64xf16>):
    %1 = ge.matmul %a, %b {transpose_b = true} : (tensor<16x64xf16>, tensor<4096x64xf16>) -> tensor<16x4096xf16>
    %2 = ge.softmax %1 : (tensor<16x4096xf16>) -> tensor<16x4096xf16>
    %3 = ge.matmul %2, %c : (tensor<16x4096xf16>, tensor<4096x64xf16>) -> tensor<16x64xf16>
    ge.yield %3 : tensor<16x64xf16>
  } -> tensor<16x64xf16>
  return %0 : tensor<16x64xf16>
}
