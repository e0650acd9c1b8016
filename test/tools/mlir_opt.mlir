// REQUIRES: mlir-opt
// RUN: ge-opt --print-op-generic %s | mlir-opt --allow-unregistered-dialect --mlir-print-op-generic --mlir-print-debuginfo --mlir-print-local-scope | ge-opt - | FileCheck %s

// The generic form goes through MLIR's own parser and comes back as the readable one, locations included.
// CHECK: %{{.*}} = ge.conv2d %{{.*}}, %{{.*}} {pads = [1, 1, 1, 1]} : (tensor<1x2x4x4xf32>, tensor<1x2x3x3xf32>) -> tensor<1x1x4x4xf32> loc("conv1"("Conv"("y")))
func.func @main(%x: tensor<1x2x4x4xf32> {ge.name = "x"}) -> (tensor<1x1x4x4xf32> {ge.name = "y"}) {
  %w = ge.constant dense<1.0> : tensor<1x2x3x3xf32>
  %y = ge.conv2d %x, %w {pads = [1, 1, 1, 1]} : (tensor<1x2x4x4xf32>, tensor<1x2x3x3xf32>) -> tensor<1x1x4x4xf32> loc("conv1"("Conv"("y")))
  return %y : tensor<1x1x4x4xf32>
}
