// RUN: ge-opt --no-locations --lower-to-kernels --split-input-file %s | FileCheck %s

!x = tensor<2x3x16x16xf16, #layout.fractal_nz<c0 = 16, pad = zero>>
!h = tensor<2x1x16x16xf16, #layout.fractal_nz<c0 = 16, pad = zero>>

// Queries, keys and values are heads of one tensor, in each of two batches: attention reads them there.
// CHECK-LABEL: func.func @in_place
// CHECK-NEXT: %[[Y:.*]] = ascend.task.call @attention_0(%x, %x, %x)
// CHECK-NEXT: return %[[Y]]
func.func @in_place(%x: !x) -> !h {
  %q = ge.slice %x {starts = [0], ends = [1], axes = [1], steps = [1]} : (!x) -> !h
  %k = ge.slice %x {starts = [1], ends = [2], axes = [1], steps = [1]} : (!x) -> !h
  %v = ge.slice %x {starts = [2], ends = [3], axes = [1], steps = [1]} : (!x) -> !h
  %y = ge.fused ins(%q, %k, %v : !h, !h, !h) {anchor = "ge.matmul"} {
  ^bb0(%0: !h, %1: !h, %2: !h):
    %3 = ge.matmul %0, %1 {transpose_b = true} : (!h, !h) -> !h
    %4 = ge.softmax %3 : (!h) -> !h
    %5 = ge.matmul %4, %2 : (!h, !h) -> !h
    ge.yield %5 : !h
  } -> !h
  return %y : !h
}

// -----

!x = tensor<2x3x16x16xf16, #layout.fractal_nz<c0 = 16, pad = zero>>
!h = tensor<2x1x16x16xf16, #layout.fractal_nz<c0 = 16, pad = zero>>

// Keys that leave the graph as well are copied, and so are a mask's.
// CHECK-LABEL: func.func @copied
// CHECK-NEXT: %[[K:.*]] = ascend.task.call @slice_0(%x)
// CHECK-NEXT: %[[M:.*]] = ascend.task.call @slice_1(%x)
// CHECK-NEXT: ascend.task.call @attention_0(%x, %[[K]], %x, %[[M]])
func.func @copied(%x: !x) -> (!h, !h) {
  %q = ge.slice %x {starts = [0], ends = [1], axes = [1], steps = [1]} : (!x) -> !h
  %k = ge.slice %x {starts = [1], ends = [2], axes = [1], steps = [1]} : (!x) -> !h
  %v = ge.slice %x {starts = [2], ends = [3], axes = [1], steps = [1]} : (!x) -> !h
  %m = ge.slice %x {starts = [2], ends = [3], axes = [1], steps = [1]} : (!x) -> !h
  %y = ge.fused ins(%q, %k, %v, %m : !h, !h, !h, !h) {anchor = "ge.matmul"} {
  ^bb0(%0: !h, %1: !h, %2: !h, %3: !h):
    %4 = ge.matmul %0, %1 {transpose_b = true} : (!h, !h) -> !h
    %5 = ge.add %4, %3 : (!h, !h) -> !h
    %6 = ge.softmax %5 : (!h) -> !h
    %7 = ge.matmul %6, %2 : (!h, !h) -> !h
    ge.yield %7 : !h
  } -> !h
  return %y, %k : !h, !h
}

// -----

!x = tensor<2x3x16x8192xf16, #layout.fractal_nz<c0 = 16, pad = zero>>
!h = tensor<2x1x16x8192xf16, #layout.fractal_nz<c0 = 16, pad = zero>>
!s = tensor<2x1x16x16xf16, #layout.fractal_nz<c0 = 16, pad = zero>>

// Heads too wide for one kernel: it falls apart, and its parts read copies.
// CHECK-LABEL: func.func @falls_apart
// CHECK-COUNT-3: ascend.task.call @slice_
// CHECK: ascend.task.call @matmul_
func.func @falls_apart(%x: !x) -> !h {
  %q = ge.slice %x {starts = [0], ends = [1], axes = [1], steps = [1]} : (!x) -> !h
  %k = ge.slice %x {starts = [1], ends = [2], axes = [1], steps = [1]} : (!x) -> !h
  %v = ge.slice %x {starts = [2], ends = [3], axes = [1], steps = [1]} : (!x) -> !h
  %y = ge.fused ins(%q, %k, %v : !h, !h, !h) {anchor = "ge.matmul"} {
  ^bb0(%0: !h, %1: !h, %2: !h):
    %3 = ge.matmul %0, %1 {transpose_b = true} : (!h, !h) -> !s
    %4 = ge.softmax %3 : (!s) -> !s
    %5 = ge.matmul %4, %2 : (!s, !h) -> !h
    ge.yield %5 : !h
  } -> !h
  return %y : !h
}
