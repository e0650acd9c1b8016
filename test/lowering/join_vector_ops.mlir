// RUN: ge-opt --no-locations --join-vector-ops --split-input-file %s | FileCheck %s

// A value that the next step reads as well, and what becomes of it: both leave one task.
// CHECK-LABEL: func.func @step
// CHECK-NEXT: %c, %h = ge.fused ins(%f, %before, %o : {{.*}}) {anchor = "ge.mul"} {
// CHECK: %[[C:.*]] = ge.mul %
// CHECK-NEXT: %[[T:.*]] = ge.tanh %[[C]]
// CHECK-NEXT: %[[H:.*]] = ge.mul %{{.*}}, %[[T]]
// CHECK-NEXT: ge.yield %[[C]], %[[H]]
// CHECK: func.return %c, %h
func.func @step(%f: tensor<1x96xf16>, %before: tensor<1x96xf16>, %o: tensor<1x96xf16>) -> (tensor<1x96xf16>, tensor<1x96xf16>) {
  %c = ge.mul %f, %before : (tensor<1x96xf16>, tensor<1x96xf16>) -> tensor<1x96xf16>
  %h = ge.fused ins(%o, %c : tensor<1x96xf16>, tensor<1x96xf16>) {anchor = "ge.mul"} {
  ^bb0(%a: tensor<1x96xf16>, %b: tensor<1x96xf16>):
    %t = ge.tanh %b : (tensor<1x96xf16>) -> tensor<1x96xf16>
    %u = ge.mul %a, %t : (tensor<1x96xf16>, tensor<1x96xf16>) -> tensor<1x96xf16>
    ge.yield %u : tensor<1x96xf16>
  } -> tensor<1x96xf16>
  return %c, %h : tensor<1x96xf16>, tensor<1x96xf16>
}

// -----

