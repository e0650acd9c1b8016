// RUN: ge-opt %s --split-input-file --verify-diagnostics
// Each case breaks one rule of flags and barriers.

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    // expected-error@+1 {{MTE4 is not a pipe}}
    ascend.sync.set_flag [MTE2 -> MTE4] 0
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    // expected-error@+1 {{ALL is not a pipe; there are S, V, M, MTE1, MTE2, MTE3, FIX}}
    ascend.sync.set_flag [ALL -> V] 0
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    // expected-error@+1 {{a pipe is in order with itself; use a barrier}}
    ascend.sync.wait_flag [V -> V] 0
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    // expected-error@+1 {{the event number must be at least 0, got -1}}
    ascend.sync.wait_flag [V -> MTE3] -1
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    // expected-error@+1 {{rotates through 0 events}}
    "ascend.sync.set_flag"(%blk) <{src_pipe = "V", dst_pipe = "MTE3", event = 0 : i64, rotate = 0 : i64, coefs = array<i64: 1>, offset = 0 : i64}> : (index) -> ()
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    // expected-error@+1 {{2 coefficients for 1 counters}}
    "ascend.sync.set_flag"(%blk) <{src_pipe = "V", dst_pipe = "MTE3", event = 0 : i64, rotate = 2 : i64, coefs = array<i64: 1, 1>, offset = 0 : i64}> : (index) -> ()
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    // expected-error@+2 {{W is not a pipe}}
    ascend.sync.barrier W
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    // expected-error@+1 {{W is not a pipe}}
    "ascend.sync.barrier"() <{pipe = "W"}> : () -> ()
  }
}
