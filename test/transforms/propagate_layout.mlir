// RUN: ge-opt --no-locations --propagate-layout --split-input-file %s | FileCheck %s

// conv -> relu -> pool in NC1HWC0, converted at the borders only; the cast at the input is done by the conversion. At most
// four channels come in pixels of four, the filter likewise.
// CHECK-LABEL: func.func @feature_maps
func.func @feature_maps(%x: tensor<1x3x8x8xf32>) -> tensor<1x32x4x4xf16> {
  // CHECK: %[[X:.*]] = layout.transdata %x : tensor<1x3x8x8xf32> -> tensor<1x3x8x8xf16, #layout.nc1hwc0_c04<c0 = 4, pad = zero>>
  // CHECK-NEXT: %[[W:.*]] = ge.constant #ge.fold<"layout.transdata", [#ge.weight<"w", {{.*}}>], {}, tensor<32x3x3x3xf16, #layout.fractal_z_c04<n0 = 16, c0 = 16, pad = zero>>>
  // CHECK-NEXT: ge.conv2d %[[X]], %[[W]], %b {pads = [1, 1, 1, 1]} : ({{.*}}, tensor<32xf32>) -> tensor<1x32x8x8xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  // CHECK-NEXT: ge.relu {{.*}} -> tensor<1x32x8x8xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  // CHECK-NEXT: ge.max_pool {{.*}} -> tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  // CHECK-NEXT: layout.transdata {{.*}} -> tensor<1x32x4x4xf16>
  // CHECK-NEXT: return
  %w = ge.constant #ge.weight<"w", sha256 = "0000000000000000000000000000000000000000000000000000000000000000"> : tensor<32x3x3x3xf16>
  %b = ge.constant dense<0.5> : tensor<32xf32>
  %h = ge.cast %x : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf16>
  %0 = ge.conv2d %h, %w, %b {pads = [1, 1, 1, 1]} : (tensor<1x3x8x8xf16>, tensor<32x3x3x3xf16>, tensor<32xf32>) -> tensor<1x32x8x8xf16>
  %1 = ge.relu %0 : (tensor<1x32x8x8xf16>) -> tensor<1x32x8x8xf16>
  %2 = ge.max_pool %1 {kernel = [2, 2], strides = [2, 2]} : (tensor<1x32x8x8xf16>) -> tensor<1x32x4x4xf16>
  return %2 : tensor<1x32x4x4xf16>
}

// -----

// Four channels that a pool leaves in blocks of 16 stay there; a filter that is no constant is packed for blocks as well.
// CHECK-LABEL: func.func @blocks
func.func @blocks(%x: tensor<1x4x8x8xf16>, %f: tensor<16x4x3x3xf16>) -> (tensor<1x16x2x2xf16>, tensor<1x16x6x6xf16>) {
  // CHECK: ge.max_pool {{.*}} -> tensor<1x4x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  // CHECK: ge.conv2d {{.*}} : (tensor<1x4x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>, tensor<16x4x3x3xf16, #layout.fractal_z<n0 = 16, c0 = 16, groups = 1, pad = zero>>)
  // CHECK: ge.conv2d {{.*}} : (tensor<1x4x8x8xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>, tensor<16x4x3x3xf16, #layout.fractal_z<n0 = 16, c0 = 16, groups = 1, pad = zero>>)
  %w = ge.constant #ge.weight<"w", sha256 = "0000000000000000000000000000000000000000000000000000000000000000"> : tensor<16x4x3x3xf16>
  %0 = ge.max_pool %x {kernel = [2, 2], strides = [2, 2]} : (tensor<1x4x8x8xf16>) -> tensor<1x4x4x4xf16>
  %1 = ge.conv2d %0, %w : (tensor<1x4x4x4xf16>, tensor<16x4x3x3xf16>) -> tensor<1x16x2x2xf16>
  %2 = ge.conv2d %x, %f : (tensor<1x4x8x8xf16>, tensor<16x4x3x3xf16>) -> tensor<1x16x6x6xf16>
  return %1, %2 : tensor<1x16x2x2xf16>, tensor<1x16x6x6xf16>
}

