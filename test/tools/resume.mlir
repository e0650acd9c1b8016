// RUN: ge-opt --default-pipeline --compile-to=fused --timing %s -o /dev/null 2>&1 | FileCheck %s

// A module that says it is `simplified` starts with the passes of the next phase.

// CHECK: pass
// CHECK-NEXT: simplify-quantized
// CHECK-NOT: force-fp16
// CHECK: total
builtin.module attributes {ge.phase = "simplified"} {
  func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %y = ge.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %y : tensor<2x3xf32>
  }
}
