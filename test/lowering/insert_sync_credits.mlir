// RUN: ge-opt %s --split-input-file --no-locations --insert-sync | FileCheck %s

// Credits: the next life of a buffer starts when every pipe has let go of the one before.

// In a loop the first pipe also waits until the last one has let go of the previous content: a credit, given once
// before the loop and taken back after it.
// CHECK-LABEL: @credit(
ascend.kernel @credit(%x: memref<4096xf16, #ascend.gm> r, %y: memref<4096xf16, #ascend.gm> w) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    // CHECK-NEXT: ascend.blocks
    // CHECK-NEXT: ascend.sync.set_flag [MTE3 -> MTE2] 0
    // CHECK-NEXT: ascend.loop %i = 0 to 8
    ascend.loop %i = 0 to 8 {
      %u = ascend.alloc "u" : memref<128xf16, #ascend.ub>
      %xi = ascend.view %x[%i * 128] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
      %yi = ascend.view %y[%i * 128] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
      // CHECK: ascend.sync.wait_flag [MTE3 -> MTE2] 0
      // CHECK-NEXT: ascend.mte.copy %xi to %u
      ascend.mte.copy %xi to %u : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
      // CHECK-NEXT: ascend.sync.set_flag [MTE2 -> MTE3] 0
      // CHECK-NEXT: ascend.sync.wait_flag [MTE2 -> MTE3] 0
      // CHECK-NEXT: ascend.mte.copy %u to %yi
      ascend.mte.copy %u to %yi : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.gm>
      // CHECK-NEXT: ascend.sync.set_flag [MTE3 -> MTE2] 0
      // CHECK-NEXT: }
    }
    // CHECK-NEXT: ascend.sync.wait_flag [MTE3 -> MTE2] 0
    // CHECK-NEXT: }
  }
}

// -----

// Two pipes read in no order: each gives a credit of its own. The constant beside them is filled once and gives none.
// CHECK-LABEL: @credit_of_every_pipe(
ascend.kernel @credit_of_every_pipe(%x: memref<4096xf16, #ascend.gm> r, %y: memref<4096xf16, #ascend.gm> w) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %once = ascend.alloc "once" : memref<128xf16, #ascend.ub>
    %x0 = ascend.view %x[0] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
    // CHECK: ascend.sync.set_flag [V -> MTE2] 0
    // CHECK-NEXT: ascend.sync.set_flag [MTE3 -> MTE2] 0
    ascend.mte.copy %x0 to %once : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
    ascend.loop %i = 0 to 8 {
      %u = ascend.alloc "u" : memref<128xf16, #ascend.ub>
      %s = ascend.alloc "s" : memref<128xf16, #ascend.ub>
      %xi = ascend.view %x[%i * 128] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
      %yi = ascend.view %y[%i * 128] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
      // CHECK: ascend.loop
      // CHECK: ascend.sync.wait_flag [V -> MTE2] 0
      // CHECK-NEXT: ascend.sync.wait_flag [MTE3 -> MTE2] 0
      // CHECK-NEXT: ascend.mte.copy %xi to %u
      ascend.mte.copy %xi to %u : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
      // CHECK: ascend.vec.add
      ascend.vec.add %u, %once to %s : memref<128xf16, #ascend.ub>, memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
      // CHECK-NEXT: ascend.sync.set_flag [V -> MTE2] 0
      // CHECK-NEXT: ascend.sync.wait_flag [MTE2 -> MTE3] 0
      // CHECK-NEXT: ascend.mte.copy %u to %yi
      ascend.mte.copy %u to %yi : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.gm>
      // CHECK-NEXT: ascend.sync.set_flag [MTE3 -> MTE2] 0
      // CHECK-NEXT: }
    }
    // CHECK-NEXT: ascend.sync.wait_flag [V -> MTE2] 0
    // CHECK-NEXT: ascend.sync.wait_flag [MTE3 -> MTE2] 0
    // CHECK-NEXT: }
  }
}

// -----

