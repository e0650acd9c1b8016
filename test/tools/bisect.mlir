// RUN: ge-bisect --load-plugin=%S/../plugins/lossy_fusion.py -p "ge-canonicalize,lossy-fusion{victim=bn1}" -o %t.mlir %s 2>&1 | FileCheck %s

// Two folded BatchNorms, one of which loses its bias.

// CHECK-DAG: good: ge-canonicalize, 0 rewrites
// CHECK-DAG: bad: lossy-fusion, 2 rewrites
// CHECK-DAG: pass 2 of 2: lossy-fusion{victim=bn1}: output 0 of @main by {{[0-9.]+}} of its range, allowed is 1e-05
// CHECK-DAG: rewrite 2: lossy-fusion/fold-losing-a-bias at node 'bn1' (BatchNormalization), number 2 of 2 of the pass
// CHECK-DAG: reproducer: {{.*}}, 2 operators: ge-opt --load-plugin={{.*}} --validate-each --run-reproducer
// CHECK-DAG: avoid it: ge-opt -p ge-canonicalize
// CHECK-DAG: {"Switch": {"GraphFusion": {"lossy-fusion": "off"}}}
func.func @main(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = ge.constant dense<0.5> : tensor<2x2x1x1xf32>
  %s = ge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %a = ge.conv2d %x, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32> loc("conv0"("Conv"("a")))
  %b = ge.batch_norm %a, %s, %s, %s, %s : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32> loc("bn0"("BatchNormalization"("b")))
  %c = ge.conv2d %b, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32> loc("conv1"("Conv"("c")))
  %d = ge.batch_norm %c, %s, %s, %s, %s : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32> loc("bn1"("BatchNormalization"("d")))
  %y = ge.relu %d : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> loc("relu1"("Relu"("y")))
  func.return %y : tensor<1x2x4x4xf32>
}
