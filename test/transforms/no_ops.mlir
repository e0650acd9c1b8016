// RUN: ge-opt --no-locations --ge-canonicalize --split-input-file %s | FileCheck %s

// Each of these gives back what it gets.
// CHECK-LABEL: func.func @movement
func.func @movement(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = ge.cast %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = ge.reshape %0 {shape = [2, 4]} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = ge.transpose %1 {perm = [0, 1]} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = ge.pad %2 {pads = [0, 0, 0, 0]} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = ge.slice %3 {starts = [0, -9], ends = [2, 9], axes = [0, -1], steps = [1, 1]} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %5 = ge.concat %4 {axis = 0} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %6 = ge.expand %5 {shape = [1, 4]} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %7 = ge.tile %6 {repeats = [1, 1]} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: return %x
  return %7 : tensor<2x4xf32>
}

// -----

// A pair of transposes that cancel.
// CHECK-LABEL: func.func @transpose_pair
func.func @transpose_pair(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = ge.transpose %x {perm = [1, 2, 0]} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %1 = ge.transpose %0 {perm = [2, 0, 1]} : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: return %x
  return %1 : tensor<2x3x4xf32>
}

// -----

// Axes of unknown extent: the end lies beyond any.
// CHECK-LABEL: func.func @unknown_extents
func.func @unknown_extents(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %one = ge.constant dense<1.0> : tensor<1x4xf32>
  %0 = ge.slice %x {starts = [0], ends = [9223372036854775807], axes = [0], steps = [1]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = ge.expand %0 {shape = [1, 4]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %2 = ge.mul %1, %one : (tensor<?x4xf32>, tensor<1x4xf32>) -> tensor<?x4xf32>
  // CHECK-NEXT: return %x
  return %2 : tensor<?x4xf32>
}

// -----

// One is neutral on both sides of a product and below a quotient.
// CHECK-LABEL: func.func @ones
func.func @ones(%x: tensor<2x4xf16>) -> tensor<2x4xf16> {
  %one = ge.constant dense<1.0> : tensor<f16>
  %row = ge.constant dense<1.0> : tensor<4xf16>
  %0 = ge.mul %x, %row : (tensor<2x4xf16>, tensor<4xf16>) -> tensor<2x4xf16>
  %1 = ge.mul %one, %0 : (tensor<f16>, tensor<2x4xf16>) -> tensor<2x4xf16>
  %2 = ge.div %1, %one : (tensor<2x4xf16>, tensor<f16>) -> tensor<2x4xf16>
  // CHECK-NEXT: return %x
  return %2 : tensor<2x4xf16>
}

// -----

// Zero is neutral in integers; in floats if it keeps the sign of -0.0, or none can come.
// CHECK-LABEL: func.func @zeros
func.func @zeros(%i: tensor<2xi32>, %x: tensor<2xf32>) -> (tensor<2xi32>, tensor<2xf32>, tensor<2xf32>) {
  %zero = ge.constant dense<0> : tensor<1xi32>
  %plus = ge.constant dense<0.0> : tensor<1xf32>
  %minus = ge.constant dense<-0.0> : tensor<1xf32>
  %0 = ge.add %zero, %i : (tensor<1xi32>, tensor<2xi32>) -> tensor<2xi32>
  %1 = ge.sub %x, %plus : (tensor<2xf32>, tensor<1xf32>) -> tensor<2xf32>
  %2 = ge.add %1, %minus : (tensor<2xf32>, tensor<1xf32>) -> tensor<2xf32>
  // CHECK-NEXT: %[[ABS:.*]] = ge.abs %x
  %3 = ge.abs %x : (tensor<2xf32>) -> tensor<2xf32>
  %4 = ge.add %3, %plus : (tensor<2xf32>, tensor<1xf32>) -> tensor<2xf32>
  // CHECK-NEXT: return %i, %x, %[[ABS]]
  return %0, %2, %4 : tensor<2xi32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// The inner cast keeps every value: the pair is one cast, or none.
// CHECK-LABEL: func.func @casts
func.func @casts(%h: tensor<2xf16>, %b: tensor<2xi8>) -> (tensor<2xf16>, tensor<2xf32>, tensor<2xi1>) {
  %0 = ge.cast %h : (tensor<2xf16>) -> tensor<2xf32>
  %1 = ge.cast %0 : (tensor<2xf32>) -> tensor<2xf16>
  // CHECK-NEXT: %[[F:.*]] = ge.cast %b : (tensor<2xi8>) -> tensor<2xf32>
  %2 = ge.cast %b : (tensor<2xi8>) -> tensor<2xi32>
  %3 = ge.cast %2 : (tensor<2xi32>) -> tensor<2xf32>
  // CHECK-NEXT: %[[T:.*]] = ge.cast %b : (tensor<2xi8>) -> tensor<2xi1>
  %4 = ge.cast %b : (tensor<2xi8>) -> tensor<2xf16>
  %5 = ge.cast %4 : (tensor<2xf16>) -> tensor<2xi1>
  // CHECK-NEXT: return %h, %[[F]], %[[T]]
  return %1, %3, %5 : tensor<2xf16>, tensor<2xf32>, tensor<2xi1>
}