// MTE3 waits for V, so its credit says that V is through as well. The load of MTE2 reaches MTE3 by way of V.
// CHECK-LABEL: @implied(
ascend.kernel @implied(%x: memref<4096xf16, #ascend.gm> r, %y: memref<4096xf16, #ascend.gm> w) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    ascend.loop %i = 0 to 8 {
      %u = ascend.alloc "u" : memref<128xf16, #ascend.ub>
      %xi = ascend.view %x[%i * 128] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
      %yi = ascend.view %y[%i * 128] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
      // CHECK: ascend.sync.wait_flag [MTE3 -> MTE2] 0
      // CHECK-NEXT: ascend.mte.copy %xi to %u
      ascend.mte.copy %xi to %u : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
      // CHECK-NEXT: ascend.sync.set_flag [MTE2 -> V] 0
      // CHECK-NEXT: ascend.sync.wait_flag [MTE2 -> V] 0
      // CHECK-NEXT: ascend.vec.relu
      ascend.vec.relu %u to %u : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
      // CHECK-NEXT: ascend.sync.set_flag [V -> MTE3] 0
      // CHECK-NEXT: ascend.sync.wait_flag [V -> MTE3] 0
      // CHECK-NEXT: ascend.mte.copy %u to %yi
      ascend.mte.copy %u to %yi : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.gm>
      // CHECK-NEXT: ascend.sync.set_flag [MTE3 -> MTE2] 0
      // CHECK-NEXT: }
    }
  }
}

// -----

// Filled as often as it has versions: nothing waits for a credit.
// CHECK-LABEL: @as_many_versions_as_contents(
ascend.kernel @as_many_versions_as_contents(%x: memref<4096xf16, #ascend.gm> r, %y: memref<4096xf16, #ascend.gm> w) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    // CHECK-NOT: [MTE3 -> MTE2]
    // CHECK: ascend.sync.set_flag [MTE2 -> MTE3] 0 + (%i) mod 2
    // CHECK-NOT: [MTE3 -> MTE2]
    // CHECK: ascend.mte.copy %u to %yi
    // CHECK-NOT: [MTE3 -> MTE2]
    ascend.loop %i = 0 to 2 {
      %u = ascend.alloc "u" versions(2) : memref<128xf16, #ascend.ub>
      %xi = ascend.view %x[%i * 128] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
      %yi = ascend.view %y[%i * 128] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
      ascend.mte.copy %xi to %u : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
      ascend.mte.copy %u to %yi : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.gm>
    }
  }
}

// -----

// Two versions: two events a pair, which rotate with the content; the prologue gives two credits.
// CHECK-LABEL: @rotation(
ascend.kernel @rotation(%x: memref<4096xf16, #ascend.gm> r, %y: memref<4096xf16, #ascend.gm> w) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    // CHECK-NEXT: ascend.blocks
    // CHECK-NEXT: ascend.sync.set_flag [MTE3 -> MTE2] 0
    // CHECK-NEXT: ascend.sync.set_flag [MTE3 -> MTE2] 1
    // CHECK: ascend.loop
    ascend.loop %i = 0 to 8 {
      %u = ascend.alloc "u" versions(2) : memref<128xf16, #ascend.ub>
      %xi = ascend.view %x[%i * 128] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
      %yi = ascend.view %y[%i * 128] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
      // CHECK: ascend.sync.wait_flag [MTE3 -> MTE2] 0 + (%i) mod 2
      // CHECK-NEXT: ascend.mte.copy
      ascend.mte.copy %xi to %u : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
      // CHECK-NEXT: ascend.sync.set_flag [MTE2 -> MTE3] 0 + (%i) mod 2
      // CHECK-NEXT: ascend.sync.wait_flag [MTE2 -> MTE3] 0 + (%i) mod 2
      // CHECK-NEXT: ascend.mte.copy
      ascend.mte.copy %u to %yi : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.gm>
      // CHECK-NEXT: ascend.sync.set_flag [MTE3 -> MTE2] 0 + (%i) mod 2
      // CHECK-NEXT: }
    }
    // CHECK-NEXT: ascend.sync.wait_flag [MTE3 -> MTE2] 0
    // CHECK-NEXT: ascend.sync.wait_flag [MTE3 -> MTE2] 1
    // CHECK-NEXT: }
  }
}

// -----

