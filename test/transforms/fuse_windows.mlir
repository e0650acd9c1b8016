// RUN: ge-opt --no-locations --fuse-windows --split-input-file %s | FileCheck %s
// Windows of 2 x 2 in a map of 4 x 4: both products work on the rows of the map.
// CHECK-LABEL: func.func @windows
// CHECK: %[[F:.*]] = ge.reshape %x {shape = [16, 32]}
// CHECK: %[[P:.*]] = ge.matmul %[[F]], %w : (tensor<16x32xf32>, tensor<32x96xf32>) -> tensor<16x96xf32>
// CHECK: %[[Y:.*]] = ge.fused ins(%[[P]] : tensor<16x96xf32>) {anchor = "ge.matmul"} {
// CHECK: ge.window_partition %{{.*}} {grid = [1, 4, 4], window = [2, 2], shift = [0, 0]}
// CHECK-NEXT: ge.split_heads %{{.*}} {heads = 6}
// CHECK-COUNT-3: ge.slice
// CHECK: ge.softmax
// CHECK: ge.merge_heads
// CHECK-NEXT: ge.window_merge %{{.*}} {grid = [1, 4, 4], window = [2, 2], shift = [0, 0]}
// CHECK: %[[O:.*]] = ge.matmul %[[Y]], %o : (tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<16x32xf32>
// CHECK-NEXT: %[[Z:.*]] = ge.reshape %[[O]] {shape = [1, 4, 4, 32]}
// CHECK-NEXT: return %[[Z]]
func.func @windows(%x: tensor<1x4x4x32xf32>) -> tensor<1x4x4x32xf32> {
  %w = ge.constant dense<0.5> : tensor<32x96xf32>
  %o = ge.constant dense<0.25> : tensor<32x32xf32>
  %r0 = ge.reshape %x {shape = [2, 2, 2, 64]} : (tensor<1x4x4x32xf32>) -> tensor<2x2x2x64xf32>
  %r1 = ge.transpose %r0 {perm = [0, 2, 1, 3]} : (tensor<2x2x2x64xf32>) -> tensor<2x2x2x64xf32>
  %win = ge.reshape %r1 {shape = [4, 4, 32]} : (tensor<2x2x2x64xf32>) -> tensor<4x4x32xf32>
  %p = ge.matmul %win, %w : (tensor<4x4x32xf32>, tensor<32x96xf32>) -> tensor<4x4x96xf32>
  %h = ge.split_heads %p {heads = 6} : (tensor<4x4x96xf32>) -> tensor<4x6x4x16xf32>
  %q = ge.slice %h {starts = [0], ends = [2], axes = [1], steps = [1]} : (tensor<4x6x4x16xf32>) -> tensor<4x2x4x16xf32>
  %k = ge.slice %h {starts = [2], ends = [4], axes = [1], steps = [1]} : (tensor<4x6x4x16xf32>) -> tensor<4x2x4x16xf32>
  %v = ge.slice %h {starts = [4], ends = [6], axes = [1], steps = [1]} : (tensor<4x6x4x16xf32>) -> tensor<4x2x4x16xf32>
  %y = ge.fused ins(%q, %k, %v : tensor<4x2x4x16xf32>, tensor<4x2x4x16xf32>, tensor<4x2x4x16xf32>) {anchor = "ge.matmul"} {
  ^bb0(%a: tensor<4x2x4x16xf32>, %b: tensor<4x2x4x16xf32>, %c: tensor<4x2x4x16xf32>):
    %s = ge.matmul %a, %b {transpose_b = true} : (tensor<4x2x4x16xf32>, tensor<4x2x4x16xf32>) -> tensor<4x2x4x4xf32>
    %t = ge.softmax %s {axis = 3} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %u = ge.matmul %t, %c : (tensor<4x2x4x4xf32>, tensor<4x2x4x16xf32>) -> tensor<4x2x4x16xf32>
    ge.yield %u : tensor<4x2x4x16xf32>
  } -> tensor<4x2x4x16xf32>
  %m = ge.merge_heads %y : (tensor<4x2x4x16xf32>) -> tensor<4x4x32xf32>
  %out = ge.matmul %m, %o : (tensor<4x4x32xf32>, tensor<32x32xf32>) -> tensor<4x4x32xf32>
  %b0 = ge.reshape %out {shape = [2, 2, 2, 64]} : (tensor<4x4x32xf32>) -> tensor<2x2x2x64xf32>
  %b1 = ge.transpose %b0 {perm = [0, 2, 1, 3]} : (tensor<2x2x2x64xf32>) -> tensor<2x2x2x64xf32>
  %z = ge.reshape %b1 {shape = [1, 4, 4, 32]} : (tensor<2x2x2x64xf32>) -> tensor<1x4x4x32xf32>
  return %z : tensor<1x4x4x32xf32>
}

