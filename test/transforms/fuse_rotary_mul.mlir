// RUN: ge-opt --no-locations --fuse-rotary-mul --split-input-file %s | FileCheck %s

// As Llama's exporter writes it; halves may be cut before the batch gets its shape, and factors stand on either side.
// CHECK-LABEL: func.func @llama
// CHECK-NEXT: %[[A:.*]] = ge.rotary_mul %x, %cos, %sin : (tensor<1x2x4x64xf32>, tensor<1x1x4x64xf32>, tensor<1x1x4x64xf32>) -> tensor<1x2x4x64xf32>
// CHECK-NEXT: %[[B:.*]] = ge.reshape %h
// CHECK-NEXT: %[[C:.*]] = ge.rotary_mul %[[B]], %cos, %sin
// CHECK-NEXT: return %[[A]], %[[C]]
func.func @llama(%x: tensor<1x2x4x64xf32>, %h: tensor<2x4x64xf32>, %cos: tensor<1x1x4x64xf32>, %sin: tensor<1x1x4x64xf32>) -> (tensor<1x2x4x64xf32>, tensor<1x2x4x64xf32>) {
  %0 = ge.mul %x, %cos : (tensor<1x2x4x64xf32>, tensor<1x1x4x64xf32>) -> tensor<1x2x4x64xf32>
  %1 = ge.slice %x {starts = [0], ends = [32], axes = [3], steps = [1]} : (tensor<1x2x4x64xf32>) -> tensor<1x2x4x32xf32>
  %2 = ge.slice %x {starts = [32], ends = [64], axes = [3], steps = [1]} : (tensor<1x2x4x64xf32>) -> tensor<1x2x4x32xf32>
  %3 = ge.neg %2 : (tensor<1x2x4x32xf32>) -> tensor<1x2x4x32xf32>
  %4 = ge.concat %3, %1 {axis = 3} : (tensor<1x2x4x32xf32>, tensor<1x2x4x32xf32>) -> tensor<1x2x4x64xf32>
  %5 = ge.mul %4, %sin : (tensor<1x2x4x64xf32>, tensor<1x1x4x64xf32>) -> tensor<1x2x4x64xf32>
  %6 = ge.add %0, %5 : (tensor<1x2x4x64xf32>, tensor<1x2x4x64xf32>) -> tensor<1x2x4x64xf32>
  %y = ge.reshape %h {shape = [1, 2, 4, 64]} : (tensor<2x4x64xf32>) -> tensor<1x2x4x64xf32>
  %7 = ge.mul %cos, %y : (tensor<1x1x4x64xf32>, tensor<1x2x4x64xf32>) -> tensor<1x2x4x64xf32>
  %8 = ge.slice %h {starts = [0], ends = [32], axes = [2], steps = [1]} : (tensor<2x4x64xf32>) -> tensor<2x4x32xf32>
  %9 = ge.slice %h {starts = [32], ends = [64], axes = [2], steps = [1]} : (tensor<2x4x64xf32>) -> tensor<2x4x32xf32>
  %10 = ge.reshape %8 {shape = [1, 2, 4, 32]} : (tensor<2x4x32xf32>) -> tensor<1x2x4x32xf32>
  %11 = ge.reshape %9 {shape = [1, 2, 4, 32]} : (tensor<2x4x32xf32>) -> tensor<1x2x4x32xf32>
  %12 = ge.neg %11 : (tensor<1x2x4x32xf32>) -> tensor<1x2x4x32xf32>
  %13 = ge.concat %12, %10 {axis = 3} : (tensor<1x2x4x32xf32>, tensor<1x2x4x32xf32>) -> tensor<1x2x4x64xf32>
  %14 = ge.mul %sin, %13 : (tensor<1x1x4x64xf32>, tensor<1x2x4x64xf32>) -> tensor<1x2x4x64xf32>
  %15 = ge.add %14, %7 : (tensor<1x2x4x64xf32>, tensor<1x2x4x64xf32>) -> tensor<1x2x4x64xf32>
  return %6, %15 : tensor<1x2x4x64xf32>, tensor<1x2x4x64xf32>
}

// -----

// Something else is turned: the left half has its sign changed; both halves come from elsewhere; a third is cut.
// CHECK-LABEL: func.func @turned_otherwise
// CHECK-NOT: ge.rotary_mul
func.func @turned_otherwise(%x: tensor<4x64xf32>, %z: tensor<4x64xf32>, %w: tensor<4x96xf32>, %cos: tensor<4x64xf32>, %sin: tensor<4x64xf32>) -> (tensor<4x64xf32>, tensor<4x64xf32>, tensor<4x64xf32>) {
  %0 = ge.mul %x, %cos : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %1 = ge.slice %x {starts = [0], ends = [32], axes = [1], steps = [1]} : (tensor<4x64xf32>) -> tensor<4x32xf32>
  %2 = ge.slice %x {starts = [32], ends = [64], axes = [1], steps = [1]} : (tensor<4x64xf32>) -> tensor<4x32xf32>
  %3 = ge.neg %1 : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %4 = ge.concat %2, %3 {axis = 1} : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x64xf32>
  %5 = ge.mul %4, %sin : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %6 = ge.add %0, %5 : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %7 = ge.mul %x, %cos : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %8 = ge.slice %z {starts = [0], ends = [32], axes = [1], steps = [1]} : (tensor<4x64xf32>) -> tensor<4x32xf32>
  %9 = ge.slice %z {starts = [32], ends = [64], axes = [1], steps = [1]} : (tensor<4x64xf32>) -> tensor<4x32xf32>
  %10 = ge.neg %9 : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %11 = ge.concat %10, %8 {axis = 1} : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x64xf32>
  %12 = ge.mul %11, %sin : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %13 = ge.add %7, %12 : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %14 = ge.slice %w {starts = [0], ends = [32], axes = [1], steps = [1]} : (tensor<4x96xf32>) -> tensor<4x32xf32>
  %15 = ge.slice %w {starts = [32], ends = [64], axes = [1], steps = [1]} : (tensor<4x96xf32>) -> tensor<4x32xf32>
  %16 = ge.neg %15 : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %17 = ge.concat %16, %14 {axis = 1} : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x64xf32>
  %18 = ge.mul %17, %sin : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %19 = ge.mul %x, %cos : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %20 = ge.add %19, %18 : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  return %6, %13, %20 : tensor<4x64xf32>, tensor<4x64xf32>, tensor<4x64xf32>
}