// The number of the content counts all loops around it. What the outer loop fills is freed after the inner one.
// CHECK-LABEL: @nested_loops(
ascend.kernel @nested_loops(%x: memref<4096xf16, #ascend.gm> r, %y: memref<4096xf16, #ascend.gm> w) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    // CHECK: ascend.sync.set_flag [V -> MTE2] 0
    // CHECK-NEXT: ascend.sync.set_flag [V -> MTE2] 1
    ascend.loop %i = 0 to 3 {
      %o = ascend.alloc "o" versions(2) : memref<128xf16, #ascend.ub>
      %xo = ascend.view %x[%i * 128] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
      // CHECK: ascend.sync.wait_flag [V -> MTE2] 0 + (%i) mod 2
      // CHECK-NEXT: ascend.mte.copy %xo to %o
      ascend.mte.copy %xo to %o : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
      // CHECK-NEXT: ascend.sync.set_flag [MTE2 -> V] 0 + (%i) mod 2
      // CHECK-NEXT: ascend.sync.wait_flag [MTE2 -> V] 0 + (%i) mod 2
      // CHECK-NEXT: ascend.loop
      ascend.loop %j = 0 to 5 {
        %u = ascend.alloc "u" versions(2) : memref<128xf16, #ascend.ub>
        %yij = ascend.view %y[%i * 512 + %j * 128] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
        // CHECK: ascend.sync.wait_flag [MTE3 -> V] 0 + (%i * 5 + %j) mod 2
        // CHECK-NEXT: ascend.vec.relu
        ascend.vec.relu %o to %u : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
        // CHECK-NEXT: ascend.sync.set_flag [V -> MTE3] 0 + (%i * 5 + %j) mod 2
        // CHECK-NEXT: ascend.sync.wait_flag [V -> MTE3] 0 + (%i * 5 + %j) mod 2
        // CHECK-NEXT: ascend.mte.copy %u to %yij
        ascend.mte.copy %u to %yij : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.gm>
        // CHECK-NEXT: ascend.sync.set_flag [MTE3 -> V] 0 + (%i * 5 + %j) mod 2
      // CHECK-NEXT: }
      }
      // CHECK-NEXT: ascend.sync.set_flag [V -> MTE2] 0 + (%i) mod 2
    }
  }
}

// -----

// The tail shares the slot of the loop, so it shares the events: its phase picks the version, the loop of odd length
// leaves the other one.
// CHECK-LABEL: @peeled_tail(
ascend.kernel @peeled_tail(%x: memref<4096xf16, #ascend.gm> r, %y: memref<4096xf16, #ascend.gm> w) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    ascend.loop %i = 0 to 7 {
      %u = ascend.alloc "u" versions(2) : memref<128xf16, #ascend.ub>
      %xi = ascend.view %x[%i * 128] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
      %yi = ascend.view %y[%i * 128] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
      // CHECK: ascend.sync.wait_flag [MTE3 -> MTE2] 0 + (%i) mod 2
      // CHECK: ascend.sync.set_flag [MTE2 -> MTE3] 0 + (%i) mod 2
      ascend.mte.copy %xi to %u : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
      ascend.mte.copy %u to %yi : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.gm>
    }
    %t = ascend.alloc "u" versions(2) phase(1) : memref<128xf16, #ascend.ub>
    %xt = ascend.view %x[1024] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
    %yt = ascend.view %y[1024] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
    // CHECK: ascend.sync.wait_flag [MTE3 -> MTE2] 0 + (1) mod 2
    // CHECK-NEXT: ascend.mte.copy %xt
    ascend.mte.copy %xt to %t : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
    // CHECK-NEXT: ascend.sync.set_flag [MTE2 -> MTE3] 0 + (1) mod 2
    // CHECK-NEXT: ascend.sync.wait_flag [MTE2 -> MTE3] 0 + (1) mod 2
    // CHECK-NEXT: ascend.mte.copy
    ascend.mte.copy %t to %yt : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.gm>
    // CHECK-NEXT: ascend.sync.set_flag [MTE3 -> MTE2] 0 + (1) mod 2
    // CHECK-NEXT: ascend.sync.wait_flag [MTE3 -> MTE2] 0
    // CHECK-NEXT: ascend.sync.wait_flag [MTE3 -> MTE2] 1
    // CHECK-NEXT: }
  }
}

// -----

