// RUN: ge-opt --no-locations --fuse-rms-norm --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @power_and_reciprocal
// CHECK-NEXT: %[[Y:.*]] = ge.rms_norm %x, %scale {axis = 2, epsilon = 1.000000e-06} : (tensor<2x3x8xf32>, tensor<8xf32>)
// CHECK-NEXT: return %[[Y]]
func.func @power_and_reciprocal(%x: tensor<2x3x8xf32>, %scale: tensor<8xf32>) -> tensor<2x3x8xf32> {
  %two = ge.constant dense<2.0> : tensor<f32>
  %eps = ge.constant dense<1.0e-06> : tensor<f32>
  %0 = ge.pow %x, %two : (tensor<2x3x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
  %1 = ge.reduce_mean %0 {axes = [-1]} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %2 = ge.add %1, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %3 = ge.sqrt %2 : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %4 = ge.reciprocal %3 : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %5 = ge.mul %x, %4 : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %6 = ge.mul %scale, %5 : (tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  return %6 : tensor<2x3x8xf32>
}

// -----

// Llama in fp16: the norm in fp32 between two casts, the scale behind. The operator keeps fp32 inside.
// CHECK-LABEL: func.func @between_casts
// CHECK-NEXT: %[[Y:.*]] = ge.rms_norm %x, %scale {axis = 1, epsilon = 1.000000e-06} : (tensor<3x8xf16>, tensor<8xf16>)
// CHECK-NEXT: return %[[Y]]
func.func @between_casts(%x: tensor<3x8xf16>, %scale: tensor<8xf16>) -> tensor<3x8xf16> {
  %eps = ge.constant dense<1.0e-06> : tensor<f32>
  %one = ge.constant dense<1.0> : tensor<f32>
  %w = ge.cast %x : (tensor<3x8xf16>) -> tensor<3x8xf32>
  %0 = ge.mul %w, %w : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %1 = ge.reduce_mean %0 {axes = [1]} : (tensor<3x8xf32>) -> tensor<3x1xf32>
  %2 = ge.add %1, %eps : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
  %3 = ge.sqrt %2 : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %4 = ge.div %one, %3 : (tensor<f32>, tensor<3x1xf32>) -> tensor<3x1xf32>
  %5 = ge.mul %w, %4 : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
  %6 = ge.cast %5 : (tensor<3x8xf32>) -> tensor<3x8xf16>
  %7 = ge.mul %6, %scale : (tensor<3x8xf16>, tensor<8xf16>) -> tensor<3x8xf16>
  return %7 : tensor<3x8xf16>
}

// -----

// Nothing casts back to the type it came from: the norm stays in fp32.
// CHECK-LABEL: func.func @cast_to_another_type
// CHECK: %[[W:.*]] = ge.cast %x
// CHECK: %[[N:.*]] = ge.rms_norm %[[W]], %{{.*}} : (tensor<3x8xf32>, tensor<8xf32>)
// CHECK-NEXT: ge.cast %[[N]]
func.func @cast_to_another_type(%x: tensor<3x8xbf16>) -> tensor<3x8xf16> {
  %eps = ge.constant dense<1.0e-05> : tensor<f32>
  %w = ge.cast %x : (tensor<3x8xbf16>) -> tensor<3x8xf32>
  %0 = ge.mul %w, %w : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %1 = ge.reduce_mean %0 {axes = [1]} : (tensor<3x8xf32>) -> tensor<3x1xf32>
  %2 = ge.add %1, %eps : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
  %3 = ge.sqrt %2 : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %4 = ge.div %w, %3 : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
  %5 = ge.cast %4 : (tensor<3x8xf32>) -> tensor<3x8xf16>
  return %5 : tensor<3x8xf16>
}

// -----

// CHECK-LABEL: func.func @squares_of_another
// CHECK-NOT: ge.rms_norm
func.func @squares_of_another(%x: tensor<3x8xf32>, %z: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %eps = ge.constant dense<1.0e-05> : tensor<f32>
  %0 = ge.mul %z, %z : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %1 = ge.reduce_mean %0 {axes = [1]} : (tensor<3x8xf32>) -> tensor<3x1xf32>
  %2 = ge.add %1, %eps : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
  %3 = ge.sqrt %2 : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %4 = ge.div %x, %3 : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
  return %4 : tensor<3x8xf32>
}

// -----

// x by the root is a norm, the root by x is not; and a root that is read twice stays.
// CHECK-LABEL: func.func @upside_down
// CHECK-NOT: ge.rms_norm
func.func @upside_down(%x: tensor<3x8xf32>) -> (tensor<3x8xf32>, tensor<3x8xf32>) {
  %eps = ge.constant dense<1.0e-05> : tensor<f32>
  %0 = ge.mul %x, %x : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %1 = ge.reduce_mean %0 {axes = [1]} : (tensor<3x8xf32>) -> tensor<3x1xf32>
  %2 = ge.add %1, %eps : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
  %3 = ge.sqrt %2 : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %4 = ge.div %3, %x : (tensor<3x1xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %5 = ge.sqrt %2 : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %6 = ge.div %x, %5 : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
  return %4, %6 : tensor<3x8xf32>, tensor<3x8xf32>
}

// -----

// A third power is no square.
// CHECK-LABEL: func.func @cubes
// CHECK-NOT: ge.rms_norm
func.func @cubes(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %three = ge.constant dense<3.0> : tensor<f32>
  %eps = ge.constant dense<1.0e-05> : tensor<f32>
  %0 = ge.pow %x, %three : (tensor<3x8xf32>, tensor<f32>) -> tensor<3x8xf32>
  %1 = ge.reduce_mean %0 {axes = [1]} : (tensor<3x8xf32>) -> tensor<3x1xf32>
  %2 = ge.add %1, %eps : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
  %3 = ge.sqrt %2 : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %4 = ge.div %x, %3 : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
  return %4 : tensor<3x8xf32>
}
