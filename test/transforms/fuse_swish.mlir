// RUN: ge-opt --no-locations --fuse-swish --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @silu
// CHECK-NEXT: %[[Y:.*]] = ge.swish %x : (tensor<2x8xf32>)
// CHECK-NEXT: return %[[Y]]
func.func @silu(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %0 = ge.sigmoid %x : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = ge.mul %0, %x : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}

// -----

// CHECK-LABEL: func.func @fast_gelu
// CHECK-NEXT: %[[Y:.*]] = ge.swish %x {alpha = 1.702{{.*}}}
// CHECK-NEXT: return %[[Y]]
func.func @fast_gelu(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %c = ge.constant dense<1.702> : tensor<f32>
  %0 = ge.mul %x, %c : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %1 = ge.sigmoid %0 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = ge.mul %x, %1 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %2 : tensor<2x8xf32>
}

// -----

// CHECK-LABEL: func.func @hard_swish_of_clip
// CHECK-NEXT: %[[Y:.*]] = ge.hard_swish %x
// CHECK-NEXT: return %[[Y]]
func.func @hard_swish_of_clip(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %three = ge.constant dense<3.0> : tensor<f32>
  %six = ge.constant dense<6.0> : tensor<f32>
  %0 = ge.add %x, %three : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %1 = ge.clip %0 {min = 0.0, max = 6.0} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = ge.mul %x, %1 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %3 = ge.div %2, %six : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  return %3 : tensor<2x8xf32>
}

// -----

// The gate is divided first, and limited by a relu and a minimum.
// CHECK-LABEL: func.func @hard_swish_of_minimum
// CHECK-NEXT: %[[Y:.*]] = ge.hard_swish %x
// CHECK-NEXT: return %[[Y]]
func.func @hard_swish_of_minimum(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %three = ge.constant dense<3.0> : tensor<f32>
  %six = ge.constant dense<6.0> : tensor<f32>
  %sixth = ge.constant dense<0.166666672> : tensor<f32>
  %0 = ge.add %three, %x : (tensor<f32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = ge.relu %0 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = ge.minimum %1, %six : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %3 = ge.mul %2, %sixth : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %4 = ge.mul %x, %3 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %4 : tensor<2x8xf32>
}

// -----

// CHECK-LABEL: func.func @hard_swish_of_hard_sigmoid
// CHECK-NEXT: %[[Y:.*]] = ge.hard_swish %x
// CHECK-NEXT: return %[[Y]]
func.func @hard_swish_of_hard_sigmoid(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %0 = ge.hard_sigmoid %x {alpha = 0.166666672} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = ge.mul %x, %0 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}

// -----

// CHECK-LABEL: func.func @mish
// CHECK-NEXT: %[[Y:.*]] = ge.mish %x
// CHECK-NEXT: return %[[Y]]
func.func @mish(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %0 = ge.softplus %x : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = ge.tanh %0 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = ge.mul %x, %1 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %2 : tensor<2x8xf32>
}

// -----

// A gate computed from another tensor, as in squeeze-and-excite blocks: also one that is broadcast.
// CHECK-LABEL: func.func @gate
// CHECK-NOT: ge.swish
func.func @gate(%x: tensor<2x8xf32>, %g: tensor<2x1xf32>) -> tensor<2x8xf32> {
  %0 = ge.sigmoid %g : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %1 = ge.mul %x, %0 : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}

// -----

// CHECK-LABEL: func.func @sigmoid_leaves_the_graph
// CHECK-NOT: ge.swish
func.func @sigmoid_leaves_the_graph(%x: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %0 = ge.sigmoid %x : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = ge.mul %0, %x : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %0, %1 : tensor<2x8xf32>, tensor<2x8xf32>
}

// -----

// A slope of 1/5 is another function.
// CHECK-LABEL: func.func @other_slope
// CHECK-NOT: ge.hard_swish
func.func @other_slope(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %0 = ge.hard_sigmoid %x {alpha = 0.2} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = ge.mul %x, %0 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}

// -----

// Integers divide otherwise.
// CHECK-LABEL: func.func @integers
// CHECK-NOT: ge.hard_swish
func.func @integers(%x: tensor<2x8xi32>) -> tensor<2x8xi32> {
  %three = ge.constant dense<3> : tensor<i32>
  %six = ge.constant dense<6> : tensor<i32>
  %0 = ge.add %x, %three : (tensor<2x8xi32>, tensor<i32>) -> tensor<2x8xi32>
  %1 = ge.clip %0 {min = 0.0, max = 6.0} : (tensor<2x8xi32>) -> tensor<2x8xi32>
  %2 = ge.mul %x, %1 : (tensor<2x8xi32>, tensor<2x8xi32>) -> tensor<2x8xi32>
  %3 = ge.div %2, %six : (tensor<2x8xi32>, tensor<i32>) -> tensor<2x8xi32>
  return %3 : tensor<2x8xi32>
}