// -----

// The map is rolled by one pixel first, and back.
// CHECK-LABEL: func.func @shifted
// CHECK: %[[F:.*]] = ge.reshape %x {shape = [16, 32]}
// CHECK: %[[P:.*]] = ge.matmul %[[F]], %w : (tensor<16x32xf32>, tensor<32x96xf32>) -> tensor<16x96xf32>
// CHECK: %[[Y:.*]] = ge.fused ins(%[[P]] : tensor<16x96xf32>) {anchor = "ge.matmul"} {
// CHECK: ge.window_partition %{{.*}} {grid = [1, 4, 4], window = [2, 2], shift = [1, 1]}
// CHECK-NEXT: ge.split_heads %{{.*}} {heads = 6}
// CHECK-COUNT-3: ge.slice
// CHECK: ge.softmax
// CHECK: ge.merge_heads
// CHECK-NEXT: ge.window_merge %{{.*}} {grid = [1, 4, 4], window = [2, 2], shift = [1, 1]}
// CHECK: %[[O:.*]] = ge.matmul %[[Y]], %o : (tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<16x32xf32>
// CHECK-NEXT: %[[Z:.*]] = ge.reshape %[[O]] {shape = [1, 4, 4, 32]}
// CHECK-NEXT: return %[[Z]]
func.func @shifted(%x: tensor<1x4x4x32xf32>) -> tensor<1x4x4x32xf32> {
  %w = ge.constant dense<0.5> : tensor<32x96xf32>
  %o = ge.constant dense<0.25> : tensor<32x32xf32>
  %i0l = ge.slice %x {starts = [0], ends = [1], axes = [1], steps = [1]} : (tensor<1x4x4x32xf32>) -> tensor<1x1x4x32xf32>
  %i0r = ge.slice %x {starts = [1], ends = [4], axes = [1], steps = [1]} : (tensor<1x4x4x32xf32>) -> tensor<1x3x4x32xf32>
  %it = ge.concat %i0r, %i0l {axis = 1} : (tensor<1x3x4x32xf32>, tensor<1x1x4x32xf32>) -> tensor<1x4x4x32xf32>
  %i1l = ge.slice %it {starts = [0], ends = [1], axes = [2], steps = [1]} : (tensor<1x4x4x32xf32>) -> tensor<1x4x1x32xf32>
  %i1r = ge.slice %it {starts = [1], ends = [4], axes = [2], steps = [1]} : (tensor<1x4x4x32xf32>) -> tensor<1x4x3x32xf32>
  %rolled = ge.concat %i1r, %i1l {axis = 2} : (tensor<1x4x3x32xf32>, tensor<1x4x1x32xf32>) -> tensor<1x4x4x32xf32>
  %r0 = ge.reshape %rolled {shape = [2, 2, 2, 64]} : (tensor<1x4x4x32xf32>) -> tensor<2x2x2x64xf32>
  %r1 = ge.transpose %r0 {perm = [0, 2, 1, 3]} : (tensor<2x2x2x64xf32>) -> tensor<2x2x2x64xf32>
  %win = ge.reshape %r1 {shape = [4, 4, 32]} : (tensor<2x2x2x64xf32>) -> tensor<4x4x32xf32>
  %p = ge.matmul %win, %w : (tensor<4x4x32xf32>, tensor<32x96xf32>) -> tensor<4x4x96xf32>
  %h = ge.split_heads %p {heads = 6} : (tensor<4x4x96xf32>) -> tensor<4x6x4x16xf32>
  %q = ge.slice %h {starts = [0], ends = [2], axes = [1], steps = [1]} : (tensor<4x6x4x16xf32>) -> tensor<4x2x4x16xf32>
  %k = ge.slice %h {starts = [2], ends = [4], axes = [1], steps = [1]} : (tensor<4x6x4x16xf32>) -> tensor<4x2x4x16xf32>
  %v = ge.slice %h {starts = [4], ends = [6], axes = [1], steps = [1]} : (tensor<4x6x4x16xf32>) -> tensor<4x2x4x16xf32>
  %y = ge.fused ins(%q, %k, %v : tensor<4x2x4x16xf32>, tensor<4x2x4x16xf32>, tensor<4x2x4x16xf32>) {anchor = "ge.matmul"} {
  ^bb0(%a: tensor<4x2x4x16xf32>, %b: tensor<4x2x4x16xf32>, %c: tensor<4x2x4x16xf32>):
    %s = ge.matmul %a, %b {transpose_b = true} : (tensor<4x2x4x16xf32>, tensor<4x2x4x16xf32>) -> tensor<4x2x4x4xf32>
    %t = ge.softmax %s {axis = 3} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %u = ge.matmul %t, %c : (tensor<4x2x4x4xf32>, tensor<4x2x4x16xf32>) -> tensor<4x2x4x16xf32>
    ge.yield %u : tensor<4x2x4x16xf32>
  } -> tensor<4x2x4x16xf32>
  %m = ge.merge_heads %y : (tensor<4x2x4x16xf32>) -> tensor<4x4x32xf32>
  %out = ge.matmul %m, %o : (tensor<4x4x32xf32>, tensor<32x32xf32>) -> tensor<4x4x32xf32>
  %b0 = ge.reshape %out {shape = [2, 2, 2, 64]} : (tensor<4x4x32xf32>) -> tensor<2x2x2x64xf32>
  %b1 = ge.transpose %b0 {perm = [0, 2, 1, 3]} : (tensor<2x2x2x64xf32>) -> tensor<2x2x2x64xf32>
  %unrolled = ge.reshape %b1 {shape = [1, 4, 4, 32]} : (tensor<2x2x2x64xf32>) -> tensor<1x4x4x32xf32>
  %o0l = ge.slice %unrolled {starts = [0], ends = [3], axes = [1], steps = [1]} : (tensor<1x4x4x32xf32>) -> tensor<1x3x4x32xf32>
  %o0r = ge.slice %unrolled {starts = [3], ends = [4], axes = [1], steps = [1]} : (tensor<1x4x4x32xf32>) -> tensor<1x1x4x32xf32>
  %ot = ge.concat %o0r, %o0l {axis = 1} : (tensor<1x1x4x32xf32>, tensor<1x3x4x32xf32>) -> tensor<1x4x4x32xf32>
  %o1l = ge.slice %ot {starts = [0], ends = [3], axes = [2], steps = [1]} : (tensor<1x4x4x32xf32>) -> tensor<1x4x3x32xf32>
  %o1r = ge.slice %ot {starts = [3], ends = [4], axes = [2], steps = [1]} : (tensor<1x4x4x32xf32>) -> tensor<1x4x1x32xf32>
  %z = ge.concat %o1r, %o1l {axis = 2} : (tensor<1x4x1x32xf32>, tensor<1x4x3x32xf32>) -> tensor<1x4x4x32xf32>
  return %z : tensor<1x4x4x32xf32>
}

