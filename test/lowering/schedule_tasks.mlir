// RUN: ge-opt --no-locations --schedule-tasks --split-input-file %s | FileCheck %s

// A graph of kernel calls becomes buffers and one stream of tasks, in the order of the graph.

ascend.kernel @k(%x: memref<128xf16, #ascend.gm> r, %y: memref<128xf16, #ascend.gm> w) blocks(8) {
  ascend.blocks %blk = 0 to 8 {
  }
}

// CHECK-LABEL: ascend.task.program @main soc("Ascend310P3") {
// CHECK-NEXT: %x = ascend.task.buffer input 0 "data" : tensor<128xf16>
// CHECK-NEXT: %t = ascend.task.buffer workspace : tensor<128xf16>
// CHECK-NEXT: %w = ascend.task.buffer weight "scale" dense<2.000000e+00> : tensor<2xf16> : tensor<2xf16>
// CHECK-NEXT: %y = ascend.task.buffer output 0 "prob" : tensor<128xf16>
// CHECK-NEXT: ascend.task.stream @s0 device 0 {
// CHECK-NEXT: ascend.task.launch "conv1" @k(%x) -> (%t) blocks(8) {type = "Relu"} : (tensor<128xf16>) -> (tensor<128xf16>)
// A second task of one node gets a number.
// CHECK-NEXT: ascend.task.launch "conv1_1" @k(%t) -> (%y) blocks(8)
// CHECK-NEXT: }
func.func @main(%x: tensor<128xf16> {ge.name = "data"}) -> (tensor<128xf16> {ge.name = "prob"}) {
  %t = ascend.task.call @k(%x) {type = "Relu"} : (tensor<128xf16>) -> tensor<128xf16> loc("conv1"("Conv"("t")))
  %w = ge.constant dense<2.0> : tensor<2xf16> loc("scale"("Constant"("w")))
  %y = ascend.task.call @k(%t) {type = "Relu"} : (tensor<128xf16>) -> tensor<128xf16> loc("conv1"("Conv"("t")))
  return %y : tensor<128xf16>
}

// -----

// A view shares its operand's buffer; an output is what is returned, the value behind a returned view shares it.
ascend.kernel @k(%x: memref<128xf16, #ascend.gm> r, %y: memref<128xf16, #ascend.gm> w) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
  }
}
// CHECK-LABEL: ascend.task.program @views
// CHECK-NEXT: %x = ascend.task.buffer input 0 "x" : tensor<8x16xf16>
// CHECK-NEXT: %a = ascend.task.buffer input 0 alias(%x : tensor<8x16xf16>) : tensor<128xf16>
// CHECK-NEXT: %[[Y:.*]] = ascend.task.buffer output 0 "y0" : tensor<16x8xf16>
// CHECK-NEXT: %b = ascend.task.buffer output 0 alias(%[[Y]] : tensor<16x8xf16>) : tensor<128xf16>
// CHECK: ascend.task.launch "Kernel" @k(%a) -> (%b)
// CHECK-NEXT: }
func.func @views(%x: tensor<8x16xf16>) -> tensor<16x8xf16> {
  %a = ge.reshape %x {shape = [128]} : (tensor<8x16xf16>) -> tensor<128xf16>
  %b = ascend.task.call @k(%a) {} : (tensor<128xf16>) -> tensor<128xf16>
  %c = ge.reshape %b {shape = [16, 8]} : (tensor<128xf16>) -> tensor<16x8xf16>
  return %c : tensor<16x8xf16>
}

// -----

// What has no kernel runs on the AI CPU with its attributes as JSON.
// CHECK-LABEL: ascend.task.program @aicpu
// CHECK: ascend.task.aicpu "ReduceMean" "ge.reduce_mean"(%x) -> ({{.*}}) "{\22axes\22: [1], \22keepdims\22: true}" {type = "ReduceMean", macs = 0 : i64, layout_bytes = 0 : i64, no_kernel = "because"} : (tensor<4x8xf32>) -> (tensor<4x1xf32>)
// CHECK-NEXT: ascend.task.aicpu "Cast" "ge.cast"({{.*}}) -> ({{.*}}) "{\22to\22: \22f16\22}"
func.func @aicpu(%x: tensor<4x8xf32>) -> tensor<4x1xf16> {
  %0 = ge.reduce_mean %x {axes = [1], ge.no_kernel = "because"} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %1 = ge.cast %0 : (tensor<4x1xf32>) -> tensor<4x1xf16>
  return %1 : tensor<4x1xf16>
}

// -----

