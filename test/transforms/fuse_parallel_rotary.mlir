// RUN: ge-opt --no-locations --fuse-parallel-rotary --split-input-file %s | FileCheck %s

// Two heads of queries and one of keys: neighbouring columns, the same angles.
// CHECK-LABEL: func.func @queries_and_keys
// CHECK: %[[S:.*]] = ge.slice %y {starts = [0], ends = [96], axes = [2], steps = [1]} : (tensor<1x4x128xf32>) -> tensor<1x4x96xf32>
// CHECK: %[[H:.*]] = ge.split_heads %{{.*}} {heads = 3} : (tensor<4x96xf32>) -> tensor<3x4x32xf32>
// CHECK: %[[R:.*]] = ge.rotary_mul %{{.*}}, %cos, %sin : (tensor<1x3x4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<1x3x4x32xf32>
// CHECK-NEXT: %[[Q:.*]] = ge.slice %[[R]] {starts = [0], ends = [2], axes = [1], steps = [1]}
// CHECK-NEXT: %[[K:.*]] = ge.slice %[[R]] {starts = [2], ends = [3], axes = [1], steps = [1]}
// CHECK-NEXT: return %[[Q]], %[[K]]
func.func @queries_and_keys(%y: tensor<1x4x128xf32>, %cos: tensor<4x32xf32>, %sin: tensor<4x32xf32>) -> (tensor<1x2x4x32xf32>, tensor<1x1x4x32xf32>) {
  %0 = ge.slice %y {starts = [0], ends = [64], axes = [2], steps = [1]} : (tensor<1x4x128xf32>) -> tensor<1x4x64xf32>
  %1 = ge.slice %y {starts = [64], ends = [96], axes = [2], steps = [1]} : (tensor<1x4x128xf32>) -> tensor<1x4x32xf32>
  %2 = ge.split_heads %0 {heads = 2} : (tensor<1x4x64xf32>) -> tensor<1x2x4x32xf32>
  %3 = ge.split_heads %1 {heads = 1} : (tensor<1x4x32xf32>) -> tensor<1x1x4x32xf32>
  %4 = ge.rotary_mul %2, %cos, %sin : (tensor<1x2x4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<1x2x4x32xf32>
  %5 = ge.rotary_mul %3, %cos, %sin : (tensor<1x1x4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<1x1x4x32xf32>
  return %4, %5 : tensor<1x2x4x32xf32>, tensor<1x1x4x32xf32>
}

// -----

// Columns with a gap, other angles, several matrices: nothing is joined.
// CHECK-LABEL: func.func @apart
// CHECK-COUNT-5: ge.rotary_mul
func.func @apart(%y: tensor<4x128xf32>, %z: tensor<2x4x64xf32>, %cos: tensor<4x32xf32>, %sin: tensor<4x32xf32>) -> (tensor<1x4x32xf32>, tensor<1x4x32xf32>, tensor<1x4x32xf32>, tensor<2x1x4x32xf32>, tensor<2x1x4x32xf32>) {
  %0 = ge.slice %y {starts = [0], ends = [32], axes = [1], steps = [1]} : (tensor<4x128xf32>) -> tensor<4x32xf32>
  %1 = ge.slice %y {starts = [64], ends = [96], axes = [1], steps = [1]} : (tensor<4x128xf32>) -> tensor<4x32xf32>
  %2 = ge.slice %y {starts = [32], ends = [64], axes = [1], steps = [1]} : (tensor<4x128xf32>) -> tensor<4x32xf32>
  %3 = ge.split_heads %0 {heads = 1} : (tensor<4x32xf32>) -> tensor<1x4x32xf32>
  %4 = ge.split_heads %1 {heads = 1} : (tensor<4x32xf32>) -> tensor<1x4x32xf32>
  %5 = ge.split_heads %2 {heads = 1} : (tensor<4x32xf32>) -> tensor<1x4x32xf32>
  %6 = ge.rotary_mul %3, %cos, %sin : (tensor<1x4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<1x4x32xf32>
  %7 = ge.rotary_mul %4, %cos, %sin : (tensor<1x4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<1x4x32xf32>
  %8 = ge.rotary_mul %5, %sin, %cos : (tensor<1x4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<1x4x32xf32>
  %9 = ge.slice %z {starts = [0], ends = [32], axes = [2], steps = [1]} : (tensor<2x4x64xf32>) -> tensor<2x4x32xf32>
  %10 = ge.slice %z {starts = [32], ends = [64], axes = [2], steps = [1]} : (tensor<2x4x64xf32>) -> tensor<2x4x32xf32>
  %11 = ge.split_heads %9 {heads = 1} : (tensor<2x4x32xf32>) -> tensor<2x1x4x32xf32>
  %12 = ge.split_heads %10 {heads = 1} : (tensor<2x4x32xf32>) -> tensor<2x1x4x32xf32>
  %13 = ge.rotary_mul %11, %cos, %sin : (tensor<2x1x4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<2x1x4x32xf32>
  %14 = ge.rotary_mul %12, %cos, %sin : (tensor<2x1x4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<2x1x4x32xf32>
  return %6, %7, %8, %13, %14 : tensor<1x4x32xf32>, tensor<1x4x32xf32>, tensor<1x4x32xf32>, tensor<2x1x4x32xf32>, tensor<2x1x4x32xf32>
}

// -----

// Norms of the heads in front: one for all heads, a row of the scale for each; norm and rotation are one kernel.
// CHECK-LABEL: func.func @normalised
// CHECK: %[[S:.*]] = ge.constant {{.*}} : tensor<3x1x32xf32>
// CHECK: %[[R:.*]] = ge.fused ins(%{{.*}}, %[[S]], %cos, %sin : tensor<1x3x4x32xf32>, {{.*}}) {anchor = "ge.rotary_mul"} {
// CHECK: ge.rms_norm %{{.*}}, %{{.*}} {axis = 3, epsilon = 1.000000e-06}
// CHECK-NEXT: ge.rotary_mul
// CHECK-NEXT: ge.yield
// CHECK: ge.slice %[[R]] {starts = [0], ends = [2], axes = [1], steps = [1]}
// CHECK: ge.slice %[[R]] {starts = [2], ends = [3], axes = [1], steps = [1]}
func.func @normalised(%y: tensor<1x4x128xf32>, %cos: tensor<4x32xf32>, %sin: tensor<4x32xf32>) -> (tensor<1x2x4x32xf32>, tensor<1x1x4x32xf32>) {
  %g = ge.constant dense<2.0> : tensor<32xf32>
  %h = ge.constant dense<3.0> : tensor<32xf32>
  %0 = ge.slice %y {starts = [0], ends = [64], axes = [2], steps = [1]} : (tensor<1x4x128xf32>) -> tensor<1x4x64xf32>
  %1 = ge.slice %y {starts = [64], ends = [96], axes = [2], steps = [1]} : (tensor<1x4x128xf32>) -> tensor<1x4x32xf32>
  %2 = ge.split_heads %0 {heads = 2} : (tensor<1x4x64xf32>) -> tensor<1x2x4x32xf32>
  %3 = ge.split_heads %1 {heads = 1} : (tensor<1x4x32xf32>) -> tensor<1x1x4x32xf32>
  %4 = ge.rms_norm %2, %g {axis = 3, epsilon = 1.0e-06} : (tensor<1x2x4x32xf32>, tensor<32xf32>) -> tensor<1x2x4x32xf32>
  %5 = ge.rms_norm %3, %h {axis = -1, epsilon = 1.0e-06} : (tensor<1x1x4x32xf32>, tensor<32xf32>) -> tensor<1x1x4x32xf32>
  %6 = ge.rotary_mul %4, %cos, %sin : (tensor<1x2x4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<1x2x4x32xf32>
  %7 = ge.rotary_mul %5, %cos, %sin : (tensor<1x1x4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<1x1x4x32xf32>
  return %6, %7 : tensor<1x2x4x32xf32>, tensor<1x1x4x32xf32>
}

// -----

// Apart: queries with a norm and keys without, another epsilon, a norm that something else reads, or over two axes.
// CHECK-LABEL: func.func @norms_apart
// CHECK: ge.fused ins(%{{.*}}, %{{.*}}, %cos, %sin : tensor<1x4x32xf32>, tensor<32xf32>, {{.*}}) {anchor = "ge.rotary_mul"} {
// CHECK: ge.rotary_mul %{{.*}} : (tensor<1x4x32xf32>
// CHECK: ge.fused ins(%{{.*}}, %{{.*}}, %cos, %sin : tensor<1x4x32xf32>, tensor<32xf32>, {{.*}}) {anchor = "ge.rotary_mul"} {
// CHECK: ge.yield
// CHECK: %[[N:.*]] = ge.rms_norm
// CHECK: ge.rotary_mul %[[N]], %cos, %sin :
// CHECK: %[[A:.*]] = ge.rms_norm
// CHECK: ge.rotary_mul %[[A]], %cos, %sin :
func.func @norms_apart(%y: tensor<4x160xf32>, %cos: tensor<4x32xf32>, %sin: tensor<4x32xf32>) -> (tensor<1x4x32xf32>, tensor<1x4x32xf32>, tensor<1x4x32xf32>, tensor<1x4x32xf32>, tensor<1x4x32xf32>, tensor<1x4x32xf32>) {
  %g = ge.constant dense<2.0> : tensor<32xf32>
  %all = ge.constant dense<2.0> : tensor<4x32xf32>
  %0 = ge.slice %y {starts = [0], ends = [32], axes = [1], steps = [1]} : (tensor<4x160xf32>) -> tensor<4x32xf32>
  %1 = ge.slice %y {starts = [32], ends = [64], axes = [1], steps = [1]} : (tensor<4x160xf32>) -> tensor<4x32xf32>
  %2 = ge.slice %y {starts = [64], ends = [96], axes = [1], steps = [1]} : (tensor<4x160xf32>) -> tensor<4x32xf32>
  %3 = ge.slice %y {starts = [96], ends = [128], axes = [1], steps = [1]} : (tensor<4x160xf32>) -> tensor<4x32xf32>
  %4 = ge.slice %y {starts = [128], ends = [160], axes = [1], steps = [1]} : (tensor<4x160xf32>) -> tensor<4x32xf32>
  %5 = ge.reshape %0 {shape = [1, 4, 32]} : (tensor<4x32xf32>) -> tensor<1x4x32xf32>
  %6 = ge.reshape %1 {shape = [1, 4, 32]} : (tensor<4x32xf32>) -> tensor<1x4x32xf32>
  %7 = ge.reshape %2 {shape = [1, 4, 32]} : (tensor<4x32xf32>) -> tensor<1x4x32xf32>
  %8 = ge.reshape %3 {shape = [1, 4, 32]} : (tensor<4x32xf32>) -> tensor<1x4x32xf32>
  %9 = ge.reshape %4 {shape = [1, 4, 32]} : (tensor<4x32xf32>) -> tensor<1x4x32xf32>
  %10 = ge.rms_norm %5, %g {axis = 2, epsilon = 1.0e-06} : (tensor<1x4x32xf32>, tensor<32xf32>) -> tensor<1x4x32xf32>
  %11 = ge.rotary_mul %10, %cos, %sin : (tensor<1x4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<1x4x32xf32>
  %12 = ge.rotary_mul %6, %cos, %sin : (tensor<1x4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<1x4x32xf32>
  %13 = ge.rms_norm %7, %g {axis = 2, epsilon = 1.0e-05} : (tensor<1x4x32xf32>, tensor<32xf32>) -> tensor<1x4x32xf32>
  %14 = ge.rotary_mul %13, %cos, %sin : (tensor<1x4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<1x4x32xf32>
  %15 = ge.rms_norm %8, %g {axis = 2, epsilon = 1.0e-06} : (tensor<1x4x32xf32>, tensor<32xf32>) -> tensor<1x4x32xf32>
  %16 = ge.rotary_mul %15, %cos, %sin : (tensor<1x4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<1x4x32xf32>
  %17 = ge.rms_norm %9, %all {axis = 1, epsilon = 1.0e-06} : (tensor<1x4x32xf32>, tensor<4x32xf32>) -> tensor<1x4x32xf32>
  %18 = ge.rotary_mul %17, %cos, %sin : (tensor<1x4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<1x4x32xf32>
  return %11, %12, %14, %15, %16, %18 : tensor<1x4x32xf32>, tensor<1x4x32xf32>, tensor<1x4x32xf32>, tensor<1x4x32xf32>, tensor<1x4x32xf32>, tensor<1x4x32xf32>
}
