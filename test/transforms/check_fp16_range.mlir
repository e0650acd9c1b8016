// RUN: ge-opt --no-locations --check-fp16-range --remarks --remarks-filter=Analysis --split-input-file %s 2>&1 >/dev/null | FileCheck %s

// Two readers of a constant beyond fp16, one warning; -10000 and what a bias adds in fp32 need none.
// CHECK: warning: ge.add: reads (so do 1 more) the constant -1e+09, which is outside fp16's range and becomes -65504; --keep-dtype-nodes=ge.add,ge.softmax keep it in fp32 [check-fp16-range]
func.func @mask(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %big = ge.constant dense<[-1.0e9, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]> : tensor<8xf32>
  %fits = ge.constant dense<-10000.0> : tensor<8xf32>
  %w = ge.constant dense<0.5> : tensor<8x8xf32>
  %bias = ge.constant dense<1.0e6> : tensor<8xf32>
  %0 = ge.add %x, %big : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = ge.softmax %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = ge.add %y, %big : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %3 = ge.softmax %2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = ge.add %x, %fits : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %5 = ge.matmul %4, %w, %bias : (tensor<4x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %1, %3, %5 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Each layer with a mask of its own, but with the same number: one cause, one warning. Another number is another cause.
// CHECK-NEXT: warning: ge.add: reads (so do 1 more) the constant -2e+09, which is outside fp16's range and becomes -65504; --keep-dtype-nodes=ge.add,ge.softmax keep it in fp32 [check-fp16-range]
// CHECK-NEXT: warning: ge.mul: reads the constant 1e+06, which is outside fp16's range and becomes 65504; --keep-dtype-nodes=ge.mul keeps it in fp32 [check-fp16-range]
func.func @layers(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %one = ge.constant dense<[-2.0e9, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]> : tensor<8xf32>
  %two = ge.constant dense<[-2.0e9, -2.0e9, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]> : tensor<8xf32>
  %large = ge.constant dense<1.0e6> : tensor<f32>
  %0 = ge.add %x, %one : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = ge.softmax %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = ge.add %x, %two : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %3 = ge.softmax %2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = ge.mul %3, %large : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %1, %4 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Scores between -1 and 1 and a mask chosen before a softmax: proven harmless (see the end). Unbounded scores are not.
// CHECK-NEXT: warning: ge.select: reads the constant -3.40282e+38
func.func @proven(%x: tensor<4x8xf32>, %on: tensor<4x8xi1>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %inf = ge.constant dense<"0x000080FF"> : tensor<f32>
  %lowest = ge.constant dense<-3.4028234663852886e+38> : tensor<f32>
  %0 = ge.tanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = ge.select %on, %0, %inf : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %2 = ge.softmax %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = ge.select %on, %x, %lowest : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %4 = ge.softmax %3 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2, %4 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// An operator that stays in fp32 needs no warning; nor does a limit that is none.
func.func @kept(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %big = ge.constant dense<1.0e9> : tensor<f32>
  %none = ge.constant dense<"0x000080FF"> : tensor<f32>
  %0 = ge.mul %x, %big {ge.precision = "fp32"} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %1 = ge.maximum %x, %none : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// 1e-12 under the root is 0 in fp16; 1e-5 is not. A divisor with a floor of 1e-6 overflows instead.
// CHECK-NEXT: warning: ge.div: divides by what only a number that fp16 rounds to 0 keeps from 0; --keep-dtype-nodes=ge.add,ge.sqrt,ge.div keep
// CHECK-NEXT: warning: ge.reciprocal: can leave fp16's range though its operands are inside
func.func @epsilon(%x: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %tiny = ge.constant dense<1.0e-12> : tensor<f32>
  %small = ge.constant dense<1.0e-5> : tensor<f32>
  %0 = ge.abs %v : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = ge.add %0, %tiny : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %2 = ge.sqrt %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = ge.div %x, %2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = ge.add %0, %small : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %5 = ge.sqrt %4 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %6 = ge.div %x, %5 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %7 = ge.clip %v {min = 1.0e-6} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %8 = ge.reciprocal %7 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %3, %6, %8 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Sums: of 100,000 numbers up to 1, but not of 1,000; exp, but not of what is no more than 0.
// CHECK-NEXT: warning: ge.reduce_sum: can leave fp16's range though its operands are inside
// CHECK-NEXT: warning: ge.exp: leaves fp16's range for operands above 11
func.func @sums(%x: tensor<1x100000xf32>, %y: tensor<1x1000xf32>) -> (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1000xf32>, tensor<1x1000xf32>) {
  %0 = ge.sigmoid %x : (tensor<1x100000xf32>) -> tensor<1x100000xf32>
  %1 = ge.reduce_sum %0 {axes = [1]} : (tensor<1x100000xf32>) -> tensor<1x1xf32>
  %2 = ge.sigmoid %y : (tensor<1x1000xf32>) -> tensor<1x1000xf32>
  %3 = ge.reduce_sum %2 {axes = [1]} : (tensor<1x1000xf32>) -> tensor<1x1xf32>
  %4 = ge.exp %y : (tensor<1x1000xf32>) -> tensor<1x1000xf32>
  %5 = ge.reduce_max %y {axes = [1]} : (tensor<1x1000xf32>) -> tensor<1x1xf32>
  %6 = ge.sub %y, %5 : (tensor<1x1000xf32>, tensor<1x1xf32>) -> tensor<1x1000xf32>
  %7 = ge.exp %6 : (tensor<1x1000xf32>) -> tensor<1x1000xf32>
  return %1, %3, %4, %7 : tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1000xf32>, tensor<1x1000xf32>
}

// -----

// LayerNorm written out, twice: one warning. Its result is bounded, so the squares of a third are not in doubt.
// CHECK-NEXT: warning: ge.reduce_mean: adds up squares, infinite in fp16 for operands beyond 256; --keep-dtype-nodes=ge.mul,ge.reduce_mean,ge.add,ge.sqrt keep it in fp32
func.func @variance(%x: tensor<4x64xf32>) -> tensor<4x1xf32> {
  %e = ge.constant dense<1.0e-5> : tensor<f32>
  %0 = ge.mul %x, %x : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %1 = ge.reduce_mean %0 {axes = [1]} : (tensor<4x64xf32>) -> tensor<4x1xf32>
  %2 = ge.add %1, %e : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %3 = ge.sqrt %2 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %4 = ge.div %x, %3 : (tensor<4x64xf32>, tensor<4x1xf32>) -> tensor<4x64xf32>
  %5 = ge.mul %4, %4 : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %6 = ge.reduce_mean %5 {axes = [1]} : (tensor<4x64xf32>) -> tensor<4x1xf32>
  return %6 : tensor<4x1xf32>
}

// -----

// E[x^2] - E[x]^2 of numbers between 0 and 1.
// CHECK-NEXT: warning: ge.sub: is a mean of squares less a squared mean: fp16 rounds it away; --keep-dtype-nodes=ge.mul,ge.reduce_mean,ge.sub keep it in fp32
func.func @cancels(%x: tensor<4x64xf32>) -> tensor<4x1xf32> {
  %0 = ge.sigmoid %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %1 = ge.mul %0, %0 : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %2 = ge.reduce_mean %1 {axes = [1]} : (tensor<4x64xf32>) -> tensor<4x1xf32>
  %3 = ge.reduce_mean %0 {axes = [1]} : (tensor<4x64xf32>) -> tensor<4x1xf32>
  %4 = ge.mul %3, %3 : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %5 = ge.sub %2, %4 : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  return %5 : tensor<4x1xf32>
}

// -----

// LogSoftmax of bounded scores: of the exponentials one is 1, whatever the others are; not so in a sum along another axis.
// CHECK-NEXT: warning: ge.log: divides by what only a number that fp16 rounds to 0 keeps from 0; --keep-dtype-nodes=ge.exp,ge.reduce_sum,ge.log keep
func.func @log_softmax(%x: tensor<4x8xf32>) -> (tensor<4x1xf32>, tensor<1x8xf32>) {
  %thirty = ge.constant dense<30.0> : tensor<f32>
  %0 = ge.tanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = ge.mul %0, %thirty : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %2 = ge.reduce_max %1 {axes = [1]} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %3 = ge.sub %1, %2 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %4 = ge.exp %3 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %5 = ge.reduce_sum %4 {axes = [1]} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %6 = ge.log %5 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %7 = ge.reduce_sum %4 {axes = [0]} : (tensor<4x8xf32>) -> tensor<1x8xf32>
  %8 = ge.log %7 : (tensor<1x8xf32>) -> tensor<1x8xf32>
  return %6, %8 : tensor<4x1xf32>, tensor<1x8xf32>
}

// CHECK-NEXT: analysis: ge.select: reads the mask -inf, which fp16 does not have, but every softmax behind it gives the same [check-fp16-range]
// CHECK-NOT: warning
