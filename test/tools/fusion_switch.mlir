// RUN: echo '{"Switch": {"UBFusion": {"ALL": "off", "TbeReduceElemwise": "on"}}}' > %t.json && ge-opt --fusion-switch-file=%t.json --compile-to=fused --fusion-result=%t.counts --no-locations %s | FileCheck %s && cat %t.counts | FileCheck %s --check-prefix=COUNTS

// A switch file closes fusions by the names of GE or of our passes; a name beats ALL.

// CHECK-LABEL: @main
// CHECK: ge.tanh
// CHECK-NEXT: ge.sigmoid
// CHECK-NEXT: ge.fused {{.*}} {anchor = "ge.softmax"}

// COUNTS: "ub_fusion": {
// COUNTS-NEXT: "TbeReduceElemwise": {
// COUNTS-NEXT: "effect_times": "1"
func.func @main(%x: tensor<4x64xf32>) -> (tensor<4x64xf32>, tensor<4x64xf32>) {
  %0 = ge.tanh %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %1 = ge.sigmoid %0 : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %2 = ge.relu %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %3 = ge.softmax %2 : (tensor<4x64xf32>) -> tensor<4x64xf32>
  return %1, %3 : tensor<4x64xf32>, tensor<4x64xf32>
}
