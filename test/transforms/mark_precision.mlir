// RUN: ge-opt --no-locations --mark-precision='keep_dtype_nodes=kept' --force-fp16 --split-input-file %s | FileCheck %s

// One cast of a value that several operators in fp16 read; none between two operators in fp32.
// CHECK-LABEL: func.func @borders
func.func @borders(%x: tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  // CHECK-NEXT: %[[E:.*]] = ge.exp %x {ge.precision = "fp32"} : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %0 = ge.exp %x : (tensor<4x16xf32>) -> tensor<4x16xf32> loc("kept"("Exp"("e")))
  // CHECK-NEXT: %[[H:.*]] = ge.cast %[[E]] : (tensor<4x16xf32>) -> tensor<4x16xf16>
  // CHECK-NEXT: ge.relu %[[H]]
  // CHECK-NEXT: %[[R:.*]] = ge.cast {{.*}} -> tensor<4x16xf32>
  // CHECK-NEXT: ge.tanh %[[H]]
  // CHECK-NEXT: %[[T:.*]] = ge.cast {{.*}} -> tensor<4x16xf32>
  // CHECK-NEXT: return %[[R]], %[[T]]
  %1 = ge.relu %0 : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %2 = ge.tanh %0 : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %1, %2 : tensor<4x16xf32>, tensor<4x16xf32>
}

// -----

// What a kept operator reads comes back from fp16 once, though two kept operators read it.
// CHECK-LABEL: func.func @back
func.func @back(%x: tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  // CHECK: %[[R:.*]] = ge.relu {{.*}} -> tensor<4x16xf16>
  // CHECK-NEXT: %[[B:.*]] = ge.cast %[[R]] : (tensor<4x16xf16>) -> tensor<4x16xf32>
  // CHECK-NEXT: ge.exp %[[B]] {ge.precision = "fp32"}
  // CHECK-NEXT: ge.log %[[B]] {ge.precision = "fp32"}
  // CHECK-NEXT: return
  %0 = ge.relu %x : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %1 = ge.exp %0 : (tensor<4x16xf32>) -> tensor<4x16xf32> loc("kept"("Exp"("e")))
  %2 = ge.log %0 : (tensor<4x16xf32>) -> tensor<4x16xf32> loc("kept"("Log"("l")))
  return %1, %2 : tensor<4x16xf32>, tensor<4x16xf32>
}

// -----

// A kernel that does the work of a kept node stays whole; a constant with users of both kinds is there in both types.
// CHECK-LABEL: func.func @kernel
func.func @kernel(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  // CHECK-DAG: %[[W:.*]] = ge.constant dense<5.000000e-01> : tensor<16xf32>
  // CHECK-DAG: %[[H:.*]] = ge.constant dense<5.000000e-01> : tensor<16xf16>
  %w = ge.constant dense<0.5> : tensor<16xf32>
  // CHECK: ge.fused ins(%x, %[[W]] : tensor<4x16xf32>, tensor<16xf32>) {anchor = "ge.relu", ge.precision = "fp32"}
  // CHECK: ge.mul {{.*}} -> tensor<4x16xf32>
  %0 = ge.fused ins(%x, %w : tensor<4x16xf32>, tensor<16xf32>) {anchor = "ge.relu"} {
  ^bb0(%a: tensor<4x16xf32>, %b: tensor<16xf32>):
    %1 = ge.mul %a, %b : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32> loc("scale"("Mul"("m")))
    %2 = ge.relu %1 : (tensor<4x16xf32>) -> tensor<4x16xf32> loc("kept"("Relu"("r")))
    ge.yield %2 : tensor<4x16xf32>
  } -> tensor<4x16xf32> loc(fused["scale"("Mul"("m")), "kept"("Relu"("r"))])
  // CHECK: ge.mul {{.*}}, %[[H]] : (tensor<4x16xf16>, tensor<16xf16>)
  %3 = ge.mul %0, %w : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  return %3 : tensor<4x16xf32>
}

// -----

// A mark in the text is obeyed; a kept node that computes on integers has nothing to keep.
// CHECK-LABEL: func.func @given
func.func @given(%x: tensor<4xf32>, %i: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xi64>) {
  // CHECK-NEXT: ge.exp %x {ge.precision = "fp32"} : (tensor<4xf32>) -> tensor<4xf32>
  %0 = ge.exp %x {ge.precision = "fp32"} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: ge.add %i, %i : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %1 = ge.add %i, %i : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64> loc("kept"("Add"("a")))
  return %0, %1 : tensor<4xf32>, tensor<4xi64>
}
