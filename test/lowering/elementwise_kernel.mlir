// RUN: ge-opt --no-locations --lower-to-kernels --split-input-file %s | FileCheck %s

// Same shapes: one axis; the sum goes to the place of the first operand's tile.
// CHECK-LABEL: func.func @residual
// CHECK-NEXT: ascend.task.call @elementwise_add_relu_0(%x, %y) {type = "Elementwise", {{.*}}in_place = array<i64: 0, 1>}
// CHECK: ascend.kernel @elementwise_add_relu_0(%x0: {{.*}} r, %x1: {{.*}} r, %y: {{.*}} w) blocks(1)
// CHECK: ascend.mte.copy %{{.*}} to %x0_ub
// CHECK: ascend.mte.copy %{{.*}} to %x1_ub
// CHECK: ascend.vec.add %{{.*}}, %{{.*}} to %{{.*}} memref<512xf16
// CHECK: ascend.vec.relu
// CHECK-NOT: ascend.vec
// CHECK: ascend.mte.copy %y_ub
func.func @residual(%x: tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>, %y: tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>> {
  %0 = ge.fused ins(%x, %y : tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>, tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) {anchor = "ge.relu"} {
  ^bb0(%a: tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>, %b: tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>):
    %t = ge.add %a, %b : (tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>, tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
    %u = ge.relu %t : (tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
    ge.yield %u : tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  } -> tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  return %0 : tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
}

// -----

// One value a channel: loaded in its small form, repeated over the pixels with stride 0.
// CHECK-LABEL: func.func @scale
// CHECK-NEXT: ascend.task.call @mul_0(%x, %s) {type = "Mul"
// CHECK: ascend.alloc "x1_ub" : memref<2x1x16xf16
// CHECK: ascend.vec.mul {{.*}} : memref<2x16x16xf16, strided<[256, 16, 1]{{.*}}>, memref<2x16x16xf16, strided<[16, 0, 1]
func.func @scale(%x: tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>, %s: tensor<1x32x1x1xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>> {
  %0 = ge.mul %x, %s : (tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>, tensor<1x32x1x1xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  return %0 : tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
}

// -----

// Transcendental functions run in fp32. Shares of 32 KiB on each of eight cores, two tiles a core; the last core has 7 elements less.
// CHECK-LABEL: func.func @sigmoid
// CHECK: ascend.kernel @sigmoid_0({{.*}}) blocks(8)
// CHECK: ascend.blocks %{{.*}} = 0 to 7 {
// CHECK-NEXT: ascend.loop %{{.*}} = 0 to 2 {
// CHECK: ascend.vec.conv {{.*}}xf16{{.*}} to {{.*}}xf32
// CHECK-NEXT: ascend.vec.muls {{.*}} imm -1.0
// CHECK-NEXT: ascend.vec.exp
// CHECK-NEXT: ascend.vec.adds {{.*}} imm 1.0
// CHECK-NEXT: ascend.vec.rec
// CHECK-NEXT: ascend.vec.conv {{.*}}xf32{{.*}} to {{.*}}xf16
// CHECK: ascend.blocks %{{.*}} = 7 to 8 {
func.func @sigmoid(%x: tensor<131065xf16>) -> tensor<131065xf16> {
  %0 = ge.sigmoid %x : (tensor<131065xf16>) -> tensor<131065xf16>
  return %0 : tensor<131065xf16>
}

// -----

// A row that stands still while the rows of the other operand go by is loaded before their loop.
// CHECK-LABEL: func.func @row
// CHECK: ascend.alloc "x1_ub" : memref<1x1000xf16
// CHECK: ascend.loop
// CHECK-NOT: "x1_ub"
// CHECK: ascend.alloc "x0_ub"
func.func @row(%x: tensor<800x1000xf16>, %r: tensor<1000xf16>) -> tensor<800x1000xf16> {
  %0 = ge.add %x, %r : (tensor<800x1000xf16>, tensor<1000xf16>) -> tensor<800x1000xf16>
  return %0 : tensor<800x1000xf16>
}

// -----

// CHECK-LABEL: func.func @refused
// CHECK: ge.add {{.*}} {ge.no_kernel = "the Vector engine has no instruction sequence for ge.add of f64"}
func.func @refused(%x: tensor<8xf64>) -> tensor<8xf64> {
  %0 = ge.add %x, %x : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  return %0 : tensor<8xf64>
}

// -----

// Two results: the sum is written from the buffer that the second step reads; it goes out in front of the last one.
// CHECK-LABEL: func.func @two_results
// CHECK-NEXT: %0, %1 = ascend.task.call @elementwise_add_relu_0(%x, %y) {type = "Elementwise", {{.*}}in_place = array<i64: 0, 1>}
// CHECK-NEXT: func.return %0, %1
// CHECK: ascend.kernel @elementwise_add_relu_0(%x0: {{.*}} r, %x1: {{.*}} r, %y0: {{.*}} w, %y1: {{.*}} w) blocks(1)
// CHECK: %[[SUM:.*]] = ascend.view %y0_ub
// CHECK: ascend.vec.add %{{.*}}, %{{.*}} to %[[SUM]]
// CHECK-NEXT: ascend.vec.relu %[[SUM]]
// CHECK: ascend.mte.copy %[[SUM]] to
// CHECK: ascend.mte.copy
func.func @two_results(%x: tensor<4x40xf16>, %y: tensor<4x40xf16>) -> (tensor<4x40xf16>, tensor<4x40xf16>) {
  %0, %1 = ge.fused ins(%x, %y : tensor<4x40xf16>, tensor<4x40xf16>) {anchor = "ge.relu"} {
  ^bb0(%a: tensor<4x40xf16>, %b: tensor<4x40xf16>):
    %t = ge.add %a, %b : (tensor<4x40xf16>, tensor<4x40xf16>) -> tensor<4x40xf16>
    %u = ge.relu %t : (tensor<4x40xf16>) -> tensor<4x40xf16>
    ge.yield %t, %u : tensor<4x40xf16>, tensor<4x40xf16>
  } -> (tensor<4x40xf16>, tensor<4x40xf16>)
  return %0, %1 : tensor<4x40xf16>, tensor<4x40xf16>
}
