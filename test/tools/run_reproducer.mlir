// found by hand: lossy-fusion
// rerun: ge-opt --load-plugin=plugins/lossy_fusion.py --run-reproducer run_reproducer.mlir
// pipeline: lossy-fusion{victim=bn1},ge-canonicalize
// RUN: ge-opt --load-plugin=%S/../plugins/lossy_fusion.py --run-reproducer --no-locations --timing %s 2>&1 | FileCheck %s

// CHECK: {{^}}lossy-fusion
// CHECK-NEXT: {{^}}ge-canonicalize
// CHECK-LABEL: func.func @main
// CHECK: ge.conv2d %x, %{{[a-z0-9]+}} :
// CHECK-NEXT: func.return
func.func @main(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = ge.constant dense<0.5> : tensor<2x2x1x1xf32>
  %s = ge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %c = ge.conv2d %x, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32> loc("conv1"("Conv"("c")))
  %y = ge.batch_norm %c, %s, %s, %s, %s : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32> loc("bn1"("BatchNormalization"("y")))
  func.return %y : tensor<1x2x4x4xf32>
}
