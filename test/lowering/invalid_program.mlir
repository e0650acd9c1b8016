// RUN: ge-opt %s --split-input-file --verify-diagnostics --schedule-tasks --assign-addresses

// What the passes over programs refuse.

func.func @not_laid_out(%x: tensor<8xf16>) -> tensor<8xf16> {
  // expected-error@+1 {{layout.transdata is no task; run lower-to-kernels first}}
  %y = layout.transdata %x : tensor<8xf16> -> tensor<8xf16, #layout.nd>
  return %x : tensor<8xf16>
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
