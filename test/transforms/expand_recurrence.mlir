// RUN: ge-opt --no-locations --expand-recurrence --split-input-file %s | FileCheck %s

// The usual cell keeps its steps where a core has a Cube and a Vector unit: one product for all of them in front.

// CHECK-LABEL: func.func @loops
// CHECK:       ge.matmul
// CHECK-NOT:   ge.matmul
// CHECK:       ge.recurrent_steps %{{.*}}, %{{.*}}, %{{.*}} : (tensor<9x2x64xf32>, tensor<1x64x16xf32>, tensor<2x1x2x16xf32>) -> (tensor<9x1x2x16xf32>, tensor<2x1x2x16xf32>)
func.func @loops(%x: tensor<9x2x8xf32>, %h: tensor<1x2x16xf32>, %c: tensor<1x2x16xf32>) -> tensor<9x1x2x16xf32> {
  %w = ge.constant dense<0.5> : tensor<1x64x8xf32>
  %r = ge.constant dense<0.1> : tensor<1x64x16xf32>
  %b = ge.constant dense<0.0> : tensor<1x128xf32>
  %p = ge.constant dense<0.0> : tensor<1x48xf32>
  %y, %last, %cell = ge.lstm %x, %w, %r, %b, %h, %c, %p : (tensor<9x2x8xf32>, tensor<1x64x8xf32>, tensor<1x64x16xf32>, tensor<1x128xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x48xf32>) -> (tensor<9x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  return %y : tensor<9x1x2x16xf32>
}

// -----

// Peepholes: a product and the gates for each step.

// CHECK-LABEL:   func.func @steps
// CHECK-COUNT-3: ge.matmul
// CHECK-NOT:     ge.recurrent_steps
func.func @steps(%x: tensor<2x2x8xf32>, %h: tensor<1x2x16xf32>, %c: tensor<1x2x16xf32>) -> tensor<2x1x2x16xf32> {
  %w = ge.constant dense<0.5> : tensor<1x64x8xf32>
  %r = ge.constant dense<0.1> : tensor<1x64x16xf32>
  %b = ge.constant dense<0.0> : tensor<1x128xf32>
  %p = ge.constant dense<0.3> : tensor<1x48xf32>
  %y, %last, %cell = ge.lstm %x, %w, %r, %b, %h, %c, %p : (tensor<2x2x8xf32>, tensor<1x64x8xf32>, tensor<1x64x16xf32>, tensor<1x128xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x48xf32>) -> (tensor<2x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  return %y : tensor<2x1x2x16xf32>
}
