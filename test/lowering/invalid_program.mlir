// RUN: ge-opt %s --split-input-file --verify-diagnostics --schedule-tasks --assign-addresses

// What the passes over programs refuse.

func.func @fused_is_left(%x: tensor<8xf16>) -> tensor<8xf16> {
  // expected-error@+1 {{ge.fused is no task; run lower-to-kernels first}}
  %y = ge.fused ins(%x : tensor<8xf16>) {anchor = "ge.relu"} {
  ^bb0(%a: tensor<8xf16>):
    %t = ge.relu %a : (tensor<8xf16>) -> tensor<8xf16>
    ge.yield %t : tensor<8xf16>
  } -> tensor<8xf16>
  return %y : tensor<8xf16>
}

// -----

func.func @view_of_a_constant() -> tensor<2x4xf16> {
  %c = ge.constant dense<1.0> : tensor<8xf16>
  // expected-error@+1 {{ge.reshape of a constant is left; run fold-constants first}}
  %y = ge.reshape %c {shape = [2, 4]} : (tensor<8xf16>) -> tensor<2x4xf16>
  return %y : tensor<2x4xf16>
}

// -----

ascend.task.program @not_planned soc("Ascend310P3") {
  // expected-error@+1 {{a workspace buffer has no offset; run plan-buffers first}}
  %t = ascend.task.buffer workspace : tensor<8xf16>
}