// -----

// Rolled, and not back: the result belongs to other pixels.
// CHECK-LABEL: func.func @never_back
// CHECK-NOT: ge.window_
func.func @never_back(%x: tensor<1x4x4x32xf32>) -> tensor<1x4x4x32xf32> {
  %w = ge.constant dense<0.5> : tensor<32x96xf32>
  %o = ge.constant dense<0.25> : tensor<32x32xf32>
  %i0l = ge.slice %x {starts = [0], ends = [1], axes = [1], steps = [1]} : (tensor<1x4x4x32xf32>) -> tensor<1x1x4x32xf32>
  %i0r = ge.slice %x {starts = [1], ends = [4], axes = [1], steps = [1]} : (tensor<1x4x4x32xf32>) -> tensor<1x3x4x32xf32>
  %it = ge.concat %i0r, %i0l {axis = 1} : (tensor<1x3x4x32xf32>, tensor<1x1x4x32xf32>) -> tensor<1x4x4x32xf32>
  %i1l = ge.slice %it {starts = [0], ends = [1], axes = [2], steps = [1]} : (tensor<1x4x4x32xf32>) -> tensor<1x4x1x32xf32>
  %i1r = ge.slice %it {starts = [1], ends = [4], axes = [2], steps = [1]} : (tensor<1x4x4x32xf32>) -> tensor<1x4x3x32xf32>
  %rolled = ge.concat %i1r, %i1l {axis = 2} : (tensor<1x4x3x32xf32>, tensor<1x4x1x32xf32>) -> tensor<1x4x4x32xf32>
  %r0 = ge.reshape %rolled {shape = [2, 2, 2, 64]} : (tensor<1x4x4x32xf32>) -> tensor<2x2x2x64xf32>
  %r1 = ge.transpose %r0 {perm = [0, 2, 1, 3]} : (tensor<2x2x2x64xf32>) -> tensor<2x2x2x64xf32>
  %win = ge.reshape %r1 {shape = [4, 4, 32]} : (tensor<2x2x2x64xf32>) -> tensor<4x4x32xf32>
  %p = ge.matmul %win, %w : (tensor<4x4x32xf32>, tensor<32x96xf32>) -> tensor<4x4x96xf32>
  %h = ge.split_heads %p {heads = 6} : (tensor<4x4x96xf32>) -> tensor<4x6x4x16xf32>
  %q = ge.slice %h {starts = [0], ends = [2], axes = [1], steps = [1]} : (tensor<4x6x4x16xf32>) -> tensor<4x2x4x16xf32>
  %k = ge.slice %h {starts = [2], ends = [4], axes = [1], steps = [1]} : (tensor<4x6x4x16xf32>) -> tensor<4x2x4x16xf32>
  %v = ge.slice %h {starts = [4], ends = [6], axes = [1], steps = [1]} : (tensor<4x6x4x16xf32>) -> tensor<4x2x4x16xf32>
  %y = ge.fused ins(%q, %k, %v : tensor<4x2x4x16xf32>, tensor<4x2x4x16xf32>, tensor<4x2x4x16xf32>) {anchor = "ge.matmul"} {
  ^bb0(%a: tensor<4x2x4x16xf32>, %b: tensor<4x2x4x16xf32>, %c: tensor<4x2x4x16xf32>):
    %s = ge.matmul %a, %b {transpose_b = true} : (tensor<4x2x4x16xf32>, tensor<4x2x4x16xf32>) -> tensor<4x2x4x4xf32>
    %t = ge.softmax %s {axis = 3} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %u = ge.matmul %t, %c : (tensor<4x2x4x4xf32>, tensor<4x2x4x16xf32>) -> tensor<4x2x4x16xf32>
    ge.yield %u : tensor<4x2x4x16xf32>
  } -> tensor<4x2x4x16xf32>
  %m = ge.merge_heads %y : (tensor<4x2x4x16xf32>) -> tensor<4x4x32xf32>
  %out = ge.matmul %m, %o : (tensor<4x4x32xf32>, tensor<32x32xf32>) -> tensor<4x4x32xf32>
  %b0 = ge.reshape %out {shape = [2, 2, 2, 64]} : (tensor<4x4x32xf32>) -> tensor<2x2x2x64xf32>
  %b1 = ge.transpose %b0 {perm = [0, 2, 1, 3]} : (tensor<2x2x2x64xf32>) -> tensor<2x2x2x64xf32>
  %z = ge.reshape %b1 {shape = [1, 4, 4, 32]} : (tensor<2x2x2x64xf32>) -> tensor<1x4x4x32xf32>
  return %z : tensor<1x4x4x32xf32>
}

