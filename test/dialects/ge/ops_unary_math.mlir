// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// Trigonometry, rounding, sign, bits.

// CHECK-LABEL: func.func @trigonometry
func.func @trigonometry(%x: tensor<2x3xf16>) {
  // CHECK: %sin = ge.sin %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %sin = ge.sin %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %cos = ge.cos %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %cos = ge.cos %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %tan = ge.tan %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %tan = ge.tan %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %asin = ge.asin %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %asin = ge.asin %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %acos = ge.acos %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %acos = ge.acos %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %atan = ge.atan %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %atan = ge.atan %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %sinh = ge.sinh %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %sinh = ge.sinh %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %cosh = ge.cosh %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %cosh = ge.cosh %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %asinh = ge.asinh %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %asinh = ge.asinh %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %acosh = ge.acosh %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %acosh = ge.acosh %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %atanh = ge.atanh %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %atanh = ge.atanh %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  return
}

// CHECK-LABEL: func.func @rounding
func.func @rounding(%x: tensor<2x3xf16>) {
  // CHECK: %ceil = ge.ceil %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %ceil = ge.ceil %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %floor = ge.floor %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %floor = ge.floor %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %round = ge.round %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %round = ge.round %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK: %sign = ge.sign %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %sign = ge.sign %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  return
}

// CHECK-LABEL: func.func @not
func.func @not(%x: tensor<?x3xi1>, %i: tensor<2xui8>) {
  // CHECK: %y = ge.not %x : (tensor<?x3xi1>) -> tensor<?x3xi1>
  %y = ge.not %x : (tensor<?x3xi1>) -> tensor<?x3xi1>
  // CHECK: %j = ge.not %i : (tensor<2xui8>) -> tensor<2xui8>
  %j = ge.not %i : (tensor<2xui8>) -> tensor<2xui8>
  return
}
