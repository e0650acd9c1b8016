// RUN: ge-opt --no-locations --plan-buffers --split-input-file %s 2>&1 | FileCheck %s

// Workspace: offsets from lifetimes, multiples of 512 bytes. The kernels of the launches do not matter here.

// Three in a chain: two live at a time, so the third takes the place of the first. 200 bytes take 512.
// CHECK: plan-buffers: @chain peak 1024 bytes, lower bound 1024 bytes
// CHECK: ascend.task.program @chain soc("Ascend310P3") workspace_bytes(1024) lower_bound_bytes(1024) {
// CHECK: %a = ascend.task.buffer workspace + [[A:[0-9]+]] : tensor<100xf16>
// CHECK-NEXT: %b = ascend.task.buffer workspace + {{0|512}} : tensor<100xf16>
// CHECK-NEXT: %c = ascend.task.buffer workspace + [[A]] : tensor<100xf16>
// CHECK-NEXT: %y = ascend.task.buffer output 0 : tensor<100xf16>
ascend.task.program @chain soc("Ascend310P3") {
  %x = ascend.task.buffer input 0 : tensor<100xf16>
  %a = ascend.task.buffer workspace : tensor<100xf16>
  %b = ascend.task.buffer workspace : tensor<100xf16>
  %c = ascend.task.buffer workspace : tensor<100xf16>
  %y = ascend.task.buffer output 0 : tensor<100xf16>
  ascend.task.stream @s0 device 0 {
    ascend.task.launch "1" @k(%x) -> (%a) blocks(1) {} : (tensor<100xf16>) -> (tensor<100xf16>)
    ascend.task.launch "2" @k(%a) -> (%b) blocks(1) {} : (tensor<100xf16>) -> (tensor<100xf16>)
    ascend.task.launch "3" @k(%b) -> (%c) blocks(1) {} : (tensor<100xf16>) -> (tensor<100xf16>)
    ascend.task.launch "4" @k(%c) -> (%y) blocks(1) {} : (tensor<100xf16>) -> (tensor<100xf16>)
  }
}

// -----

// The same chain with kernels that read before they write at each place: one piece of storage.
// CHECK: ascend.task.program @in_place soc("Ascend310P3") workspace_bytes(512) lower_bound_bytes(512) {
// CHECK: %a = ascend.task.buffer workspace + 0
// CHECK: %b = ascend.task.buffer workspace + 0
ascend.task.program @in_place soc("Ascend310P3") {
  %x = ascend.task.buffer input 0 : tensor<100xf16>
  %a = ascend.task.buffer workspace : tensor<100xf16>
  %b = ascend.task.buffer workspace : tensor<100xf16>
  %y = ascend.task.buffer output 0 : tensor<100xf16>
  ascend.task.stream @s0 device 0 {
    // An input is never overwritten.
    ascend.task.launch "1" @k(%x) -> (%a) blocks(1) {in_place = array<i64: 0>} : (tensor<100xf16>) -> (tensor<100xf16>)
    ascend.task.launch "2" @k(%x, %a) -> (%b) blocks(1) {in_place = array<i64: 0, 1>} : (tensor<100xf16>, tensor<100xf16>) -> (tensor<100xf16>)
    ascend.task.launch "3" @k(%b) -> (%y) blocks(1) {in_place = array<i64: 0>} : (tensor<100xf16>) -> (tensor<100xf16>)
  }
}

// -----

// Not in place: an operand that is used later, one of another size, one that stands twice.
// CHECK: ascend.task.program @not_in_place soc("Ascend310P3") workspace_bytes(1536) lower_bound_bytes(1536) {
// CHECK: %a = ascend.task.buffer workspace + [[A:[0-9]+]] :
// CHECK-NOT: %b = ascend.task.buffer workspace + [[A]] :
// CHECK: %c = ascend.task.buffer workspace + [[C:[0-9]+]] :
// CHECK-NOT: %d = ascend.task.buffer workspace + [[C]] :
// CHECK: %y =
ascend.task.program @not_in_place soc("Ascend310P3") {
  %x = ascend.task.buffer input 0 : tensor<100xf16>
  %a = ascend.task.buffer workspace : tensor<100xf16>
  %b = ascend.task.buffer workspace : tensor<100xf16>
  %c = ascend.task.buffer workspace : tensor<64xf16>
  %d = ascend.task.buffer workspace : tensor<64xf16>
  %y = ascend.task.buffer output 0 : tensor<64xf16>
  ascend.task.stream @s0 device 0 {
    ascend.task.launch "1" @k(%x) -> (%a) blocks(1) {} : (tensor<100xf16>) -> (tensor<100xf16>)
    ascend.task.launch "2" @k(%a) -> (%b) blocks(1) {in_place = array<i64: 0>} : (tensor<100xf16>) -> (tensor<100xf16>)
    ascend.task.launch "3" @k(%a, %b) -> (%c) blocks(1) {in_place = array<i64: 0, 1>} : (tensor<100xf16>, tensor<100xf16>) -> (tensor<64xf16>)
    ascend.task.launch "4" @k(%c, %c) -> (%d) blocks(1) {in_place = array<i64: 0, 1>} : (tensor<64xf16>, tensor<64xf16>) -> (tensor<64xf16>)
    ascend.task.launch "5" @k(%d) -> (%y) blocks(1) {} : (tensor<64xf16>) -> (tensor<64xf16>)
  }
}

