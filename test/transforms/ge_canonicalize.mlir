// RUN: ge-opt --no-locations --ge-canonicalize --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @no_ops
func.func @no_ops(%x: tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32> {
  %0 = ge.transpose %x {perm = [0, 1, 2, 3]} : (tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32>
  %1 = ge.reshape %0 {shape = [1, 4, 2, 2]} : (tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32>
  %2 = ge.cast %1 : (tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32>
  %3 = ge.pad %2 {pads = [0, 0, 0, 0, 0, 0, 0, 0]} : (tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32>
  %4 = ge.concat %3 {axis = 1} : (tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32>
  // CHECK-NEXT: return %x
  return %4 : tensor<1x4x2x2xf32>
}

// -----

// Same type in and out, but elements move.
// CHECK-LABEL: func.func @square_transpose
func.func @square_transpose(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK: ge.transpose
  %0 = ge.transpose %x {perm = [1, 0]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: func.func @runs
func.func @runs(%x: tensor<2x3x4xf32>) -> (tensor<24xf32>, tensor<4x3x2xf32>) {
  %0 = ge.reshape %x {shape = [2, 12]} : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
  // CHECK-NEXT: ge.reshape %x {shape = [24]}
  %1 = ge.reshape %0 {shape = [24]} : (tensor<2x12xf32>) -> tensor<24xf32>
  %2 = ge.transpose %x {perm = [1, 0, 2]} : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
  // CHECK-NEXT: ge.transpose %x {perm = [2, 1, 0]} : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
  %3 = ge.transpose %2 {perm = [2, 0, 1]} : (tensor<3x2x4xf32>) -> tensor<4x3x2xf32>
  return %1, %3 : tensor<24xf32>, tensor<4x3x2xf32>
}

// -----

// Axes of extent 1 move for free.
// CHECK-LABEL: func.func @unit_axes
func.func @unit_axes(%x: tensor<1x3x1x4xf32>) -> tensor<3x1x1x4xf32> {
  // CHECK-NEXT: ge.reshape %x {shape = [3, 1, 1, 4]}
  %0 = ge.transpose %x {perm = [1, 0, 2, 3]} : (tensor<1x3x1x4xf32>) -> tensor<3x1x1x4xf32>
  return %0 : tensor<3x1x1x4xf32>
}

// -----

// Dead code goes, a constant in a broadcast gets the rank of the feature map.
// CHECK-LABEL: func.func @constants
func.func @constants(%x: tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32> {
  %0 = ge.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %1 = ge.exp %x : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  // CHECK-NEXT: %[[C:.*]] = ge.constant {{.*}} : tensor<1x2x1x1xf32>
  // CHECK-NEXT: ge.mul %x, %[[C]]
  %2 = ge.mul %x, %0 : (tensor<1x2x2x2xf32>, tensor<2x1x1xf32>) -> tensor<1x2x2x2xf32>
  // CHECK-NEXT: return
  return %2 : tensor<1x2x2x2xf32>
}

// -----

// A bias of one row or one number is a vector; one that varies by row, or is not constant, is an Add of its own.
// CHECK-LABEL: func.func @bias
func.func @bias(%x: tensor<2x3xf32>, %w: tensor<3x2xf32>, %d: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %row = ge.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %one = ge.constant dense<3.0> : tensor<f32>
  %column = ge.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  // CHECK: %[[ROW:.*]] = ge.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  // CHECK-NEXT: ge.matmul %x, %w, %[[ROW]]
  %0 = ge.matmul %x, %w, %row : (tensor<2x3xf32>, tensor<3x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
  // CHECK-NEXT: %[[ONE:.*]] = ge.constant dense<3.000000e+00> : tensor<2xf32>
  // CHECK-NEXT: ge.matmul %x, %w, %[[ONE]]
  %1 = ge.matmul %x, %w, %one : (tensor<2x3xf32>, tensor<3x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  // CHECK: ge.matmul %x, %w : {{.*}}
  // CHECK-NEXT: ge.add
  %2 = ge.matmul %x, %w, %column : (tensor<2x3xf32>, tensor<3x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  // CHECK: ge.matmul %x, %w : {{.*}}
  // CHECK-NEXT: ge.add {{.*}}, %d
  %3 = ge.matmul %x, %w, %d : (tensor<2x3xf32>, tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0, %1, %2, %3 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// The reshapes meet when the activation leaves them alone; a single number fits before and after.
// CHECK-LABEL: func.func @lift_elementwise
func.func @lift_elementwise(%x: tensor<1x8x1x4xf32>) -> (tensor<1x8x1x4xf32>, tensor<32xf32>) {
  %two = ge.constant dense<2.0> : tensor<1xf32>
  // CHECK: %[[R:.*]] = ge.relu %x : (tensor<1x8x1x4xf32>) -> tensor<1x8x1x4xf32>
  %0 = ge.reshape %x {shape = [1, 8, 4]} : (tensor<1x8x1x4xf32>) -> tensor<1x8x4xf32>
  %1 = ge.relu %0 : (tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
  %2 = ge.reshape %1 {shape = [1, 8, 1, 4]} : (tensor<1x8x4xf32>) -> tensor<1x8x1x4xf32>
  // CHECK-NEXT: %[[S:.*]] = ge.sub %{{.*}}, %[[R]] : (tensor<1xf32>, tensor<1x8x1x4xf32>) -> tensor<1x8x1x4xf32>
  // CHECK-NEXT: %[[V:.*]] = ge.reshape %[[S]] {shape = [32]}
  %3 = ge.reshape %2 {shape = [8, 4]} : (tensor<1x8x1x4xf32>) -> tensor<8x4xf32>
  %4 = ge.sub %two, %3 : (tensor<1xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %5 = ge.reshape %4 {shape = [32]} : (tensor<8x4xf32>) -> tensor<32xf32>
  // CHECK-NEXT: return %[[R]], %[[V]]
  return %2, %5 : tensor<1x8x1x4xf32>, tensor<32xf32>
}

// -----

// A row goes along where the reshape keeps the columns, and a transpose that reads the result counts as a reshape.
// CHECK-LABEL: func.func @lift_row
// CHECK-NEXT: %[[S:.*]] = ge.add %x, %b : (tensor<6x8xf32>, tensor<8xf32>) -> tensor<6x8xf32>
// CHECK-NEXT: %[[R:.*]] = ge.reshape %[[S]] {shape = [2, 3, 8]}
// CHECK-NEXT: ge.transpose %[[R]]
func.func @lift_row(%x: tensor<6x8xf32>, %b: tensor<8xf32>) -> tensor<3x2x8xf32> {
  %0 = ge.reshape %x {shape = [2, 3, 8]} : (tensor<6x8xf32>) -> tensor<2x3x8xf32>
  %1 = ge.add %0, %b : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  %2 = ge.transpose %1 {perm = [1, 0, 2]} : (tensor<2x3x8xf32>) -> tensor<3x2x8xf32>
  return %2 : tensor<3x2x8xf32>
}

// -----

// Not where a vector is stretched along an axis that the reshape makes, nor where others read either side, nor where no
// reshape follows, nor over a single number of higher rank, nor for what looks at whole rows.
// CHECK-LABEL: func.func @elementwise_stays
func.func @elementwise_stays(%x: tensor<1x8x1x4xf32>, %y: tensor<8x4xf32>, %v: tensor<16xf32>) -> (tensor<32xf32>, tensor<32xf32>, tensor<8x4xf32>, tensor<32xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<32xf32>, tensor<4x8xf32>) {
  // CHECK: %[[A:.*]] = ge.reshape %x {shape = [2, 16]}
  %0 = ge.reshape %x {shape = [2, 16]} : (tensor<1x8x1x4xf32>) -> tensor<2x16xf32>
  // CHECK-NEXT: ge.add %[[A]], %v
  %1 = ge.add %0, %v : (tensor<2x16xf32>, tensor<16xf32>) -> tensor<2x16xf32>
  %2 = ge.reshape %1 {shape = [32]} : (tensor<2x16xf32>) -> tensor<32xf32>
  // CHECK: ge.exp {{.*}} -> tensor<2x16xf32>
  %3 = ge.reshape %x {shape = [2, 16]} : (tensor<1x8x1x4xf32>) -> tensor<2x16xf32>
  %4 = ge.exp %3 : (tensor<2x16xf32>) -> tensor<2x16xf32>
  %5 = ge.reshape %4 {shape = [32]} : (tensor<2x16xf32>) -> tensor<32xf32>
  %6 = ge.reshape %3 {shape = [8, 4]} : (tensor<2x16xf32>) -> tensor<8x4xf32>
  %7 = ge.neg %3 : (tensor<2x16xf32>) -> tensor<2x16xf32>
  %8 = ge.reshape %7 {shape = [32]} : (tensor<2x16xf32>) -> tensor<32xf32>
  %9 = ge.reshape %x {shape = [8, 4]} : (tensor<1x8x1x4xf32>) -> tensor<8x4xf32>
  // CHECK: ge.sqrt {{.*}} -> tensor<8x4xf32>
  %10 = ge.sqrt %9 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: ge.relu {{.*}} -> tensor<4x8xf32>
  %11 = ge.reshape %y {shape = [4, 8]} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %12 = ge.relu %11 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %13 = ge.reshape %12 {shape = [8, 4]} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %one = ge.constant dense<1.5> : tensor<1x1x1xf32>
  // CHECK: ge.mul {{.*}} -> tensor<1x8x4xf32>
  %14 = ge.reshape %y {shape = [1, 8, 4]} : (tensor<8x4xf32>) -> tensor<1x8x4xf32>
  %15 = ge.mul %14, %one : (tensor<1x8x4xf32>, tensor<1x1x1xf32>) -> tensor<1x8x4xf32>
  %16 = ge.reshape %15 {shape = [32]} : (tensor<1x8x4xf32>) -> tensor<32xf32>
  return %2, %5, %6, %8, %10, %13, %16, %12 : tensor<32xf32>, tensor<32xf32>, tensor<8x4xf32>, tensor<32xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<32xf32>, tensor<4x8xf32>
}