// -----

// A per-channel constant is packed, a scalar is read as it is. 8 channels leave padding lanes: x * c + 1 spoils their
// zeros, and the convolution behind it asks for zeros again. The last scale would keep them, but in ND it touches no padding.
// CHECK-LABEL: func.func @padding
func.func @padding(%x: tensor<1x8x4x4xf16>, %w: tensor<8x8x1x1xf16>) -> tensor<1x8x4x4xf16> {
  %c = ge.constant dense<2.0> : tensor<1x8x1x1xf16>
  %one = ge.constant dense<1.0> : tensor<1x1x1x1xf16>
  // CHECK: ge.conv2d
  // CHECK: ge.constant #ge.fold<"layout.transdata", {{.*}} tensor<1x8x1x1xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>>
  // CHECK-NEXT: ge.mul {{.*}} -> tensor<1x8x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  // CHECK-NEXT: %[[U:.*]] = ge.add {{.*}}, tensor<1x1x1x1xf16>) -> tensor<1x8x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = finite>>
  // CHECK-NEXT: %[[Z:.*]] = layout.transdata %[[U]] : tensor<1x8x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = finite>> -> tensor<1x8x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  // CHECK: ge.conv2d %[[Z]]
  // CHECK-NEXT: layout.transdata {{.*}} -> tensor<1x8x4x4xf16>
  // CHECK-NEXT: ge.mul {{.*}}, tensor<1x1x1x1xf16>) -> tensor<1x8x4x4xf16>
  %0 = ge.conv2d %x, %w : (tensor<1x8x4x4xf16>, tensor<8x8x1x1xf16>) -> tensor<1x8x4x4xf16>
  %1 = ge.mul %0, %c : (tensor<1x8x4x4xf16>, tensor<1x8x1x1xf16>) -> tensor<1x8x4x4xf16>
  %2 = ge.add %1, %one : (tensor<1x8x4x4xf16>, tensor<1x1x1x1xf16>) -> tensor<1x8x4x4xf16>
  %3 = ge.conv2d %2, %w : (tensor<1x8x4x4xf16>, tensor<8x8x1x1xf16>) -> tensor<1x8x4x4xf16>
  %4 = ge.mul %3, %one : (tensor<1x8x4x4xf16>, tensor<1x1x1x1xf16>) -> tensor<1x8x4x4xf16>
  return %4 : tensor<1x8x4x4xf16>
}

// -----

// 32 channels leave none: exp need not keep zeros.
// CHECK-LABEL: func.func @no_padding
func.func @no_padding(%x: tensor<1x32x4x4xf16>, %w: tensor<32x32x1x1xf16>) -> tensor<1x32x4x4xf16> {
  // CHECK: ge.exp {{.*}} -> tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  %0 = ge.conv2d %x, %w : (tensor<1x32x4x4xf16>, tensor<32x32x1x1xf16>) -> tensor<1x32x4x4xf16>
  %1 = ge.exp %0 : (tensor<1x32x4x4xf16>) -> tensor<1x32x4x4xf16>
  return %1 : tensor<1x32x4x4xf16>
}

// -----

// Concat on the channels follows where every part fills its blocks, and stays ND where one does not.
// CHECK-LABEL: func.func @concat
func.func @concat(%x: tensor<1x16x4x4xf16>, %w: tensor<16x16x1x1xf16>, %v: tensor<8x16x1x1xf16>) -> (tensor<1x32x4x4xf16>, tensor<1x16x4x4xf16>) {
  %0 = ge.conv2d %x, %w : (tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>) -> tensor<1x16x4x4xf16>
  %1 = ge.conv2d %x, %v : (tensor<1x16x4x4xf16>, tensor<8x16x1x1xf16>) -> tensor<1x8x4x4xf16>
  // CHECK: ge.concat {{.*}} -> tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  %r = ge.conv2d %x, %w {dilations = [2, 2]} : (tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>) -> tensor<1x16x4x4xf16>
  %2 = ge.concat %0, %r {axis = 1} : (tensor<1x16x4x4xf16>, tensor<1x16x4x4xf16>) -> tensor<1x32x4x4xf16>
  // CHECK: ge.concat {{.*}} -> tensor<1x16x4x4xf16>
  %3 = ge.concat %1, %1 {axis = 1} : (tensor<1x8x4x4xf16>, tensor<1x8x4x4xf16>) -> tensor<1x16x4x4xf16>
  return %2, %3 : tensor<1x32x4x4xf16>, tensor<1x16x4x4xf16>
}

