// RUN: ge-opt --no-locations --split-batch --split-input-file %s | FileCheck %s

// 8 images of 4 MiB do not stay in an L2 of 16 MiB; those of a part do. The weight is shared, the residual cut as well.
// CHECK-LABEL: func.func @chain
// CHECK-NEXT: %[[W:.*]] = ge.constant
// CHECK-NEXT: %[[A:.*]] = ge.slice %x {starts = [0], ends = [2], axes = [0], steps = [1]}
// CHECK-NEXT: %[[B:.*]] = ge.conv2d %[[A]], %[[W]] : (tensor<2x16x256x512xf16>, tensor<16x16x1x1xf16>) -> tensor<2x16x256x512xf16>
// CHECK-NEXT: %[[C:.*]] = ge.fused ins(%[[B]], %[[A]] : tensor<2x16x256x512xf16>, tensor<2x16x256x512xf16>)
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<2x16x256x512xf16>, %{{.*}}: tensor<2x16x256x512xf16>):
// CHECK-NEXT: ge.relu {{.*}} -> tensor<2x16x256x512xf16>
// CHECK: ge.slice %x {starts = [2], ends = [4], axes = [0], steps = [1]}
// CHECK: ge.slice %x {starts = [6], ends = [8], axes = [0], steps = [1]}
// CHECK: ge.concat %[[C]], {{.*}} {axis = 0} : {{.*}} -> tensor<8x16x256x512xf16>
func.func @chain(%x: tensor<8x16x256x512xf16>) -> tensor<8x16x256x512xf16> {
  %w = ge.constant dense<0.5> : tensor<16x16x1x1xf16>
  %0 = ge.conv2d %x, %w : (tensor<8x16x256x512xf16>, tensor<16x16x1x1xf16>) -> tensor<8x16x256x512xf16>
  %1 = ge.fused ins(%0, %x : tensor<8x16x256x512xf16>, tensor<8x16x256x512xf16>) {anchor = "ge.relu"} {
  ^bb0(%a: tensor<8x16x256x512xf16>, %b: tensor<8x16x256x512xf16>):
    %2 = ge.relu %a : (tensor<8x16x256x512xf16>) -> tensor<8x16x256x512xf16>
    %3 = ge.add %2, %b : (tensor<8x16x256x512xf16>, tensor<8x16x256x512xf16>) -> tensor<8x16x256x512xf16>
    ge.yield %3 : tensor<8x16x256x512xf16>
  } -> tensor<8x16x256x512xf16>
  return %1 : tensor<8x16x256x512xf16>
}

// -----

// What mixes images, or has one, stays whole.
// CHECK-LABEL: func.func @mixed
// CHECK-NOT: ge.slice
func.func @mixed(%x: tensor<8x16x256x512xf16>) -> tensor<1x16x256x512xf16> {
  %0 = ge.relu %x : (tensor<8x16x256x512xf16>) -> tensor<8x16x256x512xf16>
  %1 = ge.reduce_sum %0 {axes = [0]} : (tensor<8x16x256x512xf16>) -> tensor<1x16x256x512xf16>
  %2 = ge.relu %1 : (tensor<1x16x256x512xf16>) -> tensor<1x16x256x512xf16>
  return %2 : tensor<1x16x256x512xf16>
}

// -----

// Small batches stay in the L2 as they are.
// CHECK-LABEL: func.func @small
// CHECK-NOT: ge.slice
func.func @small(%x: tensor<8x16x16x16xf16>) -> tensor<8x16x16x16xf16> {
  %0 = ge.relu %x : (tensor<8x16x16x16xf16>) -> tensor<8x16x16x16xf16>
  %1 = ge.sigmoid %0 : (tensor<8x16x16x16xf16>) -> tensor<8x16x16x16xf16>
  return %1 : tensor<8x16x16x16xf16>
}
