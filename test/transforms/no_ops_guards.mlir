// RUN: ge-opt --no-locations --ge-canonicalize --split-input-file %s | FileCheck %s

// Equal types, yet elements change places or values.
// CHECK-LABEL: func.func @movement
func.func @movement(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK-NEXT: ge.transpose
  %0 = ge.transpose %x {perm = [1, 0]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: ge.slice
  %1 = ge.slice %0 {starts = [-1], ends = [-9], axes = [0], steps = [-1]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: ge.pad
  %2 = ge.pad %1 {pads = [0, 0, 0, 1]} : (tensor<4x4xf32>) -> tensor<4x5xf32>
  // CHECK-NEXT: ge.slice
  %3 = ge.slice %2 {starts = [1], ends = [5], axes = [1], steps = [1]} : (tensor<4x5xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: ge.concat
  %4 = ge.concat %3, %x {axis = 0} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: ge.tile
  %5 = ge.tile %4 {repeats = [1, 2]} : (tensor<8x4xf32>) -> tensor<8x8xf32>
  // CHECK-NEXT: ge.reshape
  %6 = ge.reshape %5 {shape = [4, 16]} : (tensor<8x8xf32>) -> tensor<4x16xf32>
  // CHECK-NEXT: ge.slice
  %7 = ge.slice %6 {starts = [0], ends = [16], axes = [1], steps = [4]} : (tensor<4x16xf32>) -> tensor<4x4xf32>
  return %7 : tensor<4x4xf32>
}

// -----

// What is not known may change: an end that an axis can pass, a row that can be stretched, two unknown extents.
// CHECK-LABEL: func.func @unknown_extents
func.func @unknown_extents(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %ones = ge.constant dense<1.0> : tensor<3x1xf32>
  // CHECK: ge.slice
  %0 = ge.slice %x {starts = [0], ends = [4], axes = [0], steps = [1]} : (tensor<?x?xf32>) -> tensor<?x?xf32>
  // CHECK-NEXT: ge.slice
  %1 = ge.slice %0 {starts = [-4], ends = [9223372036854775807], axes = [0], steps = [1]} : (tensor<?x?xf32>) -> tensor<?x?xf32>
  // CHECK-NEXT: ge.expand
  %2 = ge.expand %1 {shape = [3, 1]} : (tensor<?x?xf32>) -> tensor<?x?xf32>
  // CHECK-NEXT: ge.mul
  %3 = ge.mul %2, %ones : (tensor<?x?xf32>, tensor<3x1xf32>) -> tensor<?x?xf32>
  return %3 : tensor<?x?xf32>
}

// -----

// Ones and zeros that stretch x, stand on the wrong side, or are not all so.
// CHECK-LABEL: func.func @neutral
func.func @neutral(%x: tensor<1x2xf32>) -> (tensor<3x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>) {
  %tall = ge.constant dense<1.0> : tensor<3x2xf32>
  %one = ge.constant dense<1.0> : tensor<1x1xf32>
  %most = ge.constant dense<[[1.0, 1.5]]> : tensor<1x2xf32>
  %zero = ge.constant dense<0.0> : tensor<1x1xf32>
  // CHECK: ge.mul
  %0 = ge.mul %x, %tall : (tensor<1x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  // CHECK-NEXT: ge.div
  %1 = ge.div %one, %x : (tensor<1x1xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  // CHECK-NEXT: ge.mul
  %2 = ge.mul %x, %most : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  // CHECK-NEXT: ge.sub
  %3 = ge.sub %zero, %x : (tensor<1x1xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  return %0, %1, %2, %3 : tensor<3x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>
}

// -----

// -0.0 + 0.0 is 0.0, and -0.0 - -0.0 is 0.0.
// CHECK-LABEL: func.func @signs_of_zero
func.func @signs_of_zero(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %plus = ge.constant dense<0.0> : tensor<1xf32>
  %minus = ge.constant dense<-0.0> : tensor<1xf32>
  // CHECK: ge.add
  %0 = ge.add %x, %plus : (tensor<2xf32>, tensor<1xf32>) -> tensor<2xf32>
  // CHECK-NEXT: ge.sub
  %1 = ge.sub %x, %minus : (tensor<2xf32>, tensor<1xf32>) -> tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// -----

// The inner cast rounds, overflows or cuts off; or a float too large for the integer comes up by the way.
// CHECK-LABEL: func.func @lossy_casts
func.func @lossy_casts(%f: tensor<2xf32>, %i: tensor<2xi32>, %h: tensor<2xi16>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xi32>, tensor<2xi8>, tensor<2xf32>) {
  // CHECK-COUNT-10: ge.cast
  %0 = ge.cast %f : (tensor<2xf32>) -> tensor<2xf16>
  %1 = ge.cast %0 : (tensor<2xf16>) -> tensor<2xf32>
  %2 = ge.cast %f : (tensor<2xf32>) -> tensor<2xbf16>
  %3 = ge.cast %2 : (tensor<2xbf16>) -> tensor<2xf32>
  %4 = ge.cast %i : (tensor<2xi32>) -> tensor<2xf32>
  %5 = ge.cast %4 : (tensor<2xf32>) -> tensor<2xi32>
  %6 = ge.cast %h : (tensor<2xi16>) -> tensor<2xf32>
  %7 = ge.cast %6 : (tensor<2xf32>) -> tensor<2xi8>
  %8 = ge.cast %f : (tensor<2xf32>) -> tensor<2xi1>
  %9 = ge.cast %8 : (tensor<2xi1>) -> tensor<2xf32>
  return %1, %3, %5, %7, %9 : tensor<2xf32>, tensor<2xf32>, tensor<2xi32>, tensor<2xi8>, tensor<2xf32>
}
