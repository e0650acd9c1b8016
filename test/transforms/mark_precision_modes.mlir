// RUN: ge-opt --no-locations --mark-precision=mode=allow_mix_precision --split-input-file %s | FileCheck %s --check-prefixes=CHECK,MIXED
// RUN: ge-opt --no-locations --mark-precision=mode=origin --split-input-file %s | FileCheck %s --check-prefixes=CHECK,ORIGIN
// RUN: ge-opt --no-locations --mark-precision=mode=allow_fp32_to_fp16 --split-input-file %s | FileCheck %s --check-prefixes=CHECK,CUBE

// The white list (matmul) is rounded, the black list (exp) is not; the gray list follows what it reads.
// CHECK-LABEL: func.func @lists
func.func @lists(%x: tensor<4x16xf32>, %w: tensor<16x16xf32>) -> tensor<4x16xf32> {
  // MIXED-NEXT: ge.relu {{.*}} {ge.precision = "fp32"}
  // ORIGIN-NEXT: ge.relu {{.*}} {ge.precision = "fp32"}
  // CUBE-NEXT: ge.relu {{.*}} {ge.precision = "fp32"}
  %0 = ge.relu %x : (tensor<4x16xf32>) -> tensor<4x16xf32>
  // MIXED-NEXT: ge.matmul %{{[^{]*}} : (
  // ORIGIN-NEXT: ge.matmul {{.*}} {ge.precision = "fp32"}
  // CUBE-NEXT: ge.matmul %{{[^{]*}} : (
  %1 = ge.matmul %0, %w : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  // MIXED-NEXT: ge.tanh %{{[^{]*}} : (
  // ORIGIN-NEXT: ge.tanh {{.*}} {ge.precision = "fp32"}
  // CUBE-NEXT: ge.tanh {{.*}} {ge.precision = "fp32"}
  %2 = ge.tanh %1 : (tensor<4x16xf32>) -> tensor<4x16xf32>
  // MIXED-NEXT: ge.exp {{.*}} {ge.precision = "fp32"}
  // ORIGIN-NEXT: ge.exp {{.*}} {ge.precision = "fp32"}
  // CUBE-NEXT: ge.exp {{.*}} {ge.precision = "fp32"}
  %3 = ge.exp %2 : (tensor<4x16xf32>) -> tensor<4x16xf32>
  // One producer in fp16, the other in fp32: stays.
  // CHECK-NEXT: ge.add {{.*}} {ge.precision = "fp32"}
  %4 = ge.add %3, %2 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %4 : tensor<4x16xf32>
}

// -----

// A kernel whose operators stand on the white and on the black list is split, one that only follows is not.
// CHECK-LABEL: func.func @kernels
func.func @kernels(%x: tensor<4x16xf32>, %w: tensor<16x16xf32>) -> tensor<4x16xf32> {
  // MIXED-NEXT: %[[A:.*]] = ge.matmul %x, %w : (
  // MIXED-NEXT: ge.exp %[[A]] {ge.precision = "fp32"}
  // ORIGIN-NEXT: ge.fused {{.*}} {anchor = "ge.matmul", ge.precision = "fp32"}
  // CUBE-NEXT: ge.fused ins({{.*}}) {anchor = "ge.matmul"}
  %0 = ge.fused ins(%x, %w : tensor<4x16xf32>, tensor<16x16xf32>) {anchor = "ge.matmul"} {
  ^bb0(%a: tensor<4x16xf32>, %b: tensor<16x16xf32>):
    %1 = ge.matmul %a, %b : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
    %2 = ge.exp %1 : (tensor<4x16xf32>) -> tensor<4x16xf32>
    ge.yield %2 : tensor<4x16xf32>
  } -> tensor<4x16xf32>
  // MIXED: ge.fused {{.*}} {anchor = "ge.matmul"}
  %3 = ge.fused ins(%0, %w : tensor<4x16xf32>, tensor<16x16xf32>) {anchor = "ge.matmul"} {
  ^bb0(%a: tensor<4x16xf32>, %b: tensor<16x16xf32>):
    %4 = ge.matmul %a, %b : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
    %5 = ge.relu %4 : (tensor<4x16xf32>) -> tensor<4x16xf32>
    ge.yield %5 : tensor<4x16xf32>
  } -> tensor<4x16xf32>
  return %3 : tensor<4x16xf32>
}
