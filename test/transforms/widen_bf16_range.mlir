// RUN: ge-opt --no-locations --compile-to=precision %s 2>&1 | FileCheck %s

// bf16 holds numbers that fp16 does not: the default mode warns of them, and casts once at each border.
// CHECK: warning: ge.mul: reads the constant 9.98244e+08, which is outside fp16's range
// CHECK: %[[X:.*]] = ge.cast %x : (tensor<8xbf16>) -> tensor<8xf16>
// CHECK: ge.mul %[[X]], %{{.*}} : (tensor<8xf16>, tensor<1xf16>) -> tensor<8xf16>
// CHECK: ge.cast {{.*}} : (tensor<8xf16>) -> tensor<8xbf16>
func.func @main(%x: tensor<8xbf16> {ge.name = "x"}) -> (tensor<8xbf16> {ge.name = "y"}) {
  %c = ge.constant dense<1.0e9> : tensor<1xbf16>
  %0 = ge.mul %x, %c : (tensor<8xbf16>, tensor<1xbf16>) -> tensor<8xbf16>
  return %0 : tensor<8xbf16>
}
