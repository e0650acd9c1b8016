// RUN: ge-opt --no-locations --fuse-conv-bn-relu --fuse-elementwise --force-fp16 --split-input-file %s | FileCheck %s

// What replaces a marked operator is marked: BatchNorm joins the convolution, and both stay in fp32.
// CHECK-LABEL: func.func @batch_norm
func.func @batch_norm(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = ge.constant dense<1.0> : tensor<2x2x1x1xf32>
  %c = ge.constant dense<0.5> : tensor<2xf32>
  // CHECK-NOT: f16
  // CHECK: ge.conv2d %x, {{.*}} {ge.precision = "fp32"}
  // CHECK-NOT: f16
  %0 = ge.conv2d %x, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = ge.batch_norm %0, %c, %c, %c, %c {ge.precision = "fp32"} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  // CHECK: return
  return %1 : tensor<1x2x4x4xf32>
}

// -----

// A kernel gathered around a marked operator is marked itself.
// CHECK-LABEL: func.func @gathered
func.func @gathered(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  // CHECK-NEXT: ge.fused ins(%x : tensor<4x16xf32>) {anchor = "ge.relu", ge.precision = "fp32"}
  %0 = ge.exp %x {ge.precision = "fp32"} : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %1 = ge.relu %0 : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
}