// -----

// Rows in another order.
// CHECK-LABEL: func.func @no_windows
// CHECK-NOT: ge.window_
func.func @no_windows(%x: tensor<1x4x4x32xf32>) -> tensor<1x4x4x32xf32> {
  %w = ge.constant dense<0.5> : tensor<32x96xf32>
  %o = ge.constant dense<0.25> : tensor<32x32xf32>
  %r0 = ge.reshape %x {shape = [2, 2, 2, 64]} : (tensor<1x4x4x32xf32>) -> tensor<2x2x2x64xf32>
  %r1 = ge.transpose %r0 {perm = [1, 2, 0, 3]} : (tensor<2x2x2x64xf32>) -> tensor<2x2x2x64xf32>
  %win = ge.reshape %r1 {shape = [4, 4, 32]} : (tensor<2x2x2x64xf32>) -> tensor<4x4x32xf32>
  %p = ge.matmul %win, %w : (tensor<4x4x32xf32>, tensor<32x96xf32>) -> tensor<4x4x96xf32>
  %h = ge.split_heads %p {heads = 6} : (tensor<4x4x96xf32>) -> tensor<4x6x4x16xf32>
  %q = ge.slice %h {starts = [0], ends = [2], axes = [1], steps = [1]} : (tensor<4x6x4x16xf32>) -> tensor<4x2x4x16xf32>
  %k = ge.slice %h {starts = [2], ends = [4], axes = [1], steps = [1]} : (tensor<4x6x4x16xf32>) -> tensor<4x2x4x16xf32>
  %v = ge.slice %h {starts = [4], ends = [6], axes = [1], steps = [1]} : (tensor<4x6x4x16xf32>) -> tensor<4x2x4x16xf32>
  %y = ge.fused ins(%q, %k, %v : tensor<4x2x4x16xf32>, tensor<4x2x4x16xf32>, tensor<4x2x4x16xf32>) {anchor = "ge.matmul"} {
  ^bb0(%a: tensor<4x2x4x16xf32>, %b: tensor<4x2x4x16xf32>, %c: tensor<4x2x4x16xf32>):
    %s = ge.matmul %a, %b {transpose_b = true} : (tensor<4x2x4x16xf32>, tensor<4x2x4x16xf32>) -> tensor<4x2x4x4xf32>
    %t = ge.softmax %s {axis = 3} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %u = ge.matmul %t, %c : (tensor<4x2x4x4xf32>, tensor<4x2x4x16xf32>) -> tensor<4x2x4x16xf32>
    ge.yield %u : tensor<4x2x4x16xf32>
  } -> tensor<4x2x4x16xf32>
  %m = ge.merge_heads %y : (tensor<4x2x4x16xf32>) -> tensor<4x4x32xf32>
  %out = ge.matmul %m, %o : (tensor<4x4x32xf32>, tensor<32x32xf32>) -> tensor<4x4x32xf32>
  %b0 = ge.reshape %out {shape = [2, 2, 2, 64]} : (tensor<4x4x32xf32>) -> tensor<2x2x2x64xf32>
  %b1 = ge.transpose %b0 {perm = [0, 2, 1, 3]} : (tensor<2x2x2x64xf32>) -> tensor<2x2x2x64xf32>
  %z = ge.reshape %b1 {shape = [1, 4, 4, 32]} : (tensor<2x2x2x64xf32>) -> tensor<1x4x4x32xf32>
  return %z : tensor<1x4x4x32xf32>
}

