// RUN: ge-opt --no-locations --fuse-rms-norm --check-fp16-range %s 2>&1 | FileCheck %s

// The squares of numbers beyond 256 are infinite in fp16; inside the operator they are not in fp16.
// CHECK-NOT: warning
// CHECK: ge.rms_norm
func.func @squares(%a: tensor<3x8xf32>, %scale: tensor<8xf32>) -> tensor<3x8xf32> {
  %eps = ge.constant dense<1.0e-03> : tensor<f32>
  %x = ge.clip %a {min = -1000.0, max = 1000.0} : (tensor<3x8xf32>) -> tensor<3x8xf32>
  %0 = ge.mul %x, %x : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %1 = ge.reduce_mean %0 {axes = [1]} : (tensor<3x8xf32>) -> tensor<3x1xf32>
  %2 = ge.add %1, %eps : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
  %3 = ge.sqrt %2 : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %4 = ge.div %x, %3 : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
  %5 = ge.mul %4, %scale : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
  return %5 : tensor<3x8xf32>
}
