// RUN: ge-opt %s --split-input-file --verify-diagnostics
// Each case breaks one rule of pooling.

func.func @f(%x: tensor<1x4x9x11xf32>) {
  // expected-error@+1 {{property 'kernel' expected}}
  %y = ge.max_pool %x : (tensor<1x4x9x11xf32>) -> tensor<1x4x9x11xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9x11xf32>) {
  // expected-error@+1 {{kernel must have 2 values, got [3]}}
  %y = ge.max_pool %x {kernel = [3]} : (tensor<1x4x9x11xf32>) -> tensor<1x4x9x11xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9x11xf32>) {
  // expected-error@+1 {{pads [0, 3, 0, 0] must be smaller than the kernel [3, 3]}}
  %y = ge.max_pool %x {kernel = [3, 3], pads = [0, 3, 0, 0]} : (tensor<1x4x9x11xf32>) -> tensor<1x4x9x11xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9x11xf32>) {
  // expected-error@+1 {{the kernel [12, 1] does not fit into the padded input 1x4x9x11}}
  %y = ge.avg_pool %x {kernel = [12, 1]} : (tensor<1x4x9x11xf32>) -> tensor<1x4x9x11xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9x11xf32>) {
  // expected-error@+1 {{kernel, strides and dilations must be positive, pads not negative}}
  %y = ge.avg_pool %x {kernel = [1, 1], strides = [0, 1]} : (tensor<1x4x9x11xf32>) -> tensor<1x4x9x11xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9x11xf32>) {
  // expected-error@+1 {{ge.avg_pool has no attribute 'dilations'}}
  %y = ge.avg_pool %x {kernel = [1, 1], dilations = [1, 1]} : (tensor<1x4x9x11xf32>) -> tensor<1x4x9x11xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9x11xf32>) {
  // expected-error@+1 {{operands 1x4x9x11 give 1x4x4x5, result is declared 1x4x5x6}}
  %y = ge.avg_pool %x {kernel = [2, 2], strides = [2, 2]} : (tensor<1x4x9x11xf32>) -> tensor<1x4x5x6xf32>
  return
}

// -----

func.func @f(%x: tensor<4x9xf32>) {
  // expected-error@+1 {{x must have rank 3 or more, got 4x9}}
  %y = ge.global_avg_pool %x : (tensor<4x9xf32>) -> tensor<4x9xf32>
  return
}