// -----

// The reference of an AI CPU task promises nothing about the order in which it reads and writes.
// CHECK: ascend.task.program @aicpu soc("Ascend310P3") workspace_bytes(1024) lower_bound_bytes(1024) {
ascend.task.program @aicpu soc("Ascend310P3") {
  %x = ascend.task.buffer input 0 : tensor<64xf16>
  %a = ascend.task.buffer workspace : tensor<64xf16>
  %b = ascend.task.buffer workspace : tensor<64xf16>
  %y = ascend.task.buffer output 0 : tensor<64xf16>
  ascend.task.stream @s0 device 0 {
    ascend.task.launch "1" @k(%x) -> (%a) blocks(1) {} : (tensor<64xf16>) -> (tensor<64xf16>)
    ascend.task.aicpu "2" "ge.relu"(%a) -> (%b) "{}" {in_place = array<i64: 0>} : (tensor<64xf16>) -> (tensor<64xf16>)
    ascend.task.launch "3" @k(%b) -> (%y) blocks(1) {} : (tensor<64xf16>) -> (tensor<64xf16>)
  }
}

// -----

// A view keeps its root alive: `a` lives until the view is read, beside `b`.
// CHECK: ascend.task.program @views soc("Ascend310P3") workspace_bytes(1024) lower_bound_bytes(1024) {
// CHECK: %a = ascend.task.buffer workspace + [[A:[0-9]+]] : tensor<100xf16>
// CHECK: %v = ascend.task.buffer workspace alias(%a
// CHECK-NOT: %b = ascend.task.buffer workspace + [[A]] :
// CHECK: %y =
ascend.task.program @views soc("Ascend310P3") {
  %x = ascend.task.buffer input 0 : tensor<100xf16>
  %a = ascend.task.buffer workspace : tensor<100xf16>
  %v = ascend.task.buffer workspace alias(%a : tensor<100xf16>) : tensor<4x25xf16>
  %b = ascend.task.buffer workspace : tensor<4x25xf16>
  %y = ascend.task.buffer output 0 : tensor<4x25xf16>
  ascend.task.stream @s0 device 0 {
    ascend.task.launch "1" @k(%x) -> (%a) blocks(1) {} : (tensor<100xf16>) -> (tensor<100xf16>)
    ascend.task.launch "2" @k(%a) -> (%b) blocks(1) {} : (tensor<100xf16>) -> (tensor<4x25xf16>)
    ascend.task.launch "3" @k(%b, %v) -> (%y) blocks(1) {} : (tensor<4x25xf16>, tensor<4x25xf16>) -> (tensor<4x25xf16>)
  }
}

// -----

// What a copy into an output reads lives to the end.
// CHECK: ascend.task.program @copied soc("Ascend310P3") workspace_bytes(1024)
ascend.task.program @copied soc("Ascend310P3") {
  %x = ascend.task.buffer input 0 : tensor<100xf16>
  %a = ascend.task.buffer workspace : tensor<100xf16>
  %b = ascend.task.buffer workspace : tensor<100xf16>
  %y = ascend.task.buffer output 0 : tensor<100xf16>
  %z = ascend.task.buffer output 1 : tensor<100xf16>
  ascend.task.stream @s0 device 0 {
    ascend.task.launch "1" @k(%x) -> (%a) blocks(1) {} : (tensor<100xf16>) -> (tensor<100xf16>)
    ascend.task.launch "2" @k(%x) -> (%b) blocks(1) {} : (tensor<100xf16>) -> (tensor<100xf16>)
    ascend.task.launch "3" @k(%b) -> (%y) blocks(1) {} : (tensor<100xf16>) -> (tensor<100xf16>)
    ascend.task.copy %a to %z : tensor<100xf16> to tensor<100xf16>
  }
}
