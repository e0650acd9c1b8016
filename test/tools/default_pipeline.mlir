// RUN: ge-opt --default-pipeline='soc=Ascend310P3' --compile-to=laid-out --no-locations %s | FileCheck %s

// The default pipeline as a list of phases: each leaves its mark in the module, so that a dumped stage can be resumed.

// CHECK: builtin.module attributes {ge.phase = "laid-out"} {
// CHECK: func.func @main(%x: tensor<1x16x8x8xf32> {ge.name = "x"}) -> (tensor<1x16x8x8xf32> {ge.name = "y"})
func.func @main(%x: tensor<1x16x8x8xf32> {ge.name = "x"}) -> (tensor<1x16x8x8xf32> {ge.name = "y"}) {
  // CHECK: layout.transdata %x : tensor<1x16x8x8xf32> -> tensor<1x16x8x8xf16, #layout.nc1hwc0
  // CHECK: ge.max_pool
  %y = ge.max_pool %x {kernel = [3, 3], pads = [1, 1, 1, 1]} : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  // CHECK: layout.transdata {{.*}} -> tensor<1x16x8x8xf32>
  return %y : tensor<1x16x8x8xf32>
}
