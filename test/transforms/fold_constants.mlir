// RUN: ge-opt --no-locations --fold-constants --split-input-file %s | FileCheck %s

// Small results are numbers at once; a chain folds in one go.
// CHECK-LABEL: func.func @small
func.func @small() -> tensor<2xf32> {
  %a = ge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = ge.constant dense<[0.5]> : tensor<1xf32>
  %0 = ge.mul %a, %b : (tensor<2xf32>, tensor<1xf32>) -> tensor<2xf32>
  %1 = ge.add %0, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: %[[R:.*]] = ge.constant dense<[1.500000e+00, 3.000000e+00]> : tensor<2xf32>
  // CHECK-NEXT: return %[[R]]
  return %1 : tensor<2xf32>
}

// -----

// Large ones become recipes, although nobody could evaluate this one: its store is not there.
// CHECK-LABEL: func.func @large
func.func @large() -> tensor<32x64xf16> {
  %w = ge.constant #ge.weight<"w", sha256 = "0000000000000000000000000000000000000000000000000000000000000000"> : tensor<64x32xf32>
  %0 = ge.transpose %w {perm = [1, 0]} : (tensor<64x32xf32>) -> tensor<32x64xf32>
  %1 = ge.cast %0 : (tensor<32x64xf32>) -> tensor<32x64xf16>
  // CHECK-NEXT: ge.constant #ge.fold<"ge.cast", [#ge.fold<"ge.transpose", [#ge.weight<"w", sha256 = "0000000000000000000000000000000000000000000000000000000000000000">], {perm = array<i64: 1, 0>}, tensor<32x64xf32>>], {to = "f16"}, tensor<32x64xf16>>
  // CHECK-NEXT: return
  return %1 : tensor<32x64xf16>
}

// -----

// Integer shape arithmetic.
// CHECK-LABEL: func.func @integers
func.func @integers() -> tensor<1xi64> {
  %a = ge.constant dense<[7, 9, 11]> : tensor<3xi64>
  %0 = ge.slice %a {starts = [1], ends = [2], axes = [0], steps = [1]} : (tensor<3xi64>) -> tensor<1xi64>
  // CHECK-NEXT: ge.constant dense<9> : tensor<1xi64>
  return %0 : tensor<1xi64>
}

// -----

// One operand that is not constant, or a result of unknown shape, is left alone.
// CHECK-LABEL: func.func @not_constant
func.func @not_constant(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = ge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // CHECK: ge.mul
  %0 = ge.mul %a, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
