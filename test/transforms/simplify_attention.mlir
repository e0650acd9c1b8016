// RUN: ge-opt --no-locations --simplify-attention --fuse-attention --split-input-file %s | FileCheck %s

// Numbers that queries and keys are multiplied by, as torch's MultiheadAttention and SDPA export them: 1/4 * 1/4, also
// behind views.
// CHECK-LABEL: func.func @scales
// CHECK-NEXT: %[[K:.*]] = ge.split_heads %k
// CHECK-NEXT: %[[C:.*]] = ge.constant dense<6.250000e-02> : tensor<f32>
// CHECK-NEXT: ge.fused ins(%q, %[[K]], %[[C]], %v
// CHECK: = ge.matmul
// CHECK-NEXT: ge.mul
// CHECK-NEXT: ge.softmax
func.func @scales(%q: tensor<2x16x16xf32>, %k: tensor<16x32xf32>, %v: tensor<2x16x16xf32>) -> tensor<2x16x16xf32> {
  %c = ge.constant dense<0.25> : tensor<1xf32>
  %d = ge.constant dense<4.0> : tensor<f32>
  %0 = ge.mul %c, %q : (tensor<1xf32>, tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
  %1 = ge.div %k, %d : (tensor<16x32xf32>, tensor<f32>) -> tensor<16x32xf32>
  %2 = ge.split_heads %1 {heads = 2} : (tensor<16x32xf32>) -> tensor<2x16x16xf32>
  %3 = ge.matmul %0, %2 {transpose_b = true} : (tensor<2x16x16xf32>, tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
  %4 = ge.softmax %3 : (tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
  %5 = ge.matmul %4, %v : (tensor<2x16x16xf32>, tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
  return %5 : tensor<2x16x16xf32>
}

// -----

// SDPA's guard against nan, behind a mask that is finite, or -inf for some keys of each row, or chosen of two numbers.
// CHECK-LABEL: func.func @guards
// CHECK-NOT: ge.compare
// CHECK-COUNT-2: ge.fused
// CHECK-NOT: ge.compare
func.func @guards(%q: tensor<2x16xf32>, %k: tensor<2x16xf32>, %v: tensor<2x16xf32>, %keep: tensor<1x2xi1>) -> (tensor<2x16xf32>, tensor<2x16xf32>) {
  %zero = ge.constant dense<0.0> : tensor<f32>
  %low = ge.constant dense<-3.40282347e+38> : tensor<f32>
  %causal = ge.constant dense<[[0.0, 0xFF800000], [0.0, 0.0]]> : tensor<2x2xf32>
  %0 = ge.matmul %q, %k {transpose_b = true} : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x2xf32>
  %1 = ge.add %0, %causal : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = ge.softmax %1 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = ge.compare %2, %2 {predicate = "ne"} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
  %4 = ge.select %3, %zero, %2 : (tensor<2x2xi1>, tensor<f32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %5 = ge.matmul %4, %v : (tensor<2x2xf32>, tensor<2x16xf32>) -> tensor<2x16xf32>
  %mask = ge.select %keep, %zero, %low : (tensor<1x2xi1>, tensor<f32>, tensor<f32>) -> tensor<1x2xf32>
  %6 = ge.matmul %v, %k {transpose_b = true} : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x2xf32>
  %7 = ge.add %6, %mask : (tensor<2x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
  %8 = ge.softmax %7 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %9 = ge.compare %8, %8 {predicate = "ne"} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
  %10 = ge.select %9, %zero, %8 : (tensor<2x2xi1>, tensor<f32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %11 = ge.matmul %10, %v : (tensor<2x2xf32>, tensor<2x16xf32>) -> tensor<2x16xf32>
  return %5, %11 : tensor<2x16xf32>, tensor<2x16xf32>
}

// -----

// A choice between a score and a number that hides it is a mask to add, of the size of the condition.
// CHECK-LABEL: func.func @choices
// CHECK: %[[M:.*]] = ge.select %keep, %{{.*}}, %{{.*}} : (tensor<1x16xi1>, tensor<f32>, tensor<f32>) -> tensor<1x16xf32>
// CHECK: ge.fused ins(%q, %k, %[[M]], %v
// CHECK: %[[D:.*]] = ge.select %drop, %{{.*}}, %{{.*}} : (tensor<16x16xi1>, tensor<f32>, tensor<f32>) -> tensor<16x16xf32>
// CHECK: ge.fused ins(%v, %k, %[[D]] :
func.func @choices(%q: tensor<2x16x16xf32>, %k: tensor<2x16x16xf32>, %v: tensor<2x16x16xf32>, %keep: tensor<1x16xi1>, %drop: tensor<16x16xi1>) -> (tensor<2x16x16xf32>, tensor<2x16x16xf32>) {
  %inf = ge.constant dense<0xFF800000> : tensor<f32>
  %low = ge.constant dense<-3.40282347e+38> : tensor<f32>
  %0 = ge.matmul %q, %k {transpose_b = true} : (tensor<2x16x16xf32>, tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
  %1 = ge.select %keep, %0, %inf : (tensor<1x16xi1>, tensor<2x16x16xf32>, tensor<f32>) -> tensor<2x16x16xf32>
  %2 = ge.softmax %1 : (tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
  %3 = ge.matmul %2, %v : (tensor<2x16x16xf32>, tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
  %4 = ge.matmul %v, %k {transpose_b = true} : (tensor<2x16x16xf32>, tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
  %5 = ge.select %drop, %low, %4 : (tensor<16x16xi1>, tensor<f32>, tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
  %6 = ge.softmax %5 : (tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
  %7 = ge.matmul %6, %v : (tensor<2x16x16xf32>, tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
  return %3, %7 : tensor<2x16x16xf32>, tensor<2x16x16xf32>
}

// -----

// Four query heads, two of keys and values: Llama repeats them by a resize or by an expand, and nothing is repeated here.
// CHECK-LABEL: func.func @groups
// CHECK-DAG: ge.reshape %k {shape = [1, 2, 1, 16, 16]}
// CHECK-DAG: ge.reshape %q {shape = [1, 2, 2, 16, 16]}
// CHECK-NOT: ge.resize
// CHECK-NOT: ge.expand
// CHECK: %[[Y:.*]] = ge.fused ins({{.*}}tensor<1x2x2x16x16xf32>, tensor<1x2x1x16x16xf32>, tensor<1x1x1x16x16xf32>, tensor<1x2x1x16x16xf32>) {anchor = "ge.matmul"}
// CHECK: %[[R:.*]] = ge.reshape %[[Y]] {shape = [1, 4, 16, 16]}
// CHECK-NEXT: return %[[R]]
func.func @groups(%q: tensor<1x4x16x16xf32>, %k: tensor<1x2x16x16xf32>, %v: tensor<1x2x16x16xf32>, %mask: tensor<1x1x16x16xf32>) -> tensor<1x4x16x16xf32> {
  %0 = ge.resize %k {axes = [1], sizes = [4], coordinates = "asymmetric", nearest = "floor"} : (tensor<1x2x16x16xf32>) -> tensor<1x4x16x16xf32>
  %1 = ge.reshape %v {shape = [1, 2, 1, 16, 16]} : (tensor<1x2x16x16xf32>) -> tensor<1x2x1x16x16xf32>
  %2 = ge.expand %1 {shape = [1, 1, 2, 1, 1]} : (tensor<1x2x1x16x16xf32>) -> tensor<1x2x2x16x16xf32>
  %3 = ge.reshape %2 {shape = [1, 4, 16, 16]} : (tensor<1x2x2x16x16xf32>) -> tensor<1x4x16x16xf32>
  %4 = ge.matmul %q, %0 {transpose_b = true} : (tensor<1x4x16x16xf32>, tensor<1x4x16x16xf32>) -> tensor<1x4x16x16xf32>
  %5 = ge.add %4, %mask : (tensor<1x4x16x16xf32>, tensor<1x1x16x16xf32>) -> tensor<1x4x16x16xf32>
  %6 = ge.softmax %5 : (tensor<1x4x16x16xf32>) -> tensor<1x4x16x16xf32>
  %7 = ge.matmul %6, %3 : (tensor<1x4x16x16xf32>, tensor<1x4x16x16xf32>) -> tensor<1x4x16x16xf32>
  return %7 : tensor<1x4x16x16xf32>
}

// -----

// Swin's shifted windows: a bias for each head, then a mask for each of two windows under another batch.
// CHECK-LABEL: func.func @windows
// CHECK-NEXT: %[[M:.*]] = ge.reshape %mask {shape = [2, 1, 16, 16]}
// CHECK-NEXT: %[[Y:.*]] = ge.fused ins(%q, %k, %bias, %[[M]], %v : {{.*}}) {anchor = "ge.matmul"}
// CHECK: return %[[Y]]
func.func @windows(%q: tensor<2x3x16x16xf32>, %k: tensor<2x3x16x16xf32>, %v: tensor<2x3x16x16xf32>, %bias: tensor<1x3x16x16xf32>, %mask: tensor<1x2x1x16x16xf32>) -> tensor<2x3x16x16xf32> {
  %0 = ge.matmul %q, %k {transpose_b = true} : (tensor<2x3x16x16xf32>, tensor<2x3x16x16xf32>) -> tensor<2x3x16x16xf32>
  %1 = ge.add %0, %bias : (tensor<2x3x16x16xf32>, tensor<1x3x16x16xf32>) -> tensor<2x3x16x16xf32>
  %2 = ge.reshape %1 {shape = [1, 2, 3, 16, 16]} : (tensor<2x3x16x16xf32>) -> tensor<1x2x3x16x16xf32>
  %3 = ge.add %2, %mask : (tensor<1x2x3x16x16xf32>, tensor<1x2x1x16x16xf32>) -> tensor<1x2x3x16x16xf32>
  %4 = ge.reshape %3 {shape = [2, 3, 16, 16]} : (tensor<1x2x3x16x16xf32>) -> tensor<2x3x16x16xf32>
  %5 = ge.softmax %4 : (tensor<2x3x16x16xf32>) -> tensor<2x3x16x16xf32>
  %6 = ge.matmul %5, %v : (tensor<2x3x16x16xf32>, tensor<2x3x16x16xf32>) -> tensor<2x3x16x16xf32>
  return %6 : tensor<2x3x16x16xf32>
}

// -----

// GPT-2's causal choice: the condition is known, and so is the mask.
// CHECK-LABEL: func.func @causal_choice
// CHECK-NEXT: ge.constant dense<{{\[\[}}0.000000e+00, -3.40282347e+38], [0.000000e+00, 0.000000e+00]]> : tensor<2x2xf32>
// CHECK-NEXT: ge.fused
func.func @causal_choice(%q: tensor<2x16xf32>, %k: tensor<2x16xf32>, %v: tensor<2x16xf32>) -> tensor<2x16xf32> {
  %keep = ge.constant dense<[[true, false], [true, true]]> : tensor<2x2xi1>
  %low = ge.constant dense<-3.40282347e+38> : tensor<f32>
  %0 = ge.matmul %q, %k {transpose_b = true} : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x2xf32>
  %1 = ge.select %keep, %0, %low : (tensor<2x2xi1>, tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %2 = ge.softmax %1 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = ge.matmul %2, %v : (tensor<2x2xf32>, tensor<2x16xf32>) -> tensor<2x16xf32>
  return %3 : tensor<2x16xf32>
}