// Two branches: what the second one needs moves in front of their task, and what reads the first stays behind it. Formats
// differ in what they promise of their padding alone.
// CHECK-LABEL: func.func @branches
// CHECK: %[[B:.*]] = ge.max_pool
// CHECK-NEXT: %[[S:.*]], %[[R:.*]] = ge.fused ins(%x, %[[B]]
// CHECK: ge.sigmoid
// CHECK-NEXT: ge.relu
// CHECK: ge.max_pool %[[S]]
// CHECK-NEXT: ge.max_pool %[[R]]
func.func @branches(%x: tensor<1x16x8x8xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> (tensor<1x16x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = undef>>, tensor<1x16x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) {
  %0 = ge.sigmoid %x : (tensor<1x16x8x8xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> tensor<1x16x8x8xf16, #layout.nc1hwc0<c0 = 16, pad = undef>>
  %1 = ge.max_pool %0 {kernel = [2, 2], strides = [2, 2]} : (tensor<1x16x8x8xf16, #layout.nc1hwc0<c0 = 16, pad = undef>>) -> tensor<1x16x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = undef>>
  %2 = ge.max_pool %x {kernel = [3, 3], pads = [1, 1, 1, 1]} : (tensor<1x16x8x8xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> tensor<1x16x8x8xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  %3 = ge.relu %2 : (tensor<1x16x8x8xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> tensor<1x16x8x8xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  %4 = ge.max_pool %3 {kernel = [2, 2], strides = [2, 2]} : (tensor<1x16x8x8xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> tensor<1x16x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  return %1, %4 : tensor<1x16x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = undef>>, tensor<1x16x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
}

// -----

// One side of the diamond goes through a softmax: a task of both ends would have to run before and behind it.
// CHECK-LABEL: func.func @diamond
// CHECK-NEXT: ge.relu
// CHECK-NEXT: ge.softmax
// CHECK-NEXT: ge.mul
func.func @diamond(%x: tensor<4x32xf16>) -> tensor<4x32xf16> {
  %0 = ge.relu %x : (tensor<4x32xf16>) -> tensor<4x32xf16>
  %1 = ge.softmax %0 : (tensor<4x32xf16>) -> tensor<4x32xf16>
  %2 = ge.mul %0, %1 : (tensor<4x32xf16>, tensor<4x32xf16>) -> tensor<4x32xf16>
  return %2 : tensor<4x32xf16>
}

// -----

// Two chains that cross: %a and %b share a task, %c and %d another one, but %a with %d and %b with %c would wait for each other.
// CHECK-LABEL: func.func @crossing
// CHECK-NEXT: ge.fused ins(%x, %y :
// CHECK: ge.relu
// CHECK-NEXT: ge.neg
// CHECK-NEXT: ge.yield
// CHECK: ge.softmax
// CHECK-NEXT: ge.softmax
// CHECK-NEXT: ge.fused
// CHECK: ge.abs
// CHECK-NEXT: ge.exp
// CHECK-NEXT: ge.yield
func.func @crossing(%x: tensor<4x32xf16>, %y: tensor<4x32xf16>) -> (tensor<4x32xf16>, tensor<4x32xf16>) {
  %a = ge.relu %x : (tensor<4x32xf16>) -> tensor<4x32xf16>
  %0 = ge.softmax %a : (tensor<4x32xf16>) -> tensor<4x32xf16>
  %c = ge.abs %0 : (tensor<4x32xf16>) -> tensor<4x32xf16>
  %b = ge.neg %y : (tensor<4x32xf16>) -> tensor<4x32xf16>
  %1 = ge.softmax %b : (tensor<4x32xf16>) -> tensor<4x32xf16>
  %d = ge.exp %1 : (tensor<4x32xf16>) -> tensor<4x32xf16>
  return %c, %d : tensor<4x32xf16>, tensor<4x32xf16>
}

// -----

// Other shapes, and the same elements in other types, stay apart.
// CHECK-LABEL: func.func @unlike
// CHECK-NEXT: ge.relu
// CHECK-NEXT: ge.relu
// CHECK-NEXT: ge.relu
// CHECK-NEXT: func.return
func.func @unlike(%x: tensor<4x32xf16>, %y: tensor<128xf16>, %z: tensor<4x32xf32>) -> (tensor<4x32xf16>, tensor<128xf16>, tensor<4x32xf32>) {
  %0 = ge.relu %x : (tensor<4x32xf16>) -> tensor<4x32xf16>
  %1 = ge.relu %y : (tensor<128xf16>) -> tensor<128xf16>
  %2 = ge.relu %z : (tensor<4x32xf32>) -> tensor<4x32xf32>
  return %0, %1, %2 : tensor<4x32xf16>, tensor<128xf16>, tensor<4x32xf32>
}

// -----

// 8 MiB come and 8 MiB go: each fits the L2 of 16 MiB, both do not.
// CHECK-LABEL: func.func @large
// CHECK-NEXT: ge.relu
// CHECK-NEXT: ge.neg
// CHECK-NEXT: func.return
func.func @large(%x: tensor<2048x2048xf16>, %y: tensor<2048x2048xf16>) -> (tensor<2048x2048xf16>, tensor<2048x2048xf16>) {
  %0 = ge.relu %x : (tensor<2048x2048xf16>) -> tensor<2048x2048xf16>
  %1 = ge.neg %y : (tensor<2048x2048xf16>) -> tensor<2048x2048xf16>
  return %0, %1 : tensor<2048x2048xf16>, tensor<2048x2048xf16>
}

// -----

// What has no kernel on the Vector, here for a size that is not known, stays out.
// CHECK-LABEL: func.func @engine
// CHECK-NEXT: ge.relu
// CHECK-NEXT: ge.abs
// CHECK-NEXT: func.return
func.func @engine(%x: tensor<4x?xf16>) -> (tensor<4x?xf16>, tensor<4x?xf16>) {
  %0 = ge.relu %x : (tensor<4x?xf16>) -> tensor<4x?xf16>
  %1 = ge.abs %x : (tensor<4x?xf16>) -> tensor<4x?xf16>
  return %0, %1 : tensor<4x?xf16>, tensor<4x?xf16>
}
