// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// Constants: inline numbers, handles to stored tensors, recipes.

// CHECK-LABEL: func.func @dense
func.func @dense() {
  // CHECK: %a = ge.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  %a = ge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // CHECK: %b = ge.constant dense<true> : tensor<i1>
  %b = ge.constant dense<true> : tensor<i1>
  // CHECK: %c = ge.constant dense<-7> : tensor<3xi64>
  %c = ge.constant dense<-7> : tensor<3xi64>
  return
}

// CHECK-LABEL: func.func @weight
func.func @weight() {
  // CHECK: %w = ge.constant #ge.weight<"layer1/conv a:0", sha256 = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"> : tensor<64x3x7x7xf32>
  %w = ge.constant #ge.weight<"layer1/conv a:0", sha256 = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"> : tensor<64x3x7x7xf32>
  return
}

// CHECK-LABEL: func.func @recipes
func.func @recipes() {
  // CHECK: %w = ge.constant #ge.fold<"ge.mul", [#ge.weight<"w", sha256 = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa">, dense<2.000000e+00> : tensor<f32>], {}, tensor<64x3xf32>> : tensor<64x3xf32>
  %w = ge.constant #ge.fold<"ge.mul", [#ge.weight<"w", sha256 = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa">, dense<2.000000e+00> : tensor<f32>], {}, tensor<64x3xf32>> : tensor<64x3xf32>
  // CHECK: %t = ge.constant #ge.fold<"ge.transpose", [#ge.fold<"ge.cast", [#ge.weight<"w", sha256 = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa">], {to = "f16"}, tensor<64x3xf16>>], {perm = array<i64: 1, 0>}, tensor<3x64xf16>> : tensor<3x64xf16>
  %t = ge.constant #ge.fold<"ge.transpose", [#ge.fold<"ge.cast", [#ge.weight<"w", sha256 = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa">], {to = "f16"}, tensor<64x3xf16>>], {perm = array<i64: 1, 0>}, tensor<3x64xf16>> : tensor<3x64xf16>
  return
}

// CHECK-LABEL: func.func @packed
func.func @packed() {
  // CHECK: %w = ge.constant #ge.fold<"layout.transdata", [#ge.weight<"w", sha256 = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa">], {}, tensor<64x3x7x7xf16, #layout.fractal_z<n0 = 16, c0 = 16, groups = 1, pad = zero>>> : tensor<64x3x7x7xf16, #layout.fractal_z<n0 = 16, c0 = 16, groups = 1, pad = zero>>
  %w = ge.constant #ge.fold<"layout.transdata", [#ge.weight<"w", sha256 = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa">], {}, tensor<64x3x7x7xf16, #layout.fractal_z<n0 = 16, c0 = 16, groups = 1, pad = zero>>> : tensor<64x3x7x7xf16, #layout.fractal_z<n0 = 16, c0 = 16, groups = 1, pad = zero>>
  return
}

// CHECK-LABEL: func.func @attributes
func.func @attributes() {
  // CHECK: %a = ge.constant dense<0> : tensor<2xi8>
  %a = ge.constant dense<0> : tensor<2xi8>
  // CHECK: %w = ge.constant #ge.weight<"w", sha256 = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"> {test.note = "x"} : tensor<70xf32>
  %w = ge.constant #ge.weight<"w", sha256 = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"> {test.note = "x"} : tensor<70xf32>
  return
}
