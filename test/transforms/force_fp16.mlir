// RUN: ge-opt --no-locations --force-fp16 --split-input-file %s | FileCheck %s

// Casts at the borders only; declared types stay; the bias stays fp32.
// CHECK-LABEL: func.func @borders
// CHECK-SAME: (%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
func.func @borders(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  // CHECK-NEXT: %[[X:.*]] = ge.cast %x : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf16>
  // CHECK-NEXT: %[[W:.*]] = ge.constant dense<1.000000e+00> : tensor<2x2x1x1xf16>
  // CHECK-NEXT: %[[B:.*]] = ge.constant dense<1.000000e-01> : tensor<2xf32>
  %w = ge.constant dense<1.0> : tensor<2x2x1x1xf32>
  %b = ge.constant dense<0.1> : tensor<2xf32>
  // CHECK-NEXT: %[[C:.*]] = ge.conv2d %[[X]], %[[W]], %[[B]] : (tensor<1x2x4x4xf16>, tensor<2x2x1x1xf16>, tensor<2xf32>) -> tensor<1x2x4x4xf16>
  %0 = ge.conv2d %x, %w, %b : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  // CHECK-NEXT: %[[R:.*]] = ge.relu %[[C]] : (tensor<1x2x4x4xf16>) -> tensor<1x2x4x4xf16>
  %1 = ge.relu %0 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  // CHECK-NEXT: ge.cast %[[R]] : (tensor<1x2x4x4xf16>) -> tensor<1x2x4x4xf32>
  // CHECK-NEXT: return
  return %1 : tensor<1x2x4x4xf32>
}

// -----

// Large weights round by recipe; an input with two users is cast once.
// CHECK-LABEL: func.func @recipe
func.func @recipe(%x: tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  // CHECK: %[[X:.*]] = ge.cast %x
  // CHECK-NOT: ge.cast %x
  // CHECK: ge.constant #ge.fold<"ge.cast", [#ge.weight<"w", {{.*}}>], {to = "f16"}, tensor<16x16xf16>>
  %w = ge.constant #ge.weight<"w", sha256 = "0000000000000000000000000000000000000000000000000000000000000000"> : tensor<16x16xf32>
  %0 = ge.matmul %x, %w : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  %1 = ge.tanh %x : (tensor<4x16xf32>) -> tensor<4x16xf32>
  // CHECK: return
  return %0, %1 : tensor<4x16xf32>, tensor<4x16xf32>
}

// -----

// Inside ge.fused as well: x and w in fp16, the bias of the inner convolution in fp32.
// CHECK-LABEL: func.func @fused
func.func @fused(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>, %b: tensor<2xf32>) -> tensor<1x2x4x4xf32> {
  // CHECK: ge.fused ins({{.*}} : tensor<1x2x4x4xf16>, tensor<2x2x1x1xf16>, tensor<2xf32>)
  // CHECK: ge.conv2d {{.*}} -> tensor<1x2x4x4xf16>
  // CHECK: ge.yield {{.*}} : tensor<1x2x4x4xf16>
  %0 = ge.fused ins(%x, %w, %b : tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<2xf32>) {anchor = "ge.conv2d"} {
  ^bb0(%a: tensor<1x2x4x4xf32>, %f: tensor<2x2x1x1xf32>, %c: tensor<2xf32>):
    %1 = ge.conv2d %a, %f, %c : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
    %2 = ge.relu %1 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
    ge.yield %2 : tensor<1x2x4x4xf32>
  } -> tensor<1x2x4x4xf32>
  return %0 : tensor<1x2x4x4xf32>
}

// -----

// Integers and casts from integers: only the fp32 side changes.
// CHECK-LABEL: func.func @integers
func.func @integers(%i: tensor<4xi64>) -> (tensor<4xi64>, tensor<4xf32>) {
  // CHECK-NEXT: ge.add {{.*}} -> tensor<4xi64>
  %0 = ge.add %i, %i : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  // CHECK-NEXT: %[[H:.*]] = ge.cast {{.*}} : (tensor<4xi64>) -> tensor<4xf16>
  %1 = ge.cast %0 : (tensor<4xi64>) -> tensor<4xf32>
  // CHECK-NEXT: %[[E:.*]] = ge.exp %[[H]]
  %2 = ge.exp %1 : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: ge.cast %[[E]] : (tensor<4xf16>) -> tensor<4xf32>
  return %0, %2 : tensor<4xi64>, tensor<4xf32>
}

