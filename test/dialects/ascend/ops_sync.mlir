// RUN: ge-opt %s --print-op-generic | ge-opt --no-locations | FileCheck %s

// Flags and barriers: custom form -> generic form -> custom form.

// CHECK: ascend.kernel @flags
ascend.kernel @flags() blocks(3) {
  ascend.blocks %blk = 0 to 3 {
    // CHECK: ascend.sync.set_flag [MTE2 -> MTE1] 0
    ascend.sync.set_flag [MTE2 -> MTE1] 0
    // CHECK-NEXT: ascend.sync.wait_flag [MTE2 -> MTE1] 0
    ascend.sync.wait_flag [MTE2 -> MTE1] 0
    // CHECK-NEXT: ascend.sync.set_flag [S -> V] 7
    ascend.sync.set_flag [S -> V] 7
    // CHECK-NEXT: ascend.sync.wait_flag [S -> V] 7
    ascend.sync.wait_flag [S -> V] 7
    // CHECK-NEXT: ascend.sync.set_flag [M -> FIX] 1
    ascend.sync.set_flag [M -> FIX] 1
    // CHECK-NEXT: ascend.sync.wait_flag [V -> MTE3] 2
    ascend.sync.wait_flag [V -> MTE3] 2
    ascend.loop %i = 0 to 5 {
      ascend.loop %j = 0 to 6 {
        // CHECK: ascend.sync.set_flag [MTE1 -> M] 2 + (%i * 6 + %j + 1) mod 2
        ascend.sync.set_flag [MTE1 -> M] 2 + (%i * 6 + %j + 1) mod 2
        // CHECK-NEXT: ascend.sync.wait_flag [MTE1 -> M] 2 + (%i * 6 + %j + 1) mod 2
        ascend.sync.wait_flag [MTE1 -> M] 2 + (%i * 6 + %j + 1) mod 2
        // CHECK-NEXT: ascend.sync.set_flag [M -> MTE1] 0 + (%blk + %j) mod 3
        ascend.sync.set_flag [M -> MTE1] 0 + (%blk + %j) mod 3
      }
    }
    // A peeled tail: no counter is left, the version still counts.
    // CHECK: ascend.sync.set_flag [MTE1 -> M] 2 + (1) mod 2
    ascend.sync.set_flag [MTE1 -> M] 2 + (1) mod 2
  }
}

// CHECK: ascend.kernel @barriers
ascend.kernel @barriers() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    // CHECK: ascend.sync.barrier ALL
    ascend.sync.barrier ALL
    // CHECK-NEXT: ascend.sync.barrier S
    ascend.sync.barrier S
    // CHECK-NEXT: ascend.sync.barrier V
    ascend.sync.barrier V
    // CHECK-NEXT: ascend.sync.barrier M
    ascend.sync.barrier M
    // CHECK-NEXT: ascend.sync.barrier MTE1
    ascend.sync.barrier MTE1
    // CHECK-NEXT: ascend.sync.barrier MTE2
    ascend.sync.barrier MTE2
    // CHECK-NEXT: ascend.sync.barrier MTE3
    ascend.sync.barrier MTE3
    // CHECK-NEXT: ascend.sync.barrier FIX
    ascend.sync.barrier FIX
  }
}