// Copies at the end: a value returned twice, an input, a constant.
ascend.kernel @k(%x: memref<128xf16, #ascend.gm> r, %y: memref<128xf16, #ascend.gm> w) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
  }
}
// CHECK-LABEL: ascend.task.program @copies
// CHECK-NEXT: %x = ascend.task.buffer input 0 "x"
// CHECK-NEXT: %y = ascend.task.buffer output 0 "a"
// CHECK-NEXT: %c = ascend.task.buffer weight
// CHECK-NEXT: %[[B:.*]] = ascend.task.buffer output 1 "b"
// CHECK-NEXT: %[[C:.*]] = ascend.task.buffer output 2 "c"
// CHECK-NEXT: %[[D:.*]] = ascend.task.buffer output 3 "d"
// CHECK: ascend.task.launch
// CHECK-NEXT: ascend.task.copy %y to %[[B]] : tensor<128xf16> to tensor<128xf16>
// CHECK-NEXT: ascend.task.copy %x to %[[C]]
// CHECK-NEXT: ascend.task.copy %c to %[[D]]
func.func @copies(%x: tensor<128xf16>) -> (tensor<128xf16> {ge.name = "a"}, tensor<128xf16> {ge.name = "b"}, tensor<128xf16> {ge.name = "c"}, tensor<2xf16> {ge.name = "d"}) {
  %y = ascend.task.call @k(%x) {type = "Relu"} : (tensor<128xf16>) -> tensor<128xf16>
  %c = ge.constant dense<2.0> : tensor<2xf16>
  return %y, %y, %x, %c : tensor<128xf16>, tensor<128xf16>, tensor<128xf16>, tensor<2xf16>
}

// -----

// The parts of a concat are written side by side into one piece of memory; a concat of that and more joins the same.
ascend.kernel @k(%x: memref<128xf16, #ascend.gm> r, %y: memref<128xf16, #ascend.gm> w) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
  }
}
// CHECK-LABEL: ascend.task.program @joined
// CHECK: %[[M:.*]] = ascend.task.buffer workspace : tensor<768xi8>
// CHECK-NEXT: %a = ascend.task.buffer workspace alias(%[[M]] : tensor<768xi8>) : tensor<128xf16>
// CHECK-NEXT: %b = ascend.task.buffer workspace alias(%[[M]] + 256 : tensor<768xi8>) : tensor<128xf16>
// CHECK-NEXT: %c = ascend.task.buffer workspace alias(%[[M]] : tensor<768xi8>) : tensor<256xf16>
// CHECK-NEXT: %d = ascend.task.buffer workspace alias(%[[M]] + 512 : tensor<768xi8>) : tensor<128xf16>
// CHECK-NEXT: %e = ascend.task.buffer workspace alias(%[[M]] : tensor<768xi8>) : tensor<384xf16>
// CHECK: ascend.task.launch "Kernel" @k(%x) -> (%a)
// CHECK-NEXT: ascend.task.launch "Kernel_1" @k(%x) -> (%b)
// CHECK-NEXT: ascend.task.launch "Kernel_2" @k(%b) -> (%d)
// CHECK-NEXT: ascend.task.launch "Kernel_3" @k(%c, %e) -> (
// CHECK-NEXT: }
func.func @joined(%x: tensor<128xf16>) -> tensor<128xf16> {
  %a = ascend.task.call @k(%x) {} : (tensor<128xf16>) -> tensor<128xf16>
  %b = ascend.task.call @k(%x) {} : (tensor<128xf16>) -> tensor<128xf16>
  %c = ge.concat %a, %b {axis = 0} : (tensor<128xf16>, tensor<128xf16>) -> tensor<256xf16>
  %d = ascend.task.call @k(%b) {} : (tensor<128xf16>) -> tensor<128xf16>
  %e = ge.concat %c, %d {axis = 0} : (tensor<256xf16>, tensor<128xf16>) -> tensor<384xf16>
  %y = ascend.task.call @k(%c, %e) {} : (tensor<256xf16>, tensor<384xf16>) -> tensor<128xf16>
  return %y : tensor<128xf16>
}

// -----

// A concat that the graph returns is the output, its parts are written there.
ascend.kernel @k(%x: memref<128xf16, #ascend.gm> r, %y: memref<128xf16, #ascend.gm> w) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
  }
}
// CHECK-LABEL: ascend.task.program @output
// CHECK: %c = ascend.task.buffer output 0 "y0" : tensor<256xf16>
// CHECK-NEXT: %a = ascend.task.buffer output 0 alias(%c : tensor<256xf16>) : tensor<128xf16>
// CHECK-NEXT: %b = ascend.task.buffer output 0 alias(%c + 256 : tensor<256xf16>) : tensor<128xf16>
// CHECK-NOT: ascend.task.copy
func.func @output(%x: tensor<128xf16>) -> tensor<256xf16> {
  %a = ascend.task.call @k(%x) {} : (tensor<128xf16>) -> tensor<128xf16>
  %b = ascend.task.call @k(%a) {} : (tensor<128xf16>) -> tensor<128xf16>
  %c = ge.concat %a, %b {axis = 0} : (tensor<128xf16>, tensor<128xf16>) -> tensor<256xf16>
  return %c : tensor<256xf16>
}