// -----

// A graph that is in fp16 already, casts at its borders included, stays as it is.
// CHECK-LABEL: func.func @already
func.func @already(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[A:.*]] = ge.cast %x
  // CHECK-NEXT: %[[B:.*]] = ge.exp %[[A]]
  // CHECK-NEXT: %[[C:.*]] = ge.cast %[[B]]
  // CHECK-NEXT: return %[[C]]
  %0 = ge.cast %x : (tensor<4xf32>) -> tensor<4xf16>
  %1 = ge.exp %0 : (tensor<4xf16>) -> tensor<4xf16>
  %2 = ge.cast %1 : (tensor<4xf16>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// A round trip through fp32 inside the graph disappears.
// CHECK-LABEL: func.func @inner_casts
func.func @inner_casts(%x: tensor<4xf16>) -> tensor<4xf16> {
  // CHECK-NEXT: %[[E:.*]] = ge.exp %x : (tensor<4xf16>) -> tensor<4xf16>
  // CHECK-NEXT: return %[[E]]
  %0 = ge.cast %x : (tensor<4xf16>) -> tensor<4xf32>
  %1 = ge.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = ge.cast %1 : (tensor<4xf32>) -> tensor<4xf16>
  return %2 : tensor<4xf16>
}

// -----

// Coordinates, thresholds and bits are no numbers to round: the grid, the boxes and what is read as bits stay fp32.
// CHECK-LABEL: func.func @exact
func.func @exact(%x: tensor<1x2x4x4xf32>, %g: tensor<1x3x3x2xf32>, %b: tensor<1x5x4xf32>, %s: tensor<1x1x5xf32>, %n: tensor<i64>, %t: tensor<f32>) -> (tensor<1x2x3x3xf32>, tensor<?x3xi64>, tensor<1x5x4xi32>) {
  // CHECK: %[[X:.*]] = ge.cast %x
  // CHECK-NOT: ge.cast %{{[gbst] }}
  // CHECK: ge.grid_sample %[[X]], %g : (tensor<1x2x4x4xf16>, tensor<1x3x3x2xf32>) -> tensor<1x2x3x3xf16>
  %0 = ge.grid_sample %x, %g : (tensor<1x2x4x4xf32>, tensor<1x3x3x2xf32>) -> tensor<1x2x3x3xf32>
  // CHECK: ge.non_max_suppression %b, %s, %n, %t, %t
  %1 = ge.non_max_suppression %b, %s, %n, %t, %t : (tensor<1x5x4xf32>, tensor<1x1x5xf32>, tensor<i64>, tensor<f32>, tensor<f32>) -> tensor<?x3xi64>
  // CHECK: ge.bitcast %b : (tensor<1x5x4xf32>) -> tensor<1x5x4xi32>
  %2 = ge.bitcast %b : (tensor<1x5x4xf32>) -> tensor<1x5x4xi32>
  return %0, %1, %2 : tensor<1x2x3x3xf32>, tensor<?x3xi64>, tensor<1x5x4xi32>
}

// -----

// A finite number beyond fp16 becomes its largest; an infinity stays one.
// CHECK-LABEL: func.func @beyond
func.func @beyond(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  // CHECK-DAG: ge.constant dense<[6.550400e+04, -6.550400e+04]> : tensor<2xf16>
  // CHECK-DAG: ge.constant dense<"0x00FC"> : tensor<f16>
  %big = ge.constant dense<[1.0e9, -3.4028234663852886e38]> : tensor<2xf32>
  %inf = ge.constant dense<"0x000080FF"> : tensor<f32>
  %0 = ge.add %x, %big : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = ge.add %x, %inf : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}
