// RUN: ge-opt --compile-to=kernels --remarks --remarks-filter='fuse-|lower-' %s -o %t.mlir 2>&1 | FileCheck %s

// Decisions as text on standard error, with the names of the model's nodes: what was fused, what was not, and the kernels.

// CHECK: missed: node 'bn1' (BatchNormalization): not folded: it reads an input, no convolution [fuse-conv-bn-relu]
// CHECK-NEXT: missed: node 'relu1' (Relu): a group ends with ge.relu: its reader ge.det is no elementwise operator in fp16 or fp32 [fuse-elementwise]
// CHECK-NEXT: passed: node 'bn1' (BatchNormalization) and 1 more: fused ge.mul, ge.add, ge.relu [fuse-elementwise]
// CHECK: analysis: node 'bn1' (BatchNormalization) and 1 more: @elementwise{{.*}} on the Vector unit: {{[0-9]+}} block
// CHECK: missed: node 'det1' (Det): ge.det runs on the AI CPU: {{.+}} [lower-to-kernels]
func.func @main(%x: tensor<1x16x4x4xf32> {ge.name = "x"}) -> (tensor<1x16xf32> {ge.name = "y"}) {
  %s = ge.constant dense<2.0> : tensor<16xf32>
  %0 = ge.batch_norm %x, %s, %s, %s, %s : (tensor<1x16x4x4xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<1x16x4x4xf32> loc("bn1"("BatchNormalization"("b")))
  %1 = ge.relu %0 : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32> loc("relu1"("Relu"("r")))
  %2 = ge.det %1 : (tensor<1x16x4x4xf32>) -> tensor<1x16xf32> loc("det1"("Det"("y")))
  return %2 : tensor<1x16xf32>
}
