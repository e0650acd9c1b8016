// RUN: ge-opt %s --split-input-file --verify-diagnostics
// Each case breaks one rule of programs, buffers and tasks.

ascend.task.program @p soc("Ascend310P3") {
  // expected-error@+1 {{segment must be one of input, output, weight, workspace}}
  %x = ascend.task.buffer heap : tensor<8xf16>
}

// -----

ascend.task.program @p soc("Ascend310P3") {
  // expected-error@+1 {{weights, and only they, carry a value}}
  %x = "ascend.task.buffer"() <{segment = "workspace", index = 0 : i64, value = dense<1.0> : tensor<8xf16>}> : () -> tensor<8xf16>
}

// -----

ascend.task.program @p soc("Ascend310P3") {
  // expected-error@+1 {{weights, and only they, carry a value}}
  %x = "ascend.task.buffer"() <{segment = "weight", index = 0 : i64}> : () -> tensor<8xf16>
}

// -----

ascend.task.program @p soc("Ascend310P3") {
  %x = ascend.task.buffer input 0 : tensor<8xf16>
  // expected-error@+1 {{shares the storage of input 0, is declared as workspace}}
  %y = ascend.task.buffer workspace alias(%x : tensor<8xf16>) : tensor<8xf16>
}

// -----

ascend.task.program @p soc("Ascend310P3") {
  %x = ascend.task.buffer workspace : tensor<8xf16>
  ascend.task.stream @s0 device 0 {
    // expected-error@+1 {{expected a dictionary}}
    ascend.task.launch "l" @k(%x) -> (%x) blocks(1) "info" : (tensor<8xf16>) -> (tensor<8xf16>)
  }
}

// -----

ascend.task.program @p soc("Ascend310P3") {
  %x = ascend.task.buffer workspace : tensor<8xf16>
  ascend.task.stream @s0 device 0 {
    // expected-error@+1 {{needs at least one block}}
    ascend.task.launch "l" @k(%x) -> (%x) blocks(0) {} : (tensor<8xf16>) -> (tensor<8xf16>)
  }
}

// -----

ascend.task.program @p soc("Ascend310P3") {
  // expected-error@+1 {{only tasks may stand in a stream, got ascend.task.buffer}}
  ascend.task.stream @s0 device 0 {
    %x = ascend.task.buffer workspace : tensor<8xf16>
  }
}

// -----

// expected-error@+1 {{only buffers and streams may stand in a program, got ascend.task.record}}
ascend.task.program @p soc("Ascend310P3") {
  ascend.task.record 0
}
