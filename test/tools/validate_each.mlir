// RUN: ge-opt --load-plugin=%S/../plugins/lossy_fusion.py -p "lossy-fusion{victim=bn1}" --split-input-file --verify-diagnostics --validate-each %s 2>&1 | FileCheck %s

// The second convolution loses its bias: its numbers change, the first ones do not.

// CHECK-LABEL: func.func @right
// CHECK-NOT: batch_norm
func.func @right(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = ge.constant dense<0.5> : tensor<2x2x1x1xf32>
  %s = ge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %c = ge.conv2d %x, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32> loc("conv0"("Conv"("c")))
  %y = ge.batch_norm %c, %s, %s, %s, %s : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32> loc("bn0"("BatchNormalization"("y")))
  func.return %y : tensor<1x2x4x4xf32>
}

// -----

// CHECK: error: 'ge.conv2d' ("conv1", "bn1"): after pass 'lossy-fusion': the numbers change: output 0 of @wrong by {{[0-9.]+}} of its range (declared rounding, 1e-05); first at ge.conv2d of nodes 'conv1' (Conv), 'bn1' (BatchNormalization)
func.func @wrong(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = ge.constant dense<0.5> : tensor<2x2x1x1xf32>
  %s = ge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %c = ge.conv2d %x, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32> loc("conv1"("Conv"("c")))
  %y = ge.batch_norm %c, %s, %s, %s, %s : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32> loc("bn1"("BatchNormalization"("y")))
  %z = ge.relu %y : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> loc("relu1"("Relu"("z")))
  func.return %z : tensor<1x2x4x4xf32>
}
