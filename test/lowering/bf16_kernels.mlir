// RUN: ge-opt --no-locations --lower-to-kernels=soc=Ascend910B3 %s | FileCheck %s

// Operands are widened once, what is between the steps stays in fp32, the result is rounded.
// CHECK-LABEL: ascend.kernel @elementwise_mul_relu_0
// CHECK: ascend.mte.copy %{{.*}} to %x0_ub{{.*}} memref<3072xbf16
// CHECK: ascend.vec.conv %x0_ub{{.*}} memref<3072xbf16{{.*}} to memref<3072xf32
// CHECK: ascend.vec.conv %x1_ub{{.*}} memref<3072xbf16{{.*}} to memref<3072xf32
// CHECK: ascend.vec.mul {{.*}} to memref<3072xf32
// CHECK-NOT: ascend.vec.conv
// CHECK: ascend.vec.relu {{.*}} to memref<3072xf32
// CHECK: ascend.vec.conv {{.*}} memref<3072xf32{{.*}} to memref<3072xbf16

// The Cube sums products up in fp32; FixPipe rounds the sums.
// CHECK-LABEL: ascend.kernel @matmul_0
// CHECK: ascend.cube.mmad {{.*}} memref<1x2x16x16xbf16
// CHECK: ascend.cube.fixpipe {{.*}} memref<1x16x16xf32{{.*}} to memref<1x16x16xbf16
func.func @main(%x: tensor<64x48xbf16>, %z: tensor<64x48xbf16>, %a: tensor<64x32xbf16>, %b: tensor<32x48xbf16>) -> (tensor<64x48xbf16>, tensor<64x48xbf16>) {
  %y = ge.fused ins(%x, %z : tensor<64x48xbf16>, tensor<64x48xbf16>) {anchor = "ge.mul"} {
  ^bb0(%l: tensor<64x48xbf16>, %r: tensor<64x48xbf16>):
    %0 = ge.mul %l, %r : (tensor<64x48xbf16>, tensor<64x48xbf16>) -> tensor<64x48xbf16>
    %1 = ge.relu %0 : (tensor<64x48xbf16>) -> tensor<64x48xbf16>
    ge.yield %1 : tensor<64x48xbf16>
  } -> tensor<64x48xbf16>
  %p = ge.matmul %a, %b : (tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16>
  return %y, %p : tensor<64x48xbf16>, tensor<64x48xbf16>
}
