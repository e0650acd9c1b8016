// RUN: ge-opt --no-locations --widen-bf16 --split-input-file %s | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: ge-opt --no-locations --widen-bf16=mode=must_keep_origin_dtype --split-input-file %s | FileCheck %s --check-prefixes=CHECK,KEPT

// One cast at each border; declared types stay, constants become fp32.
// CHECK-LABEL: func.func @borders
// CHECK-SAME: (%x: tensor<4x16xbf16>) -> tensor<4x16xbf16>
func.func @borders(%x: tensor<4x16xbf16>) -> tensor<4x16xbf16> {
  // WIDE-NEXT: %[[X:.*]] = ge.cast %x : (tensor<4x16xbf16>) -> tensor<4x16xf32>
  // WIDE-NEXT: %[[C:.*]] = ge.constant dense<1.500000e+00> : tensor<16xf32>
  // WIDE-NEXT: %[[Y:.*]] = ge.mul %[[X]], %[[C]] : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  // WIDE-NEXT: %[[Z:.*]] = ge.relu %[[Y]] : (tensor<4x16xf32>) -> tensor<4x16xf32>
  // WIDE-NEXT: %[[R:.*]] = ge.cast %[[Z]] : (tensor<4x16xf32>) -> tensor<4x16xbf16>
  // WIDE-NEXT: return %[[R]]
  // KEPT: ge.relu {{.*}} : (tensor<4x16xbf16>) -> tensor<4x16xbf16>
  %c = ge.constant dense<1.5> : tensor<16xbf16>
  %0 = ge.mul %x, %c : (tensor<4x16xbf16>, tensor<16xbf16>) -> tensor<4x16xbf16>
  %1 = ge.relu %0 : (tensor<4x16xbf16>) -> tensor<4x16xbf16>
  return %1 : tensor<4x16xbf16>
}

// -----

// Casts from and to fp32 have nothing left to do; one to another type starts from fp32.
// CHECK-LABEL: func.func @casts
func.func @casts(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xi32>) {
  // WIDE-NEXT: %[[Y:.*]] = ge.exp %x : (tensor<8xf32>) -> tensor<8xf32>
  // WIDE-NEXT: %[[I:.*]] = ge.cast %[[Y]] : (tensor<8xf32>) -> tensor<8xi32>
  // WIDE-NEXT: return %[[Y]], %[[I]]
  // KEPT: ge.exp {{.*}} -> tensor<8xbf16>
  %0 = ge.cast %x : (tensor<8xf32>) -> tensor<8xbf16>
  %1 = ge.exp %0 : (tensor<8xbf16>) -> tensor<8xbf16>
  %2 = ge.cast %1 : (tensor<8xbf16>) -> tensor<8xf32>
  %3 = ge.cast %1 : (tensor<8xbf16>) -> tensor<8xi32>
  return %2, %3 : tensor<8xf32>, tensor<8xi32>
}
