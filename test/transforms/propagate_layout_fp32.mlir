// RUN: ge-opt --no-locations --propagate-layout=soc=Ascend910B3 --split-input-file %s | FileCheck %s
// A Cube that multiplies fp32 takes feature maps in blocks of 8 channels, and filters in fractals of 16 x 8.

// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = layout.transdata %x : tensor<1x24x14x14xf32> -> tensor<1x24x14x14xf32, #layout.nc1hwc0<c0 = 8, pad = zero>>
// CHECK: %[[W:.*]] = layout.transdata %w : tensor<40x24x1x1xf32> -> tensor<40x24x1x1xf32, #layout.fractal_z<n0 = 16, c0 = 8, groups = 1, pad = zero>>
// CHECK: ge.conv2d %[[X]], %[[W]] {{.*}} -> tensor<1x40x14x14xf32, #layout.nc1hwc0<c0 = 8, pad = zero>>
// CHECK: layout.transdata {{.*}} -> tensor<1x40x14x14xf32>
func.func @main(%x: tensor<1x24x14x14xf32>, %w: tensor<40x24x1x1xf32>) -> tensor<1x40x14x14xf32> {
  %y = ge.conv2d %x, %w : (tensor<1x24x14x14xf32>, tensor<40x24x1x1xf32>) -> tensor<1x40x14x14xf32>
  func.return %y : tensor<1x40x14x14xf32>
}

// -----

// Products of this chip are plain in every type.

// CHECK-LABEL: func.func @main
// CHECK-NOT: layout.transdata
// CHECK: ge.matmul %a, %b
func.func @main(%a: tensor<24x40xf32>, %b: tensor<40x8xf32>) -> tensor<24x8xf32> {
  %y = ge.matmul %a, %b : (tensor<24x40xf32>, tensor<40x8xf32>) -> tensor<24x8xf32>
  func.return %y : tensor<24x8xf32>
}