// -----

// Queries, keys and values are columns of one product, and heads of each of them: heads of the whole.
// CHECK-LABEL: func.func @columns
// CHECK: %[[P:.*]] = ge.matmul %{{.*}}, %w : (tensor<16x32xf32>, tensor<32x96xf32>) -> tensor<16x96xf32>
// CHECK: ge.fused ins(%[[P]] : tensor<16x96xf32>) {anchor = "ge.matmul"} {
// CHECK: ge.window_partition %{{.*}} {grid = [1, 4, 4], window = [2, 2], shift = [0, 0]}
// CHECK-NEXT: %[[H:.*]] = ge.split_heads %{{.*}} {heads = 6}
// CHECK-NEXT: ge.slice %[[H]] {starts = [0], ends = [2], axes = [1], steps = [1]}
// CHECK-NEXT: ge.slice %[[H]] {starts = [2], ends = [4], axes = [1], steps = [1]}
// CHECK-NEXT: ge.slice %[[H]] {starts = [4], ends = [6], axes = [1], steps = [1]}
func.func @columns(%x: tensor<1x4x4x32xf32>) -> tensor<1x4x4x32xf32> {
  %w = ge.constant dense<0.5> : tensor<32x96xf32>
  %o = ge.constant dense<0.25> : tensor<32x32xf32>
  %r0 = ge.reshape %x {shape = [2, 2, 2, 64]} : (tensor<1x4x4x32xf32>) -> tensor<2x2x2x64xf32>
  %r1 = ge.transpose %r0 {perm = [0, 2, 1, 3]} : (tensor<2x2x2x64xf32>) -> tensor<2x2x2x64xf32>
  %win = ge.reshape %r1 {shape = [4, 4, 32]} : (tensor<2x2x2x64xf32>) -> tensor<4x4x32xf32>
  %p = ge.matmul %win, %w : (tensor<4x4x32xf32>, tensor<32x96xf32>) -> tensor<4x4x96xf32>
  %qc = ge.slice %p {starts = [0], ends = [32], axes = [2], steps = [1]} : (tensor<4x4x96xf32>) -> tensor<4x4x32xf32>
  %q = ge.split_heads %qc {heads = 2} : (tensor<4x4x32xf32>) -> tensor<4x2x4x16xf32>
  %kc = ge.slice %p {starts = [32], ends = [64], axes = [2], steps = [1]} : (tensor<4x4x96xf32>) -> tensor<4x4x32xf32>
  %k = ge.split_heads %kc {heads = 2} : (tensor<4x4x32xf32>) -> tensor<4x2x4x16xf32>
  %vc = ge.slice %p {starts = [64], ends = [96], axes = [2], steps = [1]} : (tensor<4x4x96xf32>) -> tensor<4x4x32xf32>
  %v = ge.split_heads %vc {heads = 2} : (tensor<4x4x32xf32>) -> tensor<4x2x4x16xf32>
  %y = ge.fused ins(%q, %k, %v : tensor<4x2x4x16xf32>, tensor<4x2x4x16xf32>, tensor<4x2x4x16xf32>) {anchor = "ge.matmul"} {
  ^bb0(%a: tensor<4x2x4x16xf32>, %b: tensor<4x2x4x16xf32>, %c: tensor<4x2x4x16xf32>):
    %s = ge.matmul %a, %b {transpose_b = true} : (tensor<4x2x4x16xf32>, tensor<4x2x4x16xf32>) -> tensor<4x2x4x4xf32>
    %t = ge.softmax %s {axis = 3} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %u = ge.matmul %t, %c : (tensor<4x2x4x4xf32>, tensor<4x2x4x16xf32>) -> tensor<4x2x4x16xf32>
    ge.yield %u : tensor<4x2x4x16xf32>
  } -> tensor<4x2x4x16xf32>
  %m = ge.merge_heads %y : (tensor<4x2x4x16xf32>) -> tensor<4x4x32xf32>
  %out = ge.matmul %m, %o : (tensor<4x4x32xf32>, tensor<32x32xf32>) -> tensor<4x4x32xf32>
  %b0 = ge.reshape %out {shape = [2, 2, 2, 64]} : (tensor<4x4x32xf32>) -> tensor<2x2x2x64xf32>
  %b1 = ge.transpose %b0 {perm = [0, 2, 1, 3]} : (tensor<2x2x2x64xf32>) -> tensor<2x2x2x64xf32>
  %z = ge.reshape %b1 {shape = [1, 4, 4, 32]} : (tensor<2x2x2x64xf32>) -> tensor<1x4x4x32xf32>
  return %z : tensor<1x4x4x32xf32>
}

