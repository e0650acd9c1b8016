// RUN: ge-opt --no-locations --share-constants --split-input-file %s | FileCheck %s

// Equal numbers, equal contents under two names, equal recipes.
// CHECK-LABEL: func.func @shared
func.func @shared() -> (tensor<2xf32>, tensor<2xf32>, tensor<80xf32>, tensor<80xf32>) {
  // CHECK-NEXT: %[[A:.*]] = ge.constant dense
  // CHECK-NEXT: %[[W:.*]] = ge.constant #ge.weight<"encoder"
  // CHECK-NEXT: return %[[A]], %[[A]], %[[W]], %[[W]]
  %0 = ge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = ge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %2 = ge.constant #ge.weight<"encoder", sha256 = "1111111111111111111111111111111111111111111111111111111111111111"> : tensor<80xf32>
  %3 = ge.constant #ge.weight<"decoder", sha256 = "1111111111111111111111111111111111111111111111111111111111111111"> : tensor<80xf32>
  return %0, %1, %2, %3 : tensor<2xf32>, tensor<2xf32>, tensor<80xf32>, tensor<80xf32>
}

// -----

// Other bits, another shape or element type, other contents under one name.
// CHECK-LABEL: func.func @different
func.func @different() -> (tensor<1xf32>, tensor<1xf32>, tensor<1x1xf32>, tensor<1xi32>, tensor<80xf32>, tensor<80xf32>, tensor<8x10xf32>) {
  // CHECK-COUNT-7: ge.constant
  %0 = ge.constant dense<0.0> : tensor<1xf32>
  %1 = ge.constant dense<-0.0> : tensor<1xf32>
  %2 = ge.constant dense<0.0> : tensor<1x1xf32>
  %3 = ge.constant dense<0> : tensor<1xi32>
  %4 = ge.constant #ge.weight<"w", sha256 = "1111111111111111111111111111111111111111111111111111111111111111"> : tensor<80xf32>
  %5 = ge.constant #ge.weight<"w", sha256 = "2222222222222222222222222222222222222222222222222222222222222222"> : tensor<80xf32>
  %6 = ge.constant #ge.weight<"w", sha256 = "1111111111111111111111111111111111111111111111111111111111111111"> : tensor<8x10xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<1xf32>, tensor<1xf32>, tensor<1x1xf32>, tensor<1xi32>, tensor<80xf32>, tensor<80xf32>, tensor<8x10xf32>
}
