// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// Calls of kernels in a graph, then programs of buffers and streams: custom form -> generic form -> custom form.

// CHECK: ascend.kernel @k
ascend.kernel @k(%x: memref<128xf16, #ascend.gm> r, %y: memref<128xf16, #ascend.gm> w) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
  }
}

// CHECK: func.func @called
func.func @called(%x: tensor<128xf16>) -> tensor<128xf16> {
  // CHECK-NEXT: %y = ascend.task.call @k(%x) {type = "Relu", macs = 0 : i64} : (tensor<128xf16>) -> tensor<128xf16>
  %y = ascend.task.call @k(%x) {type = "Relu", macs = 0 : i64} : (tensor<128xf16>) -> tensor<128xf16>
  // CHECK-NEXT: %p, %q = ascend.task.call @two_results(%x, %y) {} {kept = 1 : i64} : (tensor<128xf16>, tensor<128xf16>) -> (tensor<2xf16>, tensor<3xi8>)
  %p, %q = ascend.task.call @two_results(%x, %y) {} {kept = 1 : i64} : (tensor<128xf16>, tensor<128xf16>) -> (tensor<2xf16>, tensor<3xi8>)
  return %y : tensor<128xf16>
}

// CHECK: ascend.task.program @symbolic soc("Ascend310P3") {
ascend.task.program @symbolic soc("Ascend310P3") {
  // CHECK-NEXT: %x = ascend.task.buffer input 0 "data:0" : tensor<2x64xf16>
  %x = ascend.task.buffer input 0 "data:0" : tensor<2x64xf16>
  // CHECK-NEXT: %v = ascend.task.buffer input 0 alias(%x : tensor<2x64xf16>) : tensor<128xf16>
  %v = ascend.task.buffer input 0 alias(%x : tensor<2x64xf16>) : tensor<128xf16>
  // CHECK-NEXT: %{{.*}} = ascend.task.buffer weight dense<1.000000e+00> : tensor<2xf32> : tensor<2xf32>
  %0 = ascend.task.buffer weight dense<1.0> : tensor<2xf32> : tensor<2xf32>
  // CHECK-NEXT: %t = ascend.task.buffer workspace : tensor<128xf16>
  %t = ascend.task.buffer workspace : tensor<128xf16>
  // CHECK-NEXT: %y = ascend.task.buffer output 1 "prob" : tensor<128xf16>
  %y = ascend.task.buffer output 1 "prob" : tensor<128xf16>
  // CHECK-NEXT: ascend.task.stream @s0 device 0 {
  ascend.task.stream @s0 device 0 {
    // CHECK-NEXT: ascend.task.launch "relu \22one\22" @k(%v) -> (%t) blocks(1) {type = "Relu"} : (tensor<128xf16>) -> (tensor<128xf16>)
    ascend.task.launch "relu \22one\22" @k(%v) -> (%t) blocks(1) {type = "Relu"} : (tensor<128xf16>) -> (tensor<128xf16>)
    // CHECK-NEXT: ascend.task.aicpu "lrn" "ge.lrn"(%t) -> (%y) "{\22size\22: 5}" {type = "Lrn"} : (tensor<128xf16>) -> (tensor<128xf16>)
    ascend.task.aicpu "lrn" "ge.lrn"(%t) -> (%y) "{\22size\22: 5}" {type = "Lrn"} : (tensor<128xf16>) -> (tensor<128xf16>)
    // CHECK-NEXT: ascend.task.record 3
    ascend.task.record 3
  }
  // CHECK: ascend.task.stream @s1 device 1 {
  ascend.task.stream @s1 device 1 {
    // CHECK-NEXT: ascend.task.wait 3
    ascend.task.wait 3
    // CHECK-NEXT: ascend.task.copy %t to %y : tensor<128xf16> to tensor<128xf16>
    ascend.task.copy %t to %y : tensor<128xf16> to tensor<128xf16>
    // CHECK-NEXT: ascend.task.launch "nothing" @none() -> () blocks(8) {} : () -> ()
    ascend.task.launch "nothing" @none() -> () blocks(8) {} : () -> ()
  }
}

// CHECK: ascend.task.program @planned soc("Ascend310P3") workspace_bytes(1024) lower_bound_bytes(512) attributes {ge.note = "kept"} {
ascend.task.program @planned soc("Ascend310P3") workspace_bytes(1024) lower_bound_bytes(512) attributes {ge.note = "kept"} {
  // CHECK-NEXT: %{{.*}} = ascend.task.buffer input 0 + 0 "x" : tensor<8xf16>
  %x = ascend.task.buffer input 0 + 0 "x" : tensor<8xf16>
  // CHECK-NEXT: %{{.*}} = ascend.task.buffer weight + 512 "w" dense<2> : tensor<3xi32> : tensor<3xi32>
  %w = ascend.task.buffer weight + 512 "w" dense<2> : tensor<3xi32> : tensor<3xi32>
  // CHECK-NEXT: %{{.*}} = ascend.task.buffer workspace + 512 : tensor<8xf16>
  %t = ascend.task.buffer workspace + 512 : tensor<8xf16>
}
