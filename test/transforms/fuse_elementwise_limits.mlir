// RUN: ge-opt --no-locations -p 'fuse-elementwise{max-ops=2 max-inputs=3}' --split-input-file %s | FileCheck %s

// Four operators, at most two in a kernel.
// CHECK-LABEL: func.func @ops
func.func @ops(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: ge.fused ins({{.*}}) {anchor = "ge.tanh"}
  // CHECK: ge.fused ins({{.*}}) {anchor = "ge.sigmoid"}
  %0 = ge.exp %x : (tensor<8xf32>) -> tensor<8xf32>
  %1 = ge.tanh %0 : (tensor<8xf32>) -> tensor<8xf32>
  %2 = ge.relu %1 : (tensor<8xf32>) -> tensor<8xf32>
  %3 = ge.sigmoid %2 : (tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}

// -----

// Four operands, at most three in a kernel: one add stays out.
// CHECK-LABEL: func.func @inputs
func.func @inputs(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>, %d: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: ge.add %a, %b
  // CHECK-NEXT: ge.fused ins(
  %0 = ge.add %a, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = ge.add %0, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = ge.add %1, %d : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}
