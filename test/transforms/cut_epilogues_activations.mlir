// RUN: ge-opt --no-locations --cut-epilogues='soc=Ascend950PR_9599 teams=false' --split-input-file %s | FileCheck %s

// FixPipe of this chip limits to 0 .. 6 on the way; what follows is the Vector's.
// CHECK-LABEL: func.func @relu6
// CHECK: %[[C:.*]] = ge.fused ins(%x, %w : {{.*}}) {anchor = "ge.conv2d"} {
// CHECK: ge.conv2d
// CHECK-NEXT: ge.clip
// CHECK-NEXT: ge.yield
// CHECK: ge.add %[[C]], %r
func.func @relu6(%x: tensor<1x16x4x4xf16>, %w: tensor<16x16x1x1xf16>, %r: tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16> {
  %0 = ge.fused ins(%x, %w, %r : tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>, tensor<1x16x4x4xf16>) {anchor = "ge.conv2d"} {
  ^bb0(%a: tensor<1x16x4x4xf16>, %f: tensor<16x16x1x1xf16>, %b: tensor<1x16x4x4xf16>):
    %1 = ge.conv2d %a, %f : (tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>) -> tensor<1x16x4x4xf16>
    %2 = ge.clip %1 {min = 0.0, max = 6.0} : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
    %3 = ge.add %2, %b : (tensor<1x16x4x4xf16>, tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
    ge.yield %3 : tensor<1x16x4x4xf16>
  } -> tensor<1x16x4x4xf16>
  return %0 : tensor<1x16x4x4xf16>
}

// -----

// Limits that do not begin at 0 are no activation of FixPipe's.
// CHECK-LABEL: func.func @other_limits
// CHECK-NOT: ge.fused
// CHECK: %[[C:.*]] = ge.conv2d
// CHECK: ge.clip %[[C]]
func.func @other_limits(%x: tensor<1x16x4x4xf16>, %w: tensor<16x16x1x1xf16>) -> tensor<1x16x4x4xf16> {
  %0 = ge.fused ins(%x, %w : tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>) {anchor = "ge.conv2d"} {
  ^bb0(%a: tensor<1x16x4x4xf16>, %f: tensor<16x16x1x1xf16>):
    %1 = ge.conv2d %a, %f : (tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>) -> tensor<1x16x4x4xf16>
    %2 = ge.clip %1 {min = -1.0, max = 6.0} : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
    ge.yield %2 : tensor<1x16x4x4xf16>
  } -> tensor<1x16x4x4xf16>
  return %0 : tensor<1x16x4x4xf16>
}
