// RUN: ge-opt --no-locations --narrow-int64 --split-input-file %s | FileCheck %s

// An input may hold anything.
// CHECK-LABEL: func.func @input
func.func @input(%x: tensor<4xi64>) -> tensor<4xi64> {
  // CHECK-NOT: i32
  // CHECK: ge.add {{.*}} -> tensor<4xi64>
  %one = ge.constant dense<1> : tensor<1xi64>
  %y = ge.add %x, %one : (tensor<4xi64>, tensor<1xi64>) -> tensor<4xi64>
  // CHECK-NOT: i32
  // CHECK: return
  return %y : tensor<4xi64>
}

// -----

// Operands fit, the product of the largest does not: 65536 * 32768 is 2^31.
// CHECK-LABEL: func.func @product
func.func @product(%x: tensor<4x65537xf32>) -> tensor<4x1xi64> {
  // CHECK-NOT: i32
  // CHECK: ge.mul {{.*}} -> tensor<4x1xi64>
  %c = ge.constant dense<32768> : tensor<1xi64>
  %i = ge.arg_max %x {axis = 1} : (tensor<4x65537xf32>) -> tensor<4x1xi64>
  %y = ge.mul %i, %c : (tensor<4x1xi64>, tensor<1xi64>) -> tensor<4x1xi64>
  // CHECK-NOT: i32
  // CHECK: return
  return %y : tensor<4x1xi64>
}

// -----

// A constant that does not fit.
// CHECK-LABEL: func.func @constant
func.func @constant(%x: tensor<4x10xf32>) -> tensor<4x1xi1> {
  // CHECK-NOT: i32
  // CHECK: ge.compare {{.*}}xi64>
  %c = ge.constant dense<2147483648> : tensor<1xi64>
  %i = ge.arg_max %x {axis = 1} : (tensor<4x10xf32>) -> tensor<4x1xi64>
  %y = ge.compare %i, %c {predicate = "lt"} : (tensor<4x1xi64>, tensor<1xi64>) -> tensor<4x1xi1>
  // CHECK-NOT: i32
  // CHECK: return
  return %y : tensor<4x1xi1>
}

// -----

// A sigmoid lies between 0 and 1, unless it is NaN, which becomes the smallest int64.
// CHECK-LABEL: func.func @floats
func.func @floats(%x: tensor<4xf32>) -> tensor<4xi64> {
  // CHECK-NOT: i32
  // CHECK: ge.cast {{.*}} -> tensor<4xi64>
  // CHECK: ge.add {{.*}} -> tensor<4xi64>
  %s = ge.sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
  %c = ge.cast %s : (tensor<4xf32>) -> tensor<4xi64>
  %y = ge.add %c, %c : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  // CHECK-NOT: i32
  // CHECK: return
  return %y : tensor<4xi64>
}

// -----

// Nothing would be computed in the narrow type.
// CHECK-LABEL: func.func @only_moves
func.func @only_moves(%x: tensor<4x10xf32>) -> tensor<4xf32> {
  // CHECK-NOT: i32
  // CHECK-NEXT: ge.arg_max
  // CHECK-NEXT: ge.reshape
  // CHECK-NEXT: ge.cast {{.*}} : (tensor<4xi64>) -> tensor<4xf32>
  %i = ge.arg_max %x {axis = 1} : (tensor<4x10xf32>) -> tensor<4x1xi64>
  %r = ge.reshape %i {shape = [4]} : (tensor<4x1xi64>) -> tensor<4xi64>
  %y = ge.cast %r : (tensor<4xi64>) -> tensor<4xf32>
  // CHECK-NOT: i32
  // CHECK: return
  return %y : tensor<4xf32>
}

// -----

// The last edge: |-2^31| is one too many.
// CHECK-LABEL: func.func @edge
func.func @edge(%x: tensor<4xi64>) -> tensor<4xi64> {
  // CHECK-NOT: i32
  // CHECK: ge.abs {{.*}} -> tensor<4xi64>
  %low = ge.constant dense<-2147483648> : tensor<1xi64>
  %high = ge.constant dense<0> : tensor<1xi64>
  %a = ge.minimum %x, %high : (tensor<4xi64>, tensor<1xi64>) -> tensor<4xi64>
  %b = ge.maximum %a, %low : (tensor<4xi64>, tensor<1xi64>) -> tensor<4xi64>
  %c = ge.abs %b : (tensor<4xi64>) -> tensor<4xi64>
  // CHECK-NOT: i32
  // CHECK: return
  return %c : tensor<4xi64>
}