// -----

// What the kernel does not take: halves of 24 columns, a matrix of cosines a head, cosines that repeat; and a product
// that somebody else reads.
// CHECK-LABEL: func.func @no_kernel
// CHECK-NOT: ge.rotary_mul
func.func @no_kernel(%x: tensor<2x4x48xf32>, %c: tensor<4x48xf32>, %h: tensor<2x4x64xf32>, %each: tensor<2x4x64xf32>, %row: tensor<1x64xf32>, %one: tensor<4x64xf32>) -> (tensor<2x4x48xf32>, tensor<2x4x64xf32>, tensor<2x4x64xf32>, tensor<2x4x64xf32>, tensor<2x4x64xf32>) {
  %0 = ge.mul %x, %c : (tensor<2x4x48xf32>, tensor<4x48xf32>) -> tensor<2x4x48xf32>
  %1 = ge.slice %x {starts = [0], ends = [24], axes = [2], steps = [1]} : (tensor<2x4x48xf32>) -> tensor<2x4x24xf32>
  %2 = ge.slice %x {starts = [24], ends = [48], axes = [2], steps = [1]} : (tensor<2x4x48xf32>) -> tensor<2x4x24xf32>
  %3 = ge.neg %2 : (tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
  %4 = ge.concat %3, %1 {axis = 2} : (tensor<2x4x24xf32>, tensor<2x4x24xf32>) -> tensor<2x4x48xf32>
  %5 = ge.mul %4, %c : (tensor<2x4x48xf32>, tensor<4x48xf32>) -> tensor<2x4x48xf32>
  %6 = ge.add %0, %5 : (tensor<2x4x48xf32>, tensor<2x4x48xf32>) -> tensor<2x4x48xf32>
  %7 = ge.slice %h {starts = [0], ends = [32], axes = [2], steps = [1]} : (tensor<2x4x64xf32>) -> tensor<2x4x32xf32>
  %8 = ge.slice %h {starts = [32], ends = [64], axes = [2], steps = [1]} : (tensor<2x4x64xf32>) -> tensor<2x4x32xf32>
  %9 = ge.neg %8 : (tensor<2x4x32xf32>) -> tensor<2x4x32xf32>
  %10 = ge.concat %9, %7 {axis = 2} : (tensor<2x4x32xf32>, tensor<2x4x32xf32>) -> tensor<2x4x64xf32>
  %11 = ge.mul %h, %each : (tensor<2x4x64xf32>, tensor<2x4x64xf32>) -> tensor<2x4x64xf32>
  %12 = ge.mul %10, %one : (tensor<2x4x64xf32>, tensor<4x64xf32>) -> tensor<2x4x64xf32>
  %13 = ge.add %11, %12 : (tensor<2x4x64xf32>, tensor<2x4x64xf32>) -> tensor<2x4x64xf32>
  %14 = ge.concat %9, %7 {axis = 2} : (tensor<2x4x32xf32>, tensor<2x4x32xf32>) -> tensor<2x4x64xf32>
  %15 = ge.mul %h, %row : (tensor<2x4x64xf32>, tensor<1x64xf32>) -> tensor<2x4x64xf32>
  %16 = ge.mul %14, %one : (tensor<2x4x64xf32>, tensor<4x64xf32>) -> tensor<2x4x64xf32>
  %17 = ge.add %15, %16 : (tensor<2x4x64xf32>, tensor<2x4x64xf32>) -> tensor<2x4x64xf32>
  %18 = ge.concat %9, %7 {axis = 2} : (tensor<2x4x32xf32>, tensor<2x4x32xf32>) -> tensor<2x4x64xf32>
  %19 = ge.mul %h, %one : (tensor<2x4x64xf32>, tensor<4x64xf32>) -> tensor<2x4x64xf32>
  %20 = ge.mul %18, %one : (tensor<2x4x64xf32>, tensor<4x64xf32>) -> tensor<2x4x64xf32>
  %21 = ge.add %19, %20 : (tensor<2x4x64xf32>, tensor<2x4x64xf32>) -> tensor<2x4x64xf32>
  return %6, %13, %17, %21, %20 : tensor<2x4x48xf32>, tensor<2x4x64xf32>, tensor<2x4x64xf32>, tensor<2x4x64xf32>, tensor<2x4x64xf32>
}
