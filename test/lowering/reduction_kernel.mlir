// RUN: ge-opt --no-locations --lower-to-kernels --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @classes
// CHECK-NEXT: ascend.task.call @softmax_0(%x) {type = "SoftmaxV2"
// CHECK: ascend.kernel @softmax_0(%x0: memref<1x1000xf16, #ascend.gm> r, %y: memref<1x1000xf16, #ascend.gm> w) blocks(1)
// CHECK: ascend.vec.conv
// CHECK: ascend.vec.cmax
// CHECK: ascend.vec.sub {{.*}}, memref<1000xf32, strided<[0]
// CHECK-NEXT: ascend.vec.exp
// CHECK: ascend.vec.cadd
// CHECK-NEXT: ascend.vec.rec {{.*}} : memref<1xf32
// CHECK: ascend.vec.mul
// CHECK-NEXT: ascend.vec.conv {{.*}}xf32{{.*}} to {{.*}}xf16
func.func @classes(%x: tensor<1x1000xf16>) -> tensor<1x1000xf16> {
  %0 = ge.softmax %x : (tensor<1x1000xf16>) -> tensor<1x1000xf16>
  return %0 : tensor<1x1000xf16>
}

// -----

// Rows of 50 begin at multiples of 32 bytes. fp32 needs no conversion.
// CHECK-LABEL: func.func @padded_rows
// CHECK: ascend.alloc "x0_ub" : memref<10x64xf32
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

// A row that does not fit UB: a pass over its tiles for the maximum, one for the sum, one for the result.
// CHECK-LABEL: func.func @in_passes
// CHECK: ascend.vec.dup to %held{{.*}} imm 0xff800000
// CHECK: ascend.loop %r1
// CHECK: ascend.vec.cmax
// CHECK: ascend.vec.max
// CHECK: ascend.vec.dup to %held{{.*}} imm 0.0
// CHECK: ascend.loop %r1
// CHECK: ascend.vec.cadd
// CHECK: ascend.vec.add
// CHECK: ascend.loop %r1
// CHECK: ascend.mte.copy %y_ub{{.*}} to %y
func.func @in_passes(%x: tensor<2x40000xf16>) -> tensor<2x40000xf16> {
  %0 = ge.softmax %x : (tensor<2x40000xf16>) -> tensor<2x40000xf16>
  return %0 : tensor<2x40000xf16>
}

// -----

// Reduced axes in front of kept ones are halved by whole slabs: 5 = 2 + 2 + 1, then 1 + 1. Nothing is left to do by rows.
// CHECK-LABEL: func.func @slabs
// CHECK: ascend.kernel @reduce_sum
// CHECK: ascend.vec.add {{.*}} : memref<2x48xf32
// CHECK: ascend.vec.add {{.*}} : memref<1x48xf32
// CHECK: ascend.vec.add {{.*}} : memref<1x48xf32
// CHECK-NOT: ascend.vec.cadd
func.func @slabs(%x: tensor<5x48xf32>) -> tensor<1x48xf32> {
  %0 = ge.reduce_sum %x {axes = [0]} : (tensor<5x48xf32>) -> tensor<1x48xf32>
  return %0 : tensor<1x48xf32>
}

// -----

// A small operand is converted to fp32 once, not tile by tile; the mean and the variance are one instruction for all rows.
// CHECK-LABEL: func.func @layer_norm
// CHECK: ascend.kernel @layer_norm
// CHECK: ascend.vec.conv {{.*}} : memref<1x768xf16, {{.*}} to memref<1x768xf32
// CHECK: ascend.vec.conv {{.*}} : memref<1x768xf16, {{.*}} to memref<1x768xf32
// CHECK: ascend.loop
// CHECK: ascend.vec.cadd
// CHECK: ascend.vec.muls
// CHECK: ascend.vec.cadd
// CHECK: ascend.vec.sqrt
func.func @layer_norm(%x: tensor<512x768xf16>, %s: tensor<768xf16>, %b: tensor<768xf16>) -> tensor<512x768xf16> {
  %0 = ge.layer_norm %x, %s, %b : (tensor<512x768xf16>, tensor<768xf16>, tensor<768xf16>) -> tensor<512x768xf16>
  return %0 : tensor<512x768xf16>
}