// -----

// Groups are part of the filter's format.
// CHECK-LABEL: func.func @groups
func.func @groups(%x: tensor<1x32x4x4xf16>, %w: tensor<32x1x3x3xf16>) -> tensor<1x32x2x2xf16> {
  // CHECK: layout.transdata %w : {{.*}} -> tensor<32x1x3x3xf16, #layout.fractal_z<n0 = 16, c0 = 16, groups = 32, pad = zero>>
  %0 = ge.conv2d %x, %w {group = 32} : (tensor<1x32x4x4xf16>, tensor<32x1x3x3xf16>) -> tensor<1x32x2x2xf16>
  return %0 : tensor<1x32x2x2xf16>
}

// -----

// The matrix product: a in FRACTAL_NZ, weights in FRACTAL_Z as (N, K) or (K, N). With a bias the padding rows of the
// result are not zero; the next product does not sum over rows.
// CHECK-LABEL: func.func @matmul
func.func @matmul(%x: tensor<1x32xf16>, %w: tensor<64x32xf16>, %v: tensor<64x16xf16>, %b: tensor<64xf32>) -> tensor<1x16xf16> {
  // CHECK-NEXT: %[[X:.*]] = layout.transdata %x : {{.*}} -> tensor<1x32xf16, #layout.fractal_nz<c0 = 16, pad = zero>>
  // CHECK-NEXT: %[[W:.*]] = layout.transdata %w : {{.*}} -> tensor<64x32xf16, #layout.fractal_z<n0 = 16, c0 = 16, groups = 1, pad = zero>>
  // CHECK-NEXT: %[[H:.*]] = ge.matmul %[[X]], %[[W]], %b {{.*}} -> tensor<1x64xf16, #layout.fractal_nz<c0 = 16, pad = finite>>
  // CHECK-NEXT: %[[R:.*]] = ge.relu %[[H]]
  // CHECK-NEXT: %[[V:.*]] = layout.transdata %v : {{.*}} -> tensor<64x16xf16, #layout.fractal_z_kn<n0 = 16, c0 = 16, pad = zero>>
  // CHECK-NEXT: ge.matmul %[[R]], %[[V]]
  // CHECK-NEXT: layout.transdata {{.*}} -> tensor<1x16xf16>
  %0 = ge.matmul %x, %w, %b {transpose_b = true} : (tensor<1x32xf16>, tensor<64x32xf16>, tensor<64xf32>) -> tensor<1x64xf16>
  %1 = ge.relu %0 : (tensor<1x64xf16>) -> tensor<1x64xf16>
  %2 = ge.matmul %1, %v : (tensor<1x64xf16>, tensor<64x16xf16>) -> tensor<1x16xf16>
  return %2 : tensor<1x16xf16>
}

// -----

