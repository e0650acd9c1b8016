// RUN: ge-opt --no-locations --narrow-int64 --split-input-file %s | FileCheck %s

// A place along an axis of 1000: a chain of operators is cast once on the way in and once on the way out.
// CHECK-LABEL: func.func @places
func.func @places(%x: tensor<4x1000xf32>) -> tensor<4x1xi64> {
  // CHECK: %[[T:.*]] = ge.constant {{.*}} : tensor<1xi32>
  // CHECK-NEXT: %[[I:.*]] = ge.arg_max
  // CHECK-NEXT: %[[N:.*]] = ge.cast %[[I]] : (tensor<4x1xi64>) -> tensor<4x1xi32>
  // CHECK-NEXT: %[[A:.*]] = ge.add %[[N]], %[[T]] : (tensor<4x1xi32>, tensor<1xi32>) -> tensor<4x1xi32>
  // CHECK-NEXT: %[[M:.*]] = ge.mul %[[A]], %[[N]] : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x1xi32>
  // CHECK-NEXT: ge.cast %[[M]] : (tensor<4x1xi32>) -> tensor<4x1xi64>
  // CHECK-NEXT: return
  %two = ge.constant dense<2> : tensor<1xi64>
  %i = ge.arg_max %x {axis = 1} : (tensor<4x1000xf32>) -> tensor<4x1xi64>
  %a = ge.add %i, %two : (tensor<4x1xi64>, tensor<1xi64>) -> tensor<4x1xi64>
  %m = ge.mul %a, %i : (tensor<4x1xi64>, tensor<4x1xi64>) -> tensor<4x1xi64>
  return %m : tensor<4x1xi64>
}

// -----

// What was narrow before needs no cast back and forth: the index of a gather.
// CHECK-LABEL: func.func @index
func.func @index(%table: tensor<50x8xf32>, %i: tensor<3xi32>) -> tensor<3x8xf32> {
  // CHECK: ge.gather %table, %i {{.*}}: (tensor<50x8xf32>, tensor<3xi32>) -> tensor<3x8xf32>
  %w = ge.cast %i : (tensor<3xi32>) -> tensor<3xi64>
  %y = ge.gather %table, %w {axis = 0} : (tensor<50x8xf32>, tensor<3xi64>) -> tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}

// -----

// A clip proves what an input does not.
// CHECK-LABEL: func.func @clipped
func.func @clipped(%x: tensor<4xi64>) -> tensor<4xi64> {
  // CHECK: ge.minimum {{.*}} -> tensor<4xi64>
  // CHECK: ge.maximum {{.*}} -> tensor<4xi64>
  // CHECK: ge.add {{.*}} -> tensor<4xi32>
  %low = ge.constant dense<-7> : tensor<1xi64>
  %high = ge.constant dense<1000> : tensor<1xi64>
  %a = ge.minimum %x, %high : (tensor<4xi64>, tensor<1xi64>) -> tensor<4xi64>
  %b = ge.maximum %a, %low : (tensor<4xi64>, tensor<1xi64>) -> tensor<4xi64>
  %c = ge.add %b, %b : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  return %c : tensor<4xi64>
}