// Eight events a pair of pipes serve four slots of two versions. The fifth has no credit left and no flag: barriers.
// CHECK-LABEL: @events_run_out(
ascend.kernel @events_run_out(%x: memref<4096xf16, #ascend.gm> r, %y: memref<4096xf16, #ascend.gm> w) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    ascend.loop %i = 0 to 6 {
      %a = ascend.alloc "a" versions(2) : memref<128xf16, #ascend.ub>
      %b = ascend.alloc "b" versions(2) : memref<128xf16, #ascend.ub>
      %c = ascend.alloc "c" versions(2) : memref<128xf16, #ascend.ub>
      %d = ascend.alloc "d" versions(2) : memref<128xf16, #ascend.ub>
      %e = ascend.alloc "e" versions(2) : memref<128xf16, #ascend.ub>
      %s = ascend.alloc "s" : memref<128xf16, #ascend.ub>
      %xi = ascend.view %x[%i * 128] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
      // CHECK: ascend.sync.wait_flag [V -> MTE2] 0 + (%i) mod 2
      // CHECK-NEXT: ascend.mte.copy %xi to %a
      ascend.mte.copy %xi to %a : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
      // CHECK: ascend.sync.wait_flag [V -> MTE2] 2 + (%i) mod 2
      // CHECK-NEXT: ascend.mte.copy %xi to %b
      ascend.mte.copy %xi to %b : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
      // CHECK: ascend.sync.wait_flag [V -> MTE2] 4 + (%i) mod 2
      // CHECK-NEXT: ascend.mte.copy %xi to %c
      ascend.mte.copy %xi to %c : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
      // CHECK: ascend.sync.wait_flag [V -> MTE2] 6 + (%i) mod 2
      // CHECK-NEXT: ascend.mte.copy %xi to %d
      ascend.mte.copy %xi to %d : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
      // CHECK: ascend.sync.barrier ALL
      // CHECK-NEXT: ascend.mte.copy %xi to %e
      ascend.mte.copy %xi to %e : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
      // CHECK: ascend.sync.wait_flag [MTE2 -> V] 0 + (%i) mod 2
      // CHECK-NEXT: ascend.vec.relu %a
      ascend.vec.relu %a to %s : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
      // CHECK: ascend.sync.wait_flag [MTE2 -> V] 2 + (%i) mod 2
      // CHECK-NEXT: ascend.vec.relu %b
      ascend.vec.relu %b to %s : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
      // CHECK: ascend.sync.wait_flag [MTE2 -> V] 4 + (%i) mod 2
      // CHECK-NEXT: ascend.vec.relu %c
      ascend.vec.relu %c to %s : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
      // CHECK: ascend.sync.wait_flag [MTE2 -> V] 6 + (%i) mod 2
      // CHECK-NEXT: ascend.vec.relu %d
      ascend.vec.relu %d to %s : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
      // CHECK: ascend.sync.barrier ALL
      // CHECK-NEXT: ascend.vec.relu %e
      ascend.vec.relu %e to %s : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
    }
  }
}

// -----

// The pipe that starts a life waits for the store within it, so the next life needs no credit of the store.
// CHECK-LABEL: @held_within_the_life(
ascend.kernel @held_within_the_life(%x: memref<4096xf16, #ascend.gm> r, %y: memref<4096xf16, #ascend.gm> w) blocks(1) {
  // CHECK: ascend.blocks
  ascend.blocks %blk = 0 to 1 {
    %x0 = ascend.view %x[0] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
    %y0 = ascend.view %y[0] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
    // CHECK-NOT: ascend.sync
    // CHECK: ascend.loop
    ascend.loop %i = 0 to 3 {
      %a = ascend.alloc "a" : memref<128xf16, #ascend.ub>
      // CHECK-NOT: ascend.sync
      // CHECK: ascend.mte.copy %x0 to %a
      ascend.mte.copy %x0 to %a : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
      // CHECK-NEXT: ascend.sync.set_flag [MTE2 -> MTE3] 0
      // CHECK-NEXT: ascend.sync.wait_flag [MTE2 -> MTE3] 0
      // CHECK-NEXT: ascend.mte.copy %a to %y0
      ascend.mte.copy %a to %y0 : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.gm>
      // CHECK-NEXT: ascend.sync.set_flag [MTE3 -> MTE2] 0
      // CHECK-NEXT: ascend.sync.wait_flag [MTE3 -> MTE2] 0
      // CHECK-NEXT: ascend.mte.copy %x0 to %a
      ascend.mte.copy %x0 to %a : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
    }
    // CHECK-NOT: ascend.sync
  }
}
