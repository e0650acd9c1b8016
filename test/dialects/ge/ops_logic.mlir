// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// Comparison, choice, bits, remainders, with numpy's broadcasting.

// CHECK-LABEL: func.func @compare
func.func @compare(%a: tensor<2x3xi32>, %b: tensor<3xi32>) {
  // CHECK: %eq = ge.compare %a, %b {predicate = "eq"} : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi1>
  %eq = ge.compare %a, %b {predicate = "eq"} : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi1>
  // CHECK: %ne = ge.compare %a, %b {predicate = "ne"} : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi1>
  %ne = ge.compare %a, %b {predicate = "ne"} : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi1>
  // CHECK: %lt = ge.compare %a, %b {predicate = "lt"} : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi1>
  %lt = ge.compare %a, %b {predicate = "lt"} : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi1>
  // CHECK: %le = ge.compare %a, %b {predicate = "le"} : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi1>
  %le = ge.compare %a, %b {predicate = "le"} : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi1>
  // CHECK: %gt = ge.compare %a, %b {predicate = "gt"} : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi1>
  %gt = ge.compare %a, %b {predicate = "gt"} : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi1>
  // CHECK: %ge = ge.compare %a, %b {predicate = "ge"} : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi1>
  %ge = ge.compare %a, %b {predicate = "ge"} : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi1>
  return
}

// CHECK-LABEL: func.func @select
func.func @select(%c: tensor<2x1xi1>, %x: tensor<?x3xf16>, %y: tensor<f16>) {
  // CHECK: %z = ge.select %c, %x, %y : (tensor<2x1xi1>, tensor<?x3xf16>, tensor<f16>) -> tensor<2x3xf16>
  %z = ge.select %c, %x, %y : (tensor<2x1xi1>, tensor<?x3xf16>, tensor<f16>) -> tensor<2x3xf16>
  return
}

// CHECK-LABEL: func.func @bits
func.func @bits(%a: tensor<2x3xi32>, %b: tensor<3xi32>, %p: tensor<2x3xi1>) {
  // CHECK: %and = ge.and %a, %b : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %and = ge.and %a, %b : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  // CHECK: %or = ge.or %a, %b : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %or = ge.or %a, %b : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  // CHECK: %xor = ge.xor %a, %b : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %xor = ge.xor %a, %b : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  // CHECK: %both = ge.and %p, %p : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  %both = ge.and %p, %p : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK: %left = ge.shift %a, %b : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %left = ge.shift %a, %b : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  // CHECK: %right = ge.shift %a, %b {direction = "right"} : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %right = ge.shift %a, %b {direction = "right"} : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  return
}

// CHECK-LABEL: func.func @mod
func.func @mod(%a: tensor<2x3xi32>, %b: tensor<3xi32>) {
  // CHECK: %y = ge.mod %a, %b : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %y = ge.mod %a, %b : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  // CHECK: %z = ge.mod %a, %b {fmod = true} : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %z = ge.mod %a, %b {fmod = true} : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  return
}
