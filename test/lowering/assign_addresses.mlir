// RUN: ge-opt --no-locations --assign-addresses --split-input-file %s | FileCheck %s

// Weights one after another at multiples of 512 bytes, equal ones once; inputs and outputs at the start of their own
// segments; views where their root is.

// CHECK-LABEL: ascend.task.program @first
ascend.task.program @first soc("Ascend310P3") {
  // CHECK-NEXT: %x = ascend.task.buffer input 0 + 0 : tensor<600xi8>
  %x = ascend.task.buffer input 0 : tensor<600xi8>
  // CHECK-NEXT: ascend.task.buffer input 1 + 0 : tensor<3xi8>
  %x1 = ascend.task.buffer input 1 : tensor<3xi8>
  // CHECK-NEXT: ascend.task.buffer input 0 + 0 alias(%x : tensor<600xi8>) : tensor<6x100xi8>
  %v = ascend.task.buffer input 0 alias(%x : tensor<600xi8>) : tensor<6x100xi8>
  // CHECK-NEXT: ascend.task.buffer weight + 0 dense<1> : tensor<600xi8> : tensor<600xi8>
  %0 = ascend.task.buffer weight dense<1> : tensor<600xi8> : tensor<600xi8>
  // CHECK-NEXT: ascend.task.buffer weight + 1024 dense<2> : tensor<600xi8> : tensor<600xi8>
  %1 = ascend.task.buffer weight dense<2> : tensor<600xi8> : tensor<600xi8>
  // CHECK-NEXT: ascend.task.buffer weight + 0 dense<1> : tensor<600xi8> : tensor<600xi8>
  %2 = ascend.task.buffer weight dense<1> : tensor<600xi8> : tensor<600xi8>
  // CHECK-NEXT: %t = ascend.task.buffer workspace + 4096 : tensor<8xf16>
  %t = ascend.task.buffer workspace + 4096 : tensor<8xf16>
  // CHECK-NEXT: %u = ascend.task.buffer workspace + 4096 alias(%t : tensor<8xf16>) : tensor<2x4xf16>
  %u = ascend.task.buffer workspace alias(%t : tensor<8xf16>) : tensor<2x4xf16>
  // CHECK-NEXT: %w = ascend.task.buffer workspace + 4096 alias(%u : tensor<2x4xf16>) : tensor<4x2xf16>
  %w = ascend.task.buffer workspace alias(%u : tensor<2x4xf16>) : tensor<4x2xf16>
  // CHECK-NEXT: ascend.task.buffer output 0 + 0 : tensor<8xf16>
  %y = ascend.task.buffer output 0 : tensor<8xf16>
}

// The programs of a module share the weight segment. A value stored in another format is another weight.
// CHECK-LABEL: ascend.task.program @second
ascend.task.program @second soc("Ascend310P3") {
  // CHECK-NEXT: ascend.task.buffer weight + 1024 dense<2> : tensor<600xi8> : tensor<600xi8>
  %0 = ascend.task.buffer weight dense<2> : tensor<600xi8> : tensor<600xi8>
  // CHECK-NEXT: ascend.task.buffer weight + 2048 dense<1.000000e+00> : tensor<16x16x1x1xf16> : tensor<16x16x1x1xf16>
  %1 = ascend.task.buffer weight dense<1.0> : tensor<16x16x1x1xf16> : tensor<16x16x1x1xf16>
  // CHECK-NEXT: ascend.task.buffer weight + 2560 dense<1.000000e+00> : tensor<16x16x1x1xf16> : tensor<16x16x1x1xf16, #layout.fractal_z
  %2 = ascend.task.buffer weight dense<1.0> : tensor<16x16x1x1xf16> : tensor<16x16x1x1xf16, #layout.fractal_z<n0 = 16, c0 = 16, groups = 1, pad = zero>>
}
