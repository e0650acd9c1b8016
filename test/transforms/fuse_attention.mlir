// RUN: ge-opt --no-locations --fuse-attention --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @scaled_and_masked
// CHECK-NEXT: %[[F:.*]] = ge.fused ins(%q, %k, %scale, %mask, %v : {{.*}}) {anchor = "ge.matmul"} {
// CHECK: %[[S:.*]] = ge.matmul {{.*}} {transpose_b = true}
// CHECK-NEXT: %[[M:.*]] = ge.mul %[[S]]
// CHECK-NEXT: %[[A:.*]] = ge.add %[[M]]
// CHECK-NEXT: %[[P:.*]] = ge.softmax %[[A]]
// CHECK-NEXT: %[[Y:.*]] = ge.matmul %[[P]]
// CHECK-NEXT: ge.yield %[[Y]]
// CHECK: return %[[F]]
func.func @scaled_and_masked(%q: tensor<1x2x8x64xf32>, %k: tensor<1x2x8x64xf32>, %v: tensor<1x2x8x64xf32>, %scale: tensor<f32>, %mask: tensor<1x1x8x8xf32>) -> tensor<1x2x8x64xf32> {
  %0 = ge.matmul %q, %k {transpose_b = true} : (tensor<1x2x8x64xf32>, tensor<1x2x8x64xf32>) -> tensor<1x2x8x8xf32>
  %1 = ge.mul %0, %scale : (tensor<1x2x8x8xf32>, tensor<f32>) -> tensor<1x2x8x8xf32>
  %2 = ge.add %1, %mask : (tensor<1x2x8x8xf32>, tensor<1x1x8x8xf32>) -> tensor<1x2x8x8xf32>
  %3 = ge.softmax %2 : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %4 = ge.matmul %3, %v : (tensor<1x2x8x8xf32>, tensor<1x2x8x64xf32>) -> tensor<1x2x8x64xf32>
  return %4 : tensor<1x2x8x64xf32>
}

// -----

// Nothing between the products; one matrix of keys and values for a group of heads; a mask of one row a sequence.
// CHECK-LABEL: func.func @plain
// CHECK-NEXT: ge.fused
// CHECK-LABEL: func.func @grouped
// CHECK-NEXT: ge.fused
// CHECK-LABEL: func.func @row_mask
// CHECK-NEXT: ge.fused
func.func @plain(%q: tensor<5x16xf16>, %k: tensor<7x16xf16>, %v: tensor<7x32xf16>) -> tensor<5x32xf16> {
  %0 = ge.matmul %q, %k {transpose_b = true} : (tensor<5x16xf16>, tensor<7x16xf16>) -> tensor<5x7xf16>
  %1 = ge.softmax %0 : (tensor<5x7xf16>) -> tensor<5x7xf16>
  %2 = ge.matmul %1, %v : (tensor<5x7xf16>, tensor<7x32xf16>) -> tensor<5x32xf16>
  return %2 : tensor<5x32xf16>
}
func.func @grouped(%q: tensor<2x4x5x16xf32>, %k: tensor<2x1x7x16xf32>, %v: tensor<2x1x7x16xf32>) -> tensor<2x4x5x16xf32> {
  %0 = ge.matmul %q, %k {transpose_b = true} : (tensor<2x4x5x16xf32>, tensor<2x1x7x16xf32>) -> tensor<2x4x5x7xf32>
  %1 = ge.softmax %0 : (tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  %2 = ge.matmul %1, %v : (tensor<2x4x5x7xf32>, tensor<2x1x7x16xf32>) -> tensor<2x4x5x16xf32>
  return %2 : tensor<2x4x5x16xf32>
}
func.func @row_mask(%q: tensor<2x4x5x16xf32>, %k: tensor<2x4x7x16xf32>, %v: tensor<2x4x7x16xf32>, %mask: tensor<2x1x1x7xf32>) -> tensor<2x4x5x16xf32> {
  %0 = ge.matmul %q, %k {transpose_b = true} : (tensor<2x4x5x16xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x5x7xf32>
  %1 = ge.add %mask, %0 : (tensor<2x1x1x7xf32>, tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  %2 = ge.softmax %1 : (tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  %3 = ge.matmul %2, %v : (tensor<2x4x5x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x5x16xf32>
  return %3 : tensor<2x4x5x16xf32>
}

// -----

// Heads that are no whole blocks of columns.
// CHECK-LABEL: func.func @odd_columns
// CHECK-NEXT: ge.fused
func.func @odd_columns(%q: tensor<4x5x36xf16>, %k: tensor<4x7x36xf16>, %v: tensor<4x7x20xf16>) -> tensor<4x5x20xf16> {
  %0 = ge.matmul %q, %k {transpose_b = true} : (tensor<4x5x36xf16>, tensor<4x7x36xf16>) -> tensor<4x5x7xf16>
  %1 = ge.softmax %0 : (tensor<4x5x7xf16>) -> tensor<4x5x7xf16>
  %2 = ge.matmul %1, %v : (tensor<4x5x7xf16>, tensor<4x7x20xf16>) -> tensor<4x5x20xf16>
  return %2 : tensor<4x5x20xf16>
}
