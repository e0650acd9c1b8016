// RUN: ge-opt --no-locations --fold-constants='max-growth=1024' --split-input-file %s | FileCheck %s

// 4 bytes would become 4 KiB.
// CHECK-LABEL: func.func @expand
func.func @expand() -> tensor<1024xf32> {
  // CHECK-NEXT: %[[C:.*]] = ge.constant dense<3.000000e+00> : tensor<1xf32>
  // CHECK-NEXT: ge.expand %[[C]] {shape = [1024]}
  %c = ge.constant dense<[1.0]> : tensor<1xf32>
  %two = ge.constant dense<[2.0]> : tensor<1xf32>
  %0 = ge.add %c, %two : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %1 = ge.expand %0 {shape = [1024]} : (tensor<1xf32>) -> tensor<1024xf32>
  return %1 : tensor<1024xf32>
}

// -----

// Exactly 1024 bytes more are let in, 1028 are not.
// CHECK-LABEL: func.func @limit
func.func @limit() -> (tensor<257xf32>, tensor<258xf32>) {
  %c = ge.constant dense<[1.0]> : tensor<1xf32>
  // CHECK: ge.constant #ge.fold<"ge.tile"
  %0 = ge.tile %c {repeats = [257]} : (tensor<1xf32>) -> tensor<257xf32>
  // CHECK-NEXT: ge.tile
  %1 = ge.tile %c {repeats = [258]} : (tensor<1xf32>) -> tensor<258xf32>
  return %0, %1 : tensor<257xf32>, tensor<258xf32>
}

// -----

// The large one is on the way to a small one only.
// CHECK-LABEL: func.func @middle
func.func @middle() -> tensor<1xf32> {
  %c = ge.constant dense<[0.5]> : tensor<1xf32>
  %0 = ge.expand %c {shape = [1024]} : (tensor<1xf32>) -> tensor<1024xf32>
  %1 = ge.reduce_sum %0 {axes = [0]} : (tensor<1024xf32>) -> tensor<1xf32>
  // CHECK-NEXT: %[[S:.*]] = ge.constant dense<5.120000e+02> : tensor<1xf32>
  // CHECK-NEXT: return %[[S]]
  return %1 : tensor<1xf32>
}

// -----

// Read by others as well, the large one stays, and the small one is a number nevertheless.
// CHECK-LABEL: func.func @both
func.func @both(%x: tensor<1024xf32>) -> (tensor<1024xf32>, tensor<1xf32>) {
  %c = ge.constant dense<[0.5]> : tensor<1xf32>
  // CHECK: %[[E:.*]] = ge.expand
  %0 = ge.expand %c {shape = [1024]} : (tensor<1xf32>) -> tensor<1024xf32>
  // CHECK-NEXT: ge.mul %x, %[[E]]
  %1 = ge.mul %x, %0 : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  // CHECK-NEXT: ge.constant dense<5.120000e+02>
  %2 = ge.reduce_sum %0 {axes = [0]} : (tensor<1024xf32>) -> tensor<1xf32>
  return %1, %2 : tensor<1024xf32>, tensor<1xf32>
}

// -----

// Two weights side by side are no larger than the two; one weight beside itself is.
// CHECK-LABEL: func.func @weights
func.func @weights() -> (tensor<1200xf32>, tensor<1200xf32>) {
  %a = ge.constant #ge.weight<"a", sha256 = "1111111111111111111111111111111111111111111111111111111111111111"> : tensor<600xf32>
  %b = ge.constant #ge.weight<"b", sha256 = "2222222222222222222222222222222222222222222222222222222222222222"> : tensor<600xf32>
  // CHECK: ge.constant #ge.fold<"ge.concat"
  %0 = ge.concat %a, %b {axis = 0} : (tensor<600xf32>, tensor<600xf32>) -> tensor<1200xf32>
  // CHECK: ge.concat
  %1 = ge.concat %a, %a {axis = 0} : (tensor<600xf32>, tensor<600xf32>) -> tensor<1200xf32>
  return %0, %1 : tensor<1200xf32>, tensor<1200xf32>
}
