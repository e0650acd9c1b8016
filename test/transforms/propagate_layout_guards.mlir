// RUN: ge-opt --no-locations --propagate-layout --split-input-file %s | FileCheck %s
// Where the Cube's formats do not spread to, and where they must not.

// Without a heavy operator nobody asks for them.
// CHECK-LABEL: func.func @vector_only
// CHECK-NOT: layout
func.func @vector_only(%x: tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16> {
  %0 = ge.relu %x : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  return %0 : tensor<1x16x4x4xf16>
}

// -----

// Other operators stay ND, and so do elementwise operators behind them with another rank.
// CHECK-LABEL: func.func @others
func.func @others(%x: tensor<1x16x4x4xf16>, %w: tensor<16x16x1x1xf16>) -> tensor<16x16xf16> {
  // CHECK: ge.conv2d
  // CHECK-NEXT: layout.transdata {{.*}} -> tensor<1x16x4x4xf16>
  // CHECK-NEXT: ge.softmax {{.*}} -> tensor<1x16x4x4xf16>
  // CHECK-NEXT: ge.reshape {{.*}} -> tensor<16x16xf16>
  // CHECK-NEXT: ge.relu {{.*}} -> tensor<16x16xf16>
  %0 = ge.conv2d %x, %w : (tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>) -> tensor<1x16x4x4xf16>
  %1 = ge.softmax %0 {axis = 1} : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %2 = ge.reshape %1 {shape = [16, 16]} : (tensor<1x16x4x4xf16>) -> tensor<16x16xf16>
  %3 = ge.relu %2 : (tensor<16x16xf16>) -> tensor<16x16xf16>
  return %3 : tensor<16x16xf16>
}

// -----

// A broadcast along the channels has no lanes to offer: ND.
// CHECK-LABEL: func.func @channel_broadcast
func.func @channel_broadcast(%x: tensor<1x16x4x4xf16>, %w: tensor<16x16x1x1xf16>, %m: tensor<1x1x4x4xf16>) -> tensor<1x16x4x4xf16> {
  // CHECK: ge.mul {{.*}} : (tensor<1x16x4x4xf16>, tensor<1x1x4x4xf16>) -> tensor<1x16x4x4xf16>
  %0 = ge.conv2d %x, %w : (tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>) -> tensor<1x16x4x4xf16>
  %1 = ge.mul %0, %m : (tensor<1x16x4x4xf16>, tensor<1x1x4x4xf16>) -> tensor<1x16x4x4xf16>
  return %1 : tensor<1x16x4x4xf16>
}

// -----

// One conversion serves all users; a cast with a second user stays beside it.
// CHECK-LABEL: func.func @shared
func.func @shared(%x: tensor<1x16x4x4xf32>, %w: tensor<16x16x1x1xf16>) -> (tensor<1x16x4x4xf16>, tensor<1x16x4x4xf16>, tensor<1x16x4x4xf16>) {
  // CHECK: %[[H:.*]] = ge.cast %x
  // CHECK: layout.transdata %[[H]]
  // CHECK-NOT: layout.transdata %[[H]]
  %h = ge.cast %x : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf16>
  %0 = ge.conv2d %h, %w : (tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>) -> tensor<1x16x4x4xf16>
  %1 = ge.conv2d %h, %w : (tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>) -> tensor<1x16x4x4xf16>
  // CHECK: return
  return %0, %1, %h : tensor<1x16x4x4xf16>, tensor<1x16x4x4xf16>, tensor<1x16x4x4xf16>
}

// -----

// Integers have no NC1HWC0 kernel; a pool of them stays ND.
// CHECK-LABEL: func.func @integers
// CHECK-NOT: layout
func.func @integers(%x: tensor<1x16x4x4xi32>) -> tensor<1x16x2x2xi32> {
  %0 = ge.max_pool %x {kernel = [2, 2], strides = [2, 2]} : (tensor<1x16x4x4xi32>) -> tensor<1x16x2x2xi32>
  return %0 : tensor<1x16x2x2xi32>
}

// -----

// A product of wide integers is no work for the Cube, which multiplies int8 and halves: nothing is brought into fractals.
// CHECK-LABEL: @wide_integers
// CHECK-NOT: layout.
func.func @wide_integers(%a: tensor<2x3xi32>, %b: tensor<3x4xi32>) -> tensor<2x4xi32> {
  %y = ge.matmul %a, %b : (tensor<2x3xi32>, tensor<3x4xi32>) -> tensor<2x4xi32>
  func.return %y : tensor<2x4xi32>
}
