// RUN: ge-opt --no-locations --lower-to-kernels --split-input-file %s | FileCheck %s

// Equal operators call one kernel; a kernel is named after its operators and numbered.
// CHECK-LABEL: func.func @equal_kernels
// CHECK-NEXT: %0 = ascend.task.call @relu_0(%x) {type = "Relu", macs = 0 : i64, layout_bytes = 0 : i64, in_place = array<i64: 0>} : (tensor<8x16xf16>) -> tensor<8x16xf16>
// CHECK-NEXT: %1 = ascend.task.call @relu_0(%0)
// CHECK-NEXT: %2 = ascend.task.call @relu_1(%y)
// CHECK-NEXT: return %1, %2
// CHECK: ascend.kernel @relu_0(%x0: memref<8x16xf16, #ascend.gm> r, %y: memref<8x16xf16, #ascend.gm> w) blocks(
// CHECK: ascend.kernel @relu_1(%x0: memref<3xf16
// CHECK-NOT: ascend.kernel
func.func @equal_kernels(%x: tensor<8x16xf16>, %y: tensor<3xf16>) -> (tensor<8x16xf16>, tensor<3xf16>) {
  %0 = ge.relu %x : (tensor<8x16xf16>) -> tensor<8x16xf16>
  %1 = ge.relu %0 : (tensor<8x16xf16>) -> tensor<8x16xf16>
  %2 = ge.relu %y : (tensor<3xf16>) -> tensor<3xf16>
  return %1, %2 : tensor<8x16xf16>, tensor<3xf16>
}

// -----

// Views and constants stay: they cost nothing.
// CHECK-LABEL: func.func @views
// CHECK-NEXT: ge.constant
// CHECK-NEXT: ge.reshape
// CHECK-NEXT: ascend.task.call
func.func @views(%x: tensor<8x16xf16>) -> tensor<128xf16> {
  %c = ge.constant dense<2.0> : tensor<128xf16>
  %0 = ge.reshape %x {shape = [128]} : (tensor<8x16xf16>) -> tensor<128xf16>
  %1 = ge.mul %0, %c : (tensor<128xf16>, tensor<128xf16>) -> tensor<128xf16>
  return %1 : tensor<128xf16>
}

// -----

// A convolution with its epilogue; 33 channels: the bias is cast to fp32 and padded to 48.
// CHECK-LABEL: func.func @convolution
// CHECK: %[[BIAS:.*]] = ge.constant dense<[5.000000e-01,{{.*}}, 5.000000e-01, 0.000000e+00, {{.*}} 0.000000e+00]> : tensor<48xf32>
// CHECK-NEXT: ascend.task.call @conv2d_add_relu_0(%x, %w, %[[BIAS]], %r) {type = "Conv2D", macs = 171072 : i64, layout_bytes = 0 : i64, in_place = array<i64: 3>}
// CHECK: ascend.kernel @conv2d_add_relu_0(%x: memref<1x1x6x6x16xf16, #ascend.gm> r, %w: memref<1x9x3x16x16xf16, #ascend.gm> r, %bias: memref<48xf32, #ascend.gm> r, %side0: memref<1x3x6x6x16xf16, #ascend.gm> r, %y: memref<1x3x6x6x16xf16, #ascend.gm> w)
// CHECK: ascend.mte.load3d
// CHECK: ascend.cube.mmad
// CHECK: ascend.vec.conv
// CHECK: ascend.vec.relu
func.func @convolution(%x: tensor<1x16x6x6xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>, %w: tensor<33x16x3x3xf16, #layout.fractal_z<n0 = 16, c0 = 16, groups = 1, pad = zero>>, %r: tensor<1x33x6x6xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> tensor<1x33x6x6xf16, #layout.nc1hwc0<c0 = 16, pad = zero>> {
  %b = ge.constant dense<0.5> : tensor<33xf16>
  %0 = ge.fused ins(%x, %w, %b, %r : tensor<1x16x6x6xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>, tensor<33x16x3x3xf16, #layout.fractal_z<n0 = 16, c0 = 16, groups = 1, pad = zero>>, tensor<33xf16>, tensor<1x33x6x6xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) {anchor = "ge.conv2d"} {
  ^bb0(%p: tensor<1x16x6x6xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>, %q: tensor<33x16x3x3xf16, #layout.fractal_z<n0 = 16, c0 = 16, groups = 1, pad = zero>>, %s: tensor<33xf16>, %u: tensor<1x33x6x6xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>):
    %1 = ge.conv2d %p, %q, %s {pads = [1, 1, 1, 1]} : (tensor<1x16x6x6xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>, tensor<33x16x3x3xf16, #layout.fractal_z<n0 = 16, c0 = 16, groups = 1, pad = zero>>, tensor<33xf16>) -> tensor<1x33x6x6xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
    %2 = ge.add %1, %u : (tensor<1x33x6x6xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>, tensor<1x33x6x6xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> tensor<1x33x6x6xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
    %3 = ge.relu %2 : (tensor<1x33x6x6xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> tensor<1x33x6x6xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
    ge.yield %3 : tensor<1x33x6x6xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  } -> tensor<1x33x6x6xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  return %0 : tensor<1x33x6x6xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
}

// -----

// No kernel: the operator stays and says why; its operands and results become ND.
// CHECK-LABEL: func.func @no_kernel
// CHECK-NEXT: %[[ND:.*]] = ascend.task.call @transdata_0(%x) {type = "TransData", macs = 0 : i64, layout_bytes = 2304 : i64}
// CHECK-NEXT: %[[Y:.*]] = ge.trilu %[[ND]] {ge.no_kernel = "{{.*}}"} : (tensor<1x16x6x6xf16>) -> tensor<1x16x6x6xf16>
// CHECK-NEXT: ascend.task.call @transdata_1(%[[Y]])
func.func @no_kernel(%x: tensor<1x16x6x6xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> tensor<1x16x6x6xf16, #layout.nc1hwc0<c0 = 16, pad = zero>> {
  %0 = ge.trilu %x : (tensor<1x16x6x6xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>) -> tensor<1x16x6x6xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  return %0 : tensor<1x16x6x6xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
}

// -----

// A fused region without a kernel falls into its operators, those that have one keep it.
// CHECK-LABEL: func.func @split_fused
// CHECK-NEXT: ascend.task.call @add_0
// CHECK-NEXT: ge.trilu {{.*}} {ge.no_kernel
func.func @split_fused(%x: tensor<5x8xf16>) -> tensor<5x8xf16> {
  %0 = ge.fused ins(%x : tensor<5x8xf16>) {anchor = "ge.trilu"} {
  ^bb0(%a: tensor<5x8xf16>):
    %1 = ge.add %a, %a : (tensor<5x8xf16>, tensor<5x8xf16>) -> tensor<5x8xf16>
    %2 = ge.trilu %1 : (tensor<5x8xf16>) -> tensor<5x8xf16>
    ge.yield %2 : tensor<5x8xf16>
  } -> tensor<5x8xf16>
  return %0 : tensor<5x8xf16>
}