// -----

// Columns that begin inside a head of the whole.
// CHECK-LABEL: func.func @columns_between_heads
// CHECK-NOT: ge.window_
func.func @columns_between_heads(%x: tensor<1x4x4x32xf32>) -> tensor<1x4x4x32xf32> {
  %w = ge.constant dense<0.5> : tensor<32x96xf32>
  %o = ge.constant dense<0.25> : tensor<32x32xf32>
  %r0 = ge.reshape %x {shape = [2, 2, 2, 64]} : (tensor<1x4x4x32xf32>) -> tensor<2x2x2x64xf32>
  %r1 = ge.transpose %r0 {perm = [0, 2, 1, 3]} : (tensor<2x2x2x64xf32>) -> tensor<2x2x2x64xf32>
  %win = ge.reshape %r1 {shape = [4, 4, 32]} : (tensor<2x2x2x64xf32>) -> tensor<4x4x32xf32>
  %p = ge.matmul %win, %w : (tensor<4x4x32xf32>, tensor<32x96xf32>) -> tensor<4x4x96xf32>
  %qc = ge.slice %p {starts = [0], ends = [32], axes = [2], steps = [1]} : (tensor<4x4x96xf32>) -> tensor<4x4x32xf32>
  %q = ge.split_heads %qc {heads = 2} : (tensor<4x4x32xf32>) -> tensor<4x2x4x16xf32>
  %kc = ge.slice %p {starts = [40], ends = [72], axes = [2], steps = [1]} : (tensor<4x4x96xf32>) -> tensor<4x4x32xf32>
  %k = ge.split_heads %kc {heads = 2} : (tensor<4x4x32xf32>) -> tensor<4x2x4x16xf32>
  %vc = ge.slice %p {starts = [64], ends = [96], axes = [2], steps = [1]} : (tensor<4x4x96xf32>) -> tensor<4x4x32xf32>
  %v = ge.split_heads %vc {heads = 2} : (tensor<4x4x32xf32>) -> tensor<4x2x4x16xf32>
  %y = ge.fused ins(%q, %k, %v : tensor<4x2x4x16xf32>, tensor<4x2x4x16xf32>, tensor<4x2x4x16xf32>) {anchor = "ge.matmul"} {
  ^bb0(%a: tensor<4x2x4x16xf32>, %b: tensor<4x2x4x16xf32>, %c: tensor<4x2x4x16xf32>):
    %s = ge.matmul %a, %b {transpose_b = true} : (tensor<4x2x4x16xf32>, tensor<4x2x4x16xf32>) -> tensor<4x2x4x4xf32>
    %t = ge.softmax %s {axis = 3} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %u = ge.matmul %t, %c : (tensor<4x2x4x4xf32>, tensor<4x2x4x16xf32>) -> tensor<4x2x4x16xf32>
    ge.yield %u : tensor<4x2x4x16xf32>
  } -> tensor<4x2x4x16xf32>
  %m = ge.merge_heads %y : (tensor<4x2x4x16xf32>) -> tensor<4x4x32xf32>
  %out = ge.matmul %m, %o : (tensor<4x4x32xf32>, tensor<32x32xf32>) -> tensor<4x4x32xf32>
  %b0 = ge.reshape %out {shape = [2, 2, 2, 64]} : (tensor<4x4x32xf32>) -> tensor<2x2x2x64xf32>
  %b1 = ge.transpose %b0 {perm = [0, 2, 1, 3]} : (tensor<2x2x2x64xf32>) -> tensor<2x2x2x64xf32>
  %z = ge.reshape %b1 {shape = [1, 4, 4, 32]} : (tensor<2x2x2x64xf32>) -> tensor<1x4x4x32xf32>
  return %z : tensor<1x4x4x32xf32>
}
