// RUN: ge-opt --no-locations %s | ge-opt --no-locations --eliminate-transdata --verify-layout | FileCheck %s

// A format of one's own is one line; MLIR's alias gives it a name. Sizes come in any order, `pad = zero` by default.
#tiles = #layout.map<"n c (h1 h0) (w1 w0) -> n h1 w1 c h0 w0", w0 = 8, h0 = 4>
#wide = #layout.map<"n (c1 c0) h w -> n c1 h w c0", c0 = 32, pad = undef>

// CHECK-LABEL: func.func @main
// CHECK-SAME: #layout.map<"n c (h1 h0) (w1 w0) -> n h1 w1 c h0 w0", h0 = 4, w0 = 8, pad = zero>
func.func @main(%x: tensor<2x3x10x20xf16, #tiles>) -> tensor<2x3x10x20xf16, #wide> {
  // No task converts one declared format into another: by way of ND.
  // CHECK-NEXT: layout.transdata %x : {{.*}} -> tensor<2x3x10x20xf16>
  // CHECK-NEXT: layout.transdata {{.*}} : tensor<2x3x10x20xf16> -> tensor<2x3x10x20xf16, #layout.map<"n (c1 c0) h w -> n c1 h w c0", c0 = 32, pad = undef>>
  %0 = layout.transdata %x : tensor<2x3x10x20xf16, #tiles> -> tensor<2x3x10x20xf16>
  %1 = layout.transdata %0 : tensor<2x3x10x20xf16> -> tensor<2x3x10x20xf16, #wide>
  return %1 : tensor<2x3x10x20xf16, #wide>
}

// CHECK-LABEL: func.func @there_and_back
func.func @there_and_back(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // CHECK-NEXT: return %x
  %0 = layout.transdata %x : tensor<4x6xf32> -> tensor<4x6xf32, #layout.map<"a b -> b a">>
  %1 = layout.transdata %0 : tensor<4x6xf32, #layout.map<"a b -> b a">> -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}
