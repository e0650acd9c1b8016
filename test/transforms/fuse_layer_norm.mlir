// RUN: ge-opt --no-locations --fuse-layer-norm --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @divided
// CHECK-NEXT: %[[Y:.*]] = ge.layer_norm %x, %scale, %bias {axis = 2} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<8xf32>)
// CHECK-NEXT: return %[[Y]]
func.func @divided(%x: tensor<2x3x8xf32>, %scale: tensor<8xf32>, %bias: tensor<8xf32>) -> tensor<2x3x8xf32> {
  %eps = ge.constant dense<1.000000e-05> : tensor<f32>
  %m = ge.reduce_mean %x {axes = [2]} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %d = ge.sub %x, %m : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %s = ge.mul %d, %d : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %v = ge.reduce_mean %s {axes = [2]} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %e = ge.add %v, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %r = ge.sqrt %e : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %n = ge.div %d, %r : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %t = ge.mul %scale, %n : (tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %y = ge.add %t, %bias : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  return %y : tensor<2x3x8xf32>
}

// -----

// CHECK-LABEL: func.func @power_and_reciprocal
// CHECK-NEXT: %[[Y:.*]] = ge.layer_norm %x, %scale, %bias {axis = 2} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<8xf32>)
// CHECK-NEXT: return %[[Y]]
func.func @power_and_reciprocal(%x: tensor<2x3x8xf32>, %scale: tensor<8xf32>, %bias: tensor<8xf32>) -> tensor<2x3x8xf32> {
  %eps = ge.constant dense<1.000000e-05> : tensor<f32>
  %m = ge.reduce_mean %x {axes = [2]} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %d = ge.sub %x, %m : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %two = ge.constant dense<2.0> : tensor<f32>
  %s = ge.pow %d, %two : (tensor<2x3x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
  %v = ge.reduce_mean %s {axes = [2]} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %e = ge.add %v, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %r = ge.sqrt %e : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %i = ge.reciprocal %r : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %n = ge.mul %i, %d : (tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %t = ge.mul %scale, %n : (tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %y = ge.add %t, %bias : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  return %y : tensor<2x3x8xf32>
}

// -----

// CHECK-LABEL: func.func @one_by_root
// CHECK-NEXT: %[[Y:.*]] = ge.layer_norm %x, %scale, %bias {axis = 2} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<8xf32>)
// CHECK-NEXT: return %[[Y]]
func.func @one_by_root(%x: tensor<2x3x8xf32>, %scale: tensor<8xf32>, %bias: tensor<8xf32>) -> tensor<2x3x8xf32> {
  %eps = ge.constant dense<1.000000e-05> : tensor<f32>
  %m = ge.reduce_mean %x {axes = [2]} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %d = ge.sub %x, %m : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %s = ge.mul %d, %d : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %v = ge.reduce_mean %s {axes = [2]} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %e = ge.add %v, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %r = ge.sqrt %e : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %o = ge.constant dense<1.0> : tensor<f32>
  %i = ge.div %o, %r : (tensor<f32>, tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %n = ge.mul %i, %d : (tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %t = ge.mul %scale, %n : (tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %y = ge.add %t, %bias : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  return %y : tensor<2x3x8xf32>
}

// -----

// CHECK-LABEL: func.func @power_of_minus_half
// CHECK-NEXT: %[[Y:.*]] = ge.layer_norm %x, %scale, %bias {axis = 2} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<8xf32>)
// CHECK-NEXT: return %[[Y]]
func.func @power_of_minus_half(%x: tensor<2x3x8xf32>, %scale: tensor<8xf32>, %bias: tensor<8xf32>) -> tensor<2x3x8xf32> {
  %eps = ge.constant dense<1.000000e-05> : tensor<f32>
  %m = ge.reduce_mean %x {axes = [2]} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %d = ge.sub %x, %m : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %s = ge.mul %d, %d : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %v = ge.reduce_mean %s {axes = [2]} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %e = ge.add %eps, %v : (tensor<f32>, tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %p = ge.constant dense<-0.5> : tensor<f32>
  %r = ge.pow %e, %p : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %n = ge.mul %r, %d : (tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %t = ge.mul %scale, %n : (tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %y = ge.add %t, %bias : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  return %y : tensor<2x3x8xf32>
}

// -----

// CHECK-LABEL: func.func @without_scale
// CHECK: %[[ONES:.*]] = ge.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT: ge.layer_norm %x, %[[ONES]] {axis = 2}
func.func @without_scale(%x: tensor<2x3x8xf32>) -> tensor<2x3x8xf32> {
  %eps = ge.constant dense<1.000000e-05> : tensor<f32>
  %m = ge.reduce_mean %x {axes = [2]} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %d = ge.sub %x, %m : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %s = ge.mul %d, %d : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %v = ge.reduce_mean %s {axes = [2]} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %e = ge.add %v, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %r = ge.sqrt %e : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %n = ge.div %d, %r : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  return %n : tensor<2x3x8xf32>
}

// -----

// A scale that varies from row to row is not of the operator: it stays behind.
// CHECK-LABEL: func.func @scale_by_row
// CHECK: %[[N:.*]] = ge.layer_norm %x
// CHECK-NEXT: ge.mul %scale, %[[N]]
func.func @scale_by_row(%x: tensor<2x3x8xf32>, %scale: tensor<3x1xf32>) -> tensor<2x3x8xf32> {
  %eps = ge.constant dense<1.000000e-05> : tensor<f32>
  %m = ge.reduce_mean %x {axes = [2]} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %d = ge.sub %x, %m : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %s = ge.mul %d, %d : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %v = ge.reduce_mean %s {axes = [2]} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %e = ge.add %v, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %r = ge.sqrt %e : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %n = ge.div %d, %r : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %t = ge.mul %scale, %n : (tensor<3x1xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  return %t : tensor<2x3x8xf32>
}

// -----

// CHECK-LABEL: func.func @two_axes
// CHECK: ge.layer_norm %x, %{{.*}} {axis = 1}
func.func @two_axes(%x: tensor<2x3x8xf32>) -> tensor<2x3x8xf32> {
  %eps = ge.constant dense<1.000000e-05> : tensor<f32>
  %m = ge.reduce_mean %x {axes = [1, 2]} : (tensor<2x3x8xf32>) -> tensor<2x1x1xf32>
  %d = ge.sub %x, %m : (tensor<2x3x8xf32>, tensor<2x1x1xf32>) -> tensor<2x3x8xf32>
  %s = ge.mul %d, %d : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %v = ge.reduce_mean %s {axes = [1, 2]} : (tensor<2x3x8xf32>) -> tensor<2x1x1xf32>
  %e = ge.add %v, %eps : (tensor<2x1x1xf32>, tensor<f32>) -> tensor<2x1x1xf32>
  %r = ge.sqrt %e : (tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
  %n = ge.div %d, %r : (tensor<2x3x8xf32>, tensor<2x1x1xf32>) -> tensor<2x3x8xf32>
  return %n : tensor<2x3x8xf32>
}

// -----

// Axes that are not the last ones, as the channels of an image; what varies along others stays outside.
// CHECK-LABEL: func.func @middle_axis
// CHECK: %[[N:.*]] = ge.layer_norm %x, {{.*}} {axis = 1, last_axis = 1} : (tensor<2x3x8xf32>, tensor<3x1xf32>) -> tensor<2x3x8xf32>
// CHECK-NEXT: ge.mul %scale, %[[N]]
// CHECK-NEXT: ge.add
func.func @middle_axis(%x: tensor<2x3x8xf32>, %scale: tensor<8xf32>, %bias: tensor<8xf32>) -> tensor<2x3x8xf32> {
  %eps = ge.constant dense<1.000000e-05> : tensor<f32>
  %m = ge.reduce_mean %x {axes = [1]} : (tensor<2x3x8xf32>) -> tensor<2x1x8xf32>
  %d = ge.sub %x, %m : (tensor<2x3x8xf32>, tensor<2x1x8xf32>) -> tensor<2x3x8xf32>
  %s = ge.mul %d, %d : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %v = ge.reduce_mean %s {axes = [1]} : (tensor<2x3x8xf32>) -> tensor<2x1x8xf32>
  %e = ge.add %v, %eps : (tensor<2x1x8xf32>, tensor<f32>) -> tensor<2x1x8xf32>
  %r = ge.sqrt %e : (tensor<2x1x8xf32>) -> tensor<2x1x8xf32>
  %n = ge.div %d, %r : (tensor<2x3x8xf32>, tensor<2x1x8xf32>) -> tensor<2x3x8xf32>
  %t = ge.mul %scale, %n : (tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %y = ge.add %t, %bias : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  return %y : tensor<2x3x8xf32>
}

// -----

// CHECK-LABEL: func.func @channels
// CHECK-NEXT: %[[Y:.*]] = ge.layer_norm %x, %scale, %bias {axis = 1, last_axis = 1} : (tensor<2x3x8x8xf32>, tensor<3x1x1xf32>, tensor<3x1x1xf32>)
// CHECK-NEXT: return %[[Y]]
func.func @channels(%x: tensor<2x3x8x8xf32>, %scale: tensor<3x1x1xf32>, %bias: tensor<3x1x1xf32>) -> tensor<2x3x8x8xf32> {
  %eps = ge.constant dense<1.000000e-05> : tensor<f32>
  %m = ge.reduce_mean %x {axes = [1]} : (tensor<2x3x8x8xf32>) -> tensor<2x1x8x8xf32>
  %d = ge.sub %x, %m : (tensor<2x3x8x8xf32>, tensor<2x1x8x8xf32>) -> tensor<2x3x8x8xf32>
  %s = ge.mul %d, %d : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %v = ge.reduce_mean %s {axes = [1]} : (tensor<2x3x8x8xf32>) -> tensor<2x1x8x8xf32>
  %e = ge.add %v, %eps : (tensor<2x1x8x8xf32>, tensor<f32>) -> tensor<2x1x8x8xf32>
  %r = ge.sqrt %e : (tensor<2x1x8x8xf32>) -> tensor<2x1x8x8xf32>
  %n = ge.div %d, %r : (tensor<2x3x8x8xf32>, tensor<2x1x8x8xf32>) -> tensor<2x3x8x8xf32>
  %t = ge.mul %scale, %n : (tensor<3x1x1xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %y = ge.add %t, %bias : (tensor<2x3x8x8xf32>, tensor<3x1x1xf32>) -> tensor<2x3x8x8xf32>
  return %y : tensor<2x3x8x8xf32>
}

// -----

// Epsilon is added to the root.
// CHECK-LABEL: func.func @epsilon_outside
// CHECK-NOT: ge.layer_norm
func.func @epsilon_outside(%x: tensor<2x3x8xf32>, %scale: tensor<8xf32>, %bias: tensor<8xf32>) -> tensor<2x3x8xf32> {
  %eps = ge.constant dense<1.000000e-05> : tensor<f32>
  %m = ge.reduce_mean %x {axes = [2]} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %d = ge.sub %x, %m : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %s = ge.mul %d, %d : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %v = ge.reduce_mean %s {axes = [2]} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %q = ge.sqrt %v : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %r = ge.add %q, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %n = ge.div %d, %r : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %t = ge.mul %scale, %n : (tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %y = ge.add %t, %bias : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  return %y : tensor<2x3x8xf32>
}

// -----

// CHECK-LABEL: func.func @mean_of_another
// CHECK-NOT: ge.layer_norm
func.func @mean_of_another(%x: tensor<2x3x8xf32>, %z: tensor<2x3x8xf32>, %scale: tensor<8xf32>, %bias: tensor<8xf32>) -> tensor<2x3x8xf32> {
  %eps = ge.constant dense<1.000000e-05> : tensor<f32>
  %m = ge.reduce_mean %z {axes = [2]} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %d = ge.sub %x, %m : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %s = ge.mul %d, %d : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %v = ge.reduce_mean %s {axes = [2]} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %e = ge.add %v, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %r = ge.sqrt %e : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %n = ge.div %d, %r : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %t = ge.mul %scale, %n : (tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %y = ge.add %t, %bias : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  return %y : tensor<2x3x8xf32>
}

// -----

// CHECK-LABEL: func.func @variance_leaves
// CHECK-NOT: ge.layer_norm
func.func @variance_leaves(%x: tensor<2x3x8xf32>, %scale: tensor<8xf32>, %bias: tensor<8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x1xf32>) {
  %eps = ge.constant dense<1.000000e-05> : tensor<f32>
  %m = ge.reduce_mean %x {axes = [2]} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %d = ge.sub %x, %m : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %s = ge.mul %d, %d : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %v = ge.reduce_mean %s {axes = [2]} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %e = ge.add %v, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %r = ge.sqrt %e : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %n = ge.div %d, %r : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %t = ge.mul %scale, %n : (tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %y = ge.add %t, %bias : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  return %y, %v : tensor<2x3x8xf32>, tensor<2x3x1xf32>
}

// -----

// CHECK-LABEL: func.func @centred_leaves
// CHECK-NOT: ge.layer_norm
func.func @centred_leaves(%x: tensor<2x3x8xf32>, %scale: tensor<8xf32>, %bias: tensor<8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>) {
  %eps = ge.constant dense<1.000000e-05> : tensor<f32>
  %m = ge.reduce_mean %x {axes = [2]} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %d = ge.sub %x, %m : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %s = ge.mul %d, %d : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %v = ge.reduce_mean %s {axes = [2]} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %e = ge.add %v, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %r = ge.sqrt %e : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %n = ge.div %d, %r : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %t = ge.mul %scale, %n : (tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %y = ge.add %t, %bias : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  return %y, %d : tensor<2x3x8xf32>, tensor<2x3x8xf32>
}

// -----

// CHECK-LABEL: func.func @negative_epsilon
// CHECK-NOT: ge.layer_norm
func.func @negative_epsilon(%x: tensor<2x3x8xf32>, %scale: tensor<8xf32>, %bias: tensor<8xf32>) -> tensor<2x3x8xf32> {
  %eps = ge.constant dense<-1.000000e-05> : tensor<f32>
  %m = ge.reduce_mean %x {axes = [2]} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %d = ge.sub %x, %m : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %s = ge.mul %d, %d : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %v = ge.reduce_mean %s {axes = [2]} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %e = ge.add %v, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %r = ge.sqrt %e : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %n = ge.div %d, %r : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %t = ge.mul %scale, %n : (tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %y = ge.add %t, %bias : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  return %y : tensor<2x3x8xf32>
}

// -----

// As TensorFlow writes it: the mean of squares less the square of the mean, axes dropped and restored, the scale first.
// CHECK-LABEL: func.func @mean_of_squares
// CHECK: %[[W:.*]] = ge.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK: %[[Y:.*]] = ge.layer_norm %x, %{{.*}}, %bias {axis = 1, epsilon = 1.000000e-03} : (tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>)
// CHECK-NEXT: return %[[Y]]
func.func @mean_of_squares(%x: tensor<3x2xf32>, %bias: tensor<2xf32>) -> tensor<3x2xf32> {
  %eps = ge.constant dense<0.001> : tensor<f32>
  %half = ge.constant dense<0.5> : tensor<f32>
  %zero = ge.constant dense<0.0> : tensor<f32>
  %scale = ge.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %0 = ge.reduce_sum %x {axes = [1], keepdims = false} : (tensor<3x2xf32>) -> tensor<3xf32>
  %1 = ge.mul %0, %half : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %2 = ge.mul %x, %x : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %3 = ge.reduce_sum %2 {axes = [1], keepdims = false} : (tensor<3x2xf32>) -> tensor<3xf32>
  %4 = ge.mul %3, %half : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %5 = ge.mul %1, %1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %6 = ge.sub %4, %5 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %7 = ge.maximum %zero, %6 : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32>
  %8 = ge.reshape %7 {shape = [3, 1]} : (tensor<3xf32>) -> tensor<3x1xf32>
  %9 = ge.add %8, %eps : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
  %10 = ge.sqrt %9 : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %11 = ge.reciprocal %10 : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %12 = ge.mul %11, %scale : (tensor<3x1xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
  %13 = ge.reshape %1 {shape = [3, 1]} : (tensor<3xf32>) -> tensor<3x1xf32>
  %14 = ge.sub %x, %13 : (tensor<3x2xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
  %15 = ge.mul %14, %12 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %16 = ge.add %15, %bias : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  return %16 : tensor<3x2xf32>
}

// -----

// The factor is not one by the number of elements.
// CHECK-LABEL: func.func @other_factor
// CHECK-NOT: ge.layer_norm
func.func @other_factor(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %eps = ge.constant dense<0.001> : tensor<f32>
  %half = ge.constant dense<0.4> : tensor<f32>
  %0 = ge.reduce_sum %x {axes = [1]} : (tensor<3x2xf32>) -> tensor<3x1xf32>
  %1 = ge.mul %0, %half : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
  %2 = ge.sub %x, %1 : (tensor<3x2xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
  %3 = ge.mul %2, %2 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %4 = ge.reduce_mean %3 {axes = [1]} : (tensor<3x2xf32>) -> tensor<3x1xf32>
  %5 = ge.add %4, %eps : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
  %6 = ge.sqrt %5 : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %7 = ge.div %2, %6 : (tensor<3x2xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
  return %7 : tensor<3x2xf32>
}

// -----

// Means of rows laid along the columns of a square matrix.
// CHECK-LABEL: func.func @other_way
// CHECK-NOT: ge.layer_norm
func.func @other_way(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %eps = ge.constant dense<0.001> : tensor<f32>
  %0 = ge.reduce_mean %x {axes = [1], keepdims = false} : (tensor<4x4xf32>) -> tensor<4xf32>
  %1 = ge.sub %x, %0 : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %2 = ge.mul %1, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = ge.reduce_mean %2 {axes = [1], keepdims = false} : (tensor<4x4xf32>) -> tensor<4xf32>
  %4 = ge.add %3, %eps : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %5 = ge.sqrt %4 : (tensor<4xf32>) -> tensor<4xf32>
  %6 = ge.div %1, %5 : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  return %6 : tensor<4x4xf32>
}
