// RUN: ge-opt --no-locations --lower-to-kernels --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @classes
// CHECK-NEXT: ascend.task.call @softmax_0(%x) {type = "SoftmaxV2"
// CHECK: ascend.kernel @softmax_0(%x: memref<1x1000xf16, #ascend.gm> r, %y: memref<1x1000xf16, #ascend.gm> w) blocks(1)
// CHECK: ascend.vec.conv
// CHECK: ascend.vec.cmax
// CHECK-NEXT: ascend.vec.sub {{.*}}, memref<1x1000xf32, strided<[1, 0]
// CHECK-NEXT: ascend.vec.exp
// CHECK: ascend.vec.cadd
// CHECK-NEXT: ascend.vec.rec {{.*}} : memref<1x1xf32
// CHECK: ascend.vec.mul
// CHECK-NEXT: ascend.vec.conv {{.*}}xf32{{.*}} to {{.*}}xf16
func.func @classes(%x: tensor<1x1000xf16>) -> tensor<1x1000xf16> {
  %0 = ge.softmax %x : (tensor<1x1000xf16>) -> tensor<1x1000xf16>
  return %0 : tensor<1x1000xf16>
}

// -----

// Rows of 50 begin at multiples of 32 bytes. fp32 needs no conversion.
// CHECK-LABEL: func.func @padded_rows
// CHECK: ascend.alloc "x_ub" : memref<10x64xf32
// CHECK-NOT: ascend.vec.conv
// CHECK: ascend.vec.mul {{.*}} to %y_ub
func.func @padded_rows(%x: tensor<10x50xf32>) -> tensor<10x50xf32> {
  %0 = ge.softmax %x : (tensor<10x50xf32>) -> tensor<10x50xf32>
  return %0 : tensor<10x50xf32>
}

// -----

// Many long rows are halved before they are reduced: 384, 192, 96, 48.
// CHECK-LABEL: func.func @attention
// CHECK: ascend.vec.max {{.*}}x192xf32
// CHECK: ascend.vec.max {{.*}}x96xf32
// CHECK: ascend.vec.max {{.*}}x48xf32
// CHECK: ascend.vec.cmax {{.*}}x48xf32
func.func @attention(%x: tensor<12x384x384xf16>) -> tensor<12x384x384xf16> {
  %0 = ge.softmax %x : (tensor<12x384x384xf16>) -> tensor<12x384x384xf16>
  return %0 : tensor<12x384x384xf16>
}

// -----

// CHECK-LABEL: func.func @refused
// CHECK: ge.softmax %x {{.*}}axis = 0{{.*}}ge.no_kernel = "softmax over axis 0 of 2, whose elements are not neighbours"
// CHECK: ge.softmax %y {{.*}}ge.no_kernel = "a softmax row of 40000 elements does not fit the unified buffer"
func.func @refused(%x: tensor<4x5xf16>, %y: tensor<2x40000xf16>) -> (tensor<4x5xf16>, tensor<2x40000xf16>) {
  %0 = ge.softmax %x {axis = 0} : (tensor<4x5xf16>) -> tensor<4x5xf16>
  %1 = ge.softmax %y : (tensor<2x40000xf16>) -> tensor<2x40000xf16>
  return %0, %1 : tensor<4x5xf16>, tensor<2x40000xf16>
}
