// RUN: ge-opt --no-locations --fuse-gelu --split-input-file %s | FileCheck %s

// As torch.onnx writes it.
// CHECK-LABEL: func.func @of_erf
// CHECK-NEXT: %[[Y:.*]] = ge.gelu %x : (tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @of_erf(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %root = ge.constant dense<1.41421354> : tensor<f32>
  %one = ge.constant dense<1.0> : tensor<f32>
  %half = ge.constant dense<0.5> : tensor<f32>
  %0 = ge.div %x, %root : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %1 = ge.erf %0 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = ge.add %1, %one : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %3 = ge.mul %x, %2 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %4 = ge.mul %3, %half : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  return %4 : tensor<2x8xf32>
}

// -----

// The half inside the sum, x behind: 0.5 + erf / 2, times x.
// CHECK-LABEL: func.func @half_inside
// CHECK-NEXT: %[[Y:.*]] = ge.gelu %x
// CHECK-NEXT: return %[[Y]]
func.func @half_inside(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %factor = ge.constant dense<0.707106769> : tensor<1x1xf32>
  %two = ge.constant dense<2.0> : tensor<f32>
  %half = ge.constant dense<0.5> : tensor<f32>
  %0 = ge.mul %factor, %x : (tensor<1x1xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = ge.erf %0 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = ge.div %1, %two : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %3 = ge.add %half, %2 : (tensor<f32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %4 = ge.mul %3, %x : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %4 : tensor<2x8xf32>
}

// -----

// x / 2 first, in fp16, whose constants are rounded.
// CHECK-LABEL: func.func @half_first
// CHECK-NEXT: %[[Y:.*]] = ge.gelu %x : (tensor<2x8xf16>)
// CHECK-NEXT: return %[[Y]]
func.func @half_first(%x: tensor<2x8xf16>) -> tensor<2x8xf16> {
  %factor = ge.constant dense<0.70703125> : tensor<f16>
  %one = ge.constant dense<1.0> : tensor<f16>
  %half = ge.constant dense<0.5> : tensor<f16>
  %0 = ge.mul %x, %half : (tensor<2x8xf16>, tensor<f16>) -> tensor<2x8xf16>
  %1 = ge.mul %x, %factor : (tensor<2x8xf16>, tensor<f16>) -> tensor<2x8xf16>
  %2 = ge.erf %1 : (tensor<2x8xf16>) -> tensor<2x8xf16>
  %3 = ge.add %one, %2 : (tensor<f16>, tensor<2x8xf16>) -> tensor<2x8xf16>
  %4 = ge.mul %0, %3 : (tensor<2x8xf16>, tensor<2x8xf16>) -> tensor<2x8xf16>
  return %4 : tensor<2x8xf16>
}

// -----

// CHECK-LABEL: func.func @of_tanh
// CHECK-NEXT: %[[Y:.*]] = ge.gelu %x {approximate = "tanh"}
// CHECK-NEXT: return %[[Y]]
func.func @of_tanh(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %three = ge.constant dense<3.0> : tensor<f32>
  %small = ge.constant dense<0.044715> : tensor<f32>
  %factor = ge.constant dense<0.797884583> : tensor<f32>
  %one = ge.constant dense<1.0> : tensor<f32>
  %half = ge.constant dense<0.5> : tensor<f32>
  %0 = ge.pow %x, %three : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %1 = ge.mul %0, %small : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %2 = ge.add %x, %1 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %3 = ge.mul %2, %factor : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %4 = ge.tanh %3 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %5 = ge.add %4, %one : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %6 = ge.mul %x, %half : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %7 = ge.mul %6, %5 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %7 : tensor<2x8xf32>
}

// -----

// CHECK-LABEL: func.func @another_half
// CHECK-NOT: ge.gelu
func.func @another_half(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %root = ge.constant dense<1.41421354> : tensor<f32>
  %one = ge.constant dense<1.0> : tensor<f32>
  %half = ge.constant dense<0.5001> : tensor<f32>
  %0 = ge.div %x, %root : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %1 = ge.erf %0 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = ge.add %1, %one : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %3 = ge.mul %x, %2 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %4 = ge.mul %3, %half : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  return %4 : tensor<2x8xf32>
}

// -----

// CHECK-LABEL: func.func @sum_leaves_the_graph
// CHECK-NOT: ge.gelu
func.func @sum_leaves_the_graph(%x: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %root = ge.constant dense<1.41421354> : tensor<f32>
  %one = ge.constant dense<1.0> : tensor<f32>
  %half = ge.constant dense<0.5> : tensor<f32>
  %0 = ge.div %x, %root : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %1 = ge.erf %0 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = ge.add %1, %one : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %3 = ge.mul %x, %2 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %4 = ge.mul %3, %half : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  return %2, %4 : tensor<2x8xf32>, tensor<2x8xf32>
}

// -----

// The quotient has another reader.
// CHECK-LABEL: func.func @quotient_read_again
// CHECK-NOT: ge.gelu
func.func @quotient_read_again(%x: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %root = ge.constant dense<1.41421354> : tensor<f32>
  %one = ge.constant dense<1.0> : tensor<f32>
  %half = ge.constant dense<0.5> : tensor<f32>
  %0 = ge.div %x, %root : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %1 = ge.erf %0 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = ge.add %1, %one : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %3 = ge.mul %x, %2 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %4 = ge.mul %3, %half : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %5 = ge.relu %0 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return %4, %5 : tensor<2x8xf32>, tensor<2x8xf32>
}

// -----

// Times another tensor, and a factor that differs from column to column.
// CHECK-LABEL: func.func @another_tensor
// CHECK-NOT: ge.gelu
func.func @another_tensor(%x: tensor<2x8xf32>, %z: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %root = ge.constant dense<1.41421354> : tensor<f32>
  %one = ge.constant dense<1.0> : tensor<f32>
  %half = ge.constant dense<0.5> : tensor<f32>
  %0 = ge.div %x, %root : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %1 = ge.erf %0 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = ge.add %1, %one : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %3 = ge.mul %z, %2 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %4 = ge.mul %3, %half : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  return %4 : tensor<2x8xf32>
}

// -----

// A constant of one element, but of higher rank: the result has another shape than x.
// CHECK-LABEL: func.func @grows_a_rank
// CHECK-NOT: ge.gelu
func.func @grows_a_rank(%x: tensor<8xf32>) -> tensor<1x8xf32> {
  %root = ge.constant dense<1.41421354> : tensor<f32>
  %one = ge.constant dense<1.0> : tensor<f32>
  %half = ge.constant dense<0.5> : tensor<1x1xf32>
  %0 = ge.div %x, %root : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = ge.erf %0 : (tensor<8xf32>) -> tensor<8xf32>
  %2 = ge.add %1, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = ge.mul %x, %2 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = ge.mul %3, %half : (tensor<8xf32>, tensor<1x1xf32>) -> tensor<1x8xf32>
  return %4 : tensor<1x8xf32>
}