// The result is needed in ND anyway, so the add in ND saves two conversions (GE's spread would take it along).
// CHECK-LABEL: func.func @counted
func.func @counted(%x: tensor<1x16x4x4xf16>, %y: tensor<1x16x4x4xf16>, %w: tensor<16x16x1x1xf16>) -> (tensor<1x16x4x4xf16>, tensor<1x16x4x4xf16>) {
  %0 = ge.conv2d %x, %w : (tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>) -> tensor<1x16x4x4xf16>
  // CHECK: ge.add {{.*}} -> tensor<1x16x4x4xf16>
  %1 = ge.add %0, %y : (tensor<1x16x4x4xf16>, tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  return %0, %1 : tensor<1x16x4x4xf16>, tensor<1x16x4x4xf16>
}

// -----

// The channels of each pixel are normalized where they lie; scale and bias are read as plain vectors.
// CHECK-LABEL: func.func @channel_norm
func.func @channel_norm(%x: tensor<1x32x4x4xf16>, %s: tensor<32x1x1xf16>, %w: tensor<32x32x1x1xf16>) -> tensor<1x32x4x4xf16> {
  // CHECK: ge.conv2d
  // CHECK-NEXT: ge.layer_norm {{.*}}, %s, %s {axis = 1, last_axis = 1} : (tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>, tensor<32x1x1xf16>, tensor<32x1x1xf16>) -> tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  // CHECK-NEXT: ge.conv2d
  // CHECK-NEXT: layout.transdata
  // CHECK-NEXT: return
  %0 = ge.conv2d %x, %w : (tensor<1x32x4x4xf16>, tensor<32x32x1x1xf16>) -> tensor<1x32x4x4xf16>
  %1 = ge.layer_norm %0, %s, %s {axis = 1, last_axis = 1} : (tensor<1x32x4x4xf16>, tensor<32x1x1xf16>, tensor<32x1x1xf16>) -> tensor<1x32x4x4xf16>
  %2 = ge.conv2d %1, %w : (tensor<1x32x4x4xf16>, tensor<32x32x1x1xf16>) -> tensor<1x32x4x4xf16>
  return %2 : tensor<1x32x4x4xf16>
}

// -----

// Groups of whole blocks of channels are normalized in NC1HWC0, groups of half a block in ND.
// CHECK-LABEL: func.func @group_norm
func.func @group_norm(%x: tensor<1x32x4x4xf16>, %s: tensor<32xf16>, %w: tensor<32x32x1x1xf16>) -> tensor<1x32x4x4xf16> {
  // CHECK: ge.conv2d
  // CHECK-NEXT: %[[N:.*]] = ge.group_norm {{.*}}, %s, %s {groups = 2} : {{.*}} -> tensor<1x32x4x4xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  // CHECK-NEXT: ge.conv2d %[[N]]
  // CHECK-NEXT: layout.transdata
  // CHECK-NEXT: ge.group_norm {{.*}} {groups = 4} : {{.*}} -> tensor<1x32x4x4xf16>
  // CHECK-NEXT: return
  %0 = ge.conv2d %x, %w : (tensor<1x32x4x4xf16>, tensor<32x32x1x1xf16>) -> tensor<1x32x4x4xf16>
  %1 = ge.group_norm %0, %s, %s {groups = 2} : (tensor<1x32x4x4xf16>, tensor<32xf16>, tensor<32xf16>) -> tensor<1x32x4x4xf16>
  %2 = ge.conv2d %1, %w : (tensor<1x32x4x4xf16>, tensor<32x32x1x1xf16>) -> tensor<1x32x4x4xf16>
  %3 = ge.group_norm %2, %s, %s {groups = 4} : (tensor<1x32x4x4xf16>, tensor<32xf16>, tensor<32xf16>) -> tensor<1x32x4x4xf16>
  return %3 : tensor<1x32x4x4xf16>
}

// -----

// Few channels that come in NHWC are converted to blocks: the transpose becomes part of that, which pixels of four know no task for.
// CHECK-LABEL: func.func @few_channels_last
func.func @few_channels_last(%x: tensor<1x8x8x3xf16>) -> tensor<1x32x8x8xf16> {
  // CHECK: layout.transdata {{.*}} : tensor<1x3x8x8xf16> -> tensor<1x3x8x8xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>
  %t = ge.transpose %x {perm = [0, 3, 1, 2]} : (tensor<1x8x8x3xf16>) -> tensor<1x3x8x8xf16>
  %w = ge.constant #ge.weight<"w", sha256 = "0000000000000000000000000000000000000000000000000000000000000000"> : tensor<32x3x3x3xf16>
  %y = ge.conv2d %t, %w {pads = [1, 1, 1, 1]} : (tensor<1x3x8x8xf16>, tensor<32x3x3x3xf16>) -> tensor<1x32x8x8xf16>
  return %y : tensor<1x32x8x8xf16>
}
