// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// Recurrent layers and linear attention: several results, lists of names and numbers, optional operands.

// CHECK-LABEL: func.func @rnn
func.func @rnn(%x: tensor<5x3x4xf32>, %w: tensor<1x6x4xf32>, %r: tensor<1x6x6xf32>, %b: tensor<1x12xf32>, %h: tensor<1x1x6xf32>, %n: tensor<3xi32>) {
  // CHECK: %y, %last = ge.rnn %x, %w, %r, %b, %h, %n {direction = "reverse", activations = ["leaky_relu"], alphas = [2.500000e-01], clip = 2.000000e+00} : (tensor<5x3x4xf32>, tensor<1x6x4xf32>, tensor<1x6x6xf32>, tensor<1x12xf32>, tensor<1x1x6xf32>, tensor<3xi32>) -> (tensor<5x1x3x6xf32>, tensor<1x3x6xf32>)
  %y, %last = ge.rnn %x, %w, %r, %b, %h, %n {direction = "reverse", activations = ["leaky_relu"], alphas = [0.25], clip = 2.0} : (tensor<5x3x4xf32>, tensor<1x6x4xf32>, tensor<1x6x6xf32>, tensor<1x12xf32>, tensor<1x1x6xf32>, tensor<3xi32>) -> (tensor<5x1x3x6xf32>, tensor<1x3x6xf32>)
  return
}

// CHECK-LABEL: func.func @gru
func.func @gru(%x: tensor<5x?x4xf16>, %w: tensor<1x18x4xf16>, %r: tensor<1x18x6xf16>, %b: tensor<1x36xf16>, %h: tensor<1x1x6xf16>) {
  // CHECK: %y, %last = ge.gru %x, %w, %r, %b, %h {linear_before_reset = true} : (tensor<5x?x4xf16>, tensor<1x18x4xf16>, tensor<1x18x6xf16>, tensor<1x36xf16>, tensor<1x1x6xf16>) -> (tensor<5x1x?x6xf16>, tensor<1x?x6xf16>)
  %y, %last = ge.gru %x, %w, %r, %b, %h {linear_before_reset = true} : (tensor<5x?x4xf16>, tensor<1x18x4xf16>, tensor<1x18x6xf16>, tensor<1x36xf16>, tensor<1x1x6xf16>) -> (tensor<5x1x?x6xf16>, tensor<1x?x6xf16>)
  return
}

// CHECK-LABEL: func.func @lstm
func.func @lstm(%x: tensor<5x3x4xf32>, %w: tensor<1x24x4xf32>, %r: tensor<1x24x6xf32>, %b: tensor<1x48xf32>, %h: tensor<1x3x6xf32>, %c: tensor<1x1x6xf32>, %p: tensor<1x18xf32>) {
  // CHECK: %y, %last, %cell = ge.lstm %x, %w, %r, %b, %h, %c, %p : (tensor<5x3x4xf32>, tensor<1x24x4xf32>, tensor<1x24x6xf32>, tensor<1x48xf32>, tensor<1x3x6xf32>, tensor<1x1x6xf32>, tensor<1x18xf32>) -> (tensor<5x1x3x6xf32>, tensor<1x3x6xf32>, tensor<1x3x6xf32>)
  %y, %last, %cell = ge.lstm %x, %w, %r, %b, %h, %c, %p : (tensor<5x3x4xf32>, tensor<1x24x4xf32>, tensor<1x24x6xf32>, tensor<1x48xf32>, tensor<1x3x6xf32>, tensor<1x1x6xf32>, tensor<1x18xf32>) -> (tensor<5x1x3x6xf32>, tensor<1x3x6xf32>, tensor<1x3x6xf32>)
  return
}

// CHECK-LABEL: func.func @recurrent_steps
func.func @recurrent_steps(%g: tensor<5x3x48xf16>, %r: tensor<2x24x6xf16>, %s: tensor<2x2x3x6xf16>, %h: tensor<5x3x18xf32>, %q: tensor<1x18x6xf32>, %t: tensor<1x1x3x6xf32>, %i: tensor<1x6xf32>) {
  // CHECK: %y, %last = ge.recurrent_steps %g, %r, %s {direction = "bidirectional"} : (tensor<5x3x48xf16>, tensor<2x24x6xf16>, tensor<2x2x3x6xf16>) -> (tensor<5x2x3x6xf16>, tensor<2x2x3x6xf16>)
  %y, %last = ge.recurrent_steps %g, %r, %s {direction = "bidirectional"} : (tensor<5x3x48xf16>, tensor<2x24x6xf16>, tensor<2x2x3x6xf16>) -> (tensor<5x2x3x6xf16>, tensor<2x2x3x6xf16>)
  // CHECK: %z, %end = ge.recurrent_steps %h, %q, %t, %i {cell = "gru"} : (tensor<5x3x18xf32>, tensor<1x18x6xf32>, tensor<1x1x3x6xf32>, tensor<1x6xf32>) -> (tensor<5x1x3x6xf32>, tensor<1x1x3x6xf32>)
  %z, %end = ge.recurrent_steps %h, %q, %t, %i {cell = "gru"} : (tensor<5x3x18xf32>, tensor<1x18x6xf32>, tensor<1x1x3x6xf32>, tensor<1x6xf32>) -> (tensor<5x1x3x6xf32>, tensor<1x1x3x6xf32>)
  return
}

// CHECK-LABEL: func.func @linear_attention
func.func @linear_attention(%q: tensor<2x3x16xf32>, %k: tensor<2x3x8xf32>, %v: tensor<2x3x6xf32>, %s: tensor<1x2x4x3xf32>, %d: tensor<1x1x2xf32>) {
  // CHECK: %y, %last = ge.linear_attention %q, %k, %v, %s, %d {heads = 4, kv_heads = 2, scale = 5.000000e-01} : (tensor<2x3x16xf32>, tensor<2x3x8xf32>, tensor<2x3x6xf32>, tensor<1x2x4x3xf32>, tensor<1x1x2xf32>) -> (tensor<2x3x12xf32>, tensor<2x2x4x3xf32>)
  %y, %last = ge.linear_attention %q, %k, %v, %s, %d {heads = 4, kv_heads = 2, scale = 0.5} : (tensor<2x3x16xf32>, tensor<2x3x8xf32>, tensor<2x3x6xf32>, tensor<1x2x4x3xf32>, tensor<1x1x2xf32>) -> (tensor<2x3x12xf32>, tensor<2x2x4x3xf32>)
  return
}
