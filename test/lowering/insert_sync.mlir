// RUN: ge-opt %s --split-input-file --no-locations --insert-sync | FileCheck %s

// Forward flags: inside one life of a buffer, whoever conflicts with an earlier pipe waits for it.

// Every statement that conflicts with an earlier one of another pipe waits for it. The buffer is filled once: no credit.
// CHECK-LABEL: @forward(
ascend.kernel @forward(%x: memref<4096xf16, #ascend.gm> r, %y: memref<4096xf16, #ascend.gm> w) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %u = ascend.alloc "u" : memref<128xf16, #ascend.ub>
    %v = ascend.alloc "v" : memref<128xf16, #ascend.ub>
    %x0 = ascend.view %x[0] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
    %y0 = ascend.view %y[0] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
    // CHECK: ascend.mte.copy %x0 to %u
    ascend.mte.copy %x0 to %u : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
    // CHECK-NEXT: ascend.sync.set_flag [MTE2 -> V] 0
    // CHECK-NEXT: ascend.sync.wait_flag [MTE2 -> V] 0
    // CHECK-NEXT: ascend.vec.relu %u to %v
    ascend.vec.relu %u to %v : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
    // CHECK-NEXT: ascend.sync.set_flag [V -> MTE3] 0
    // CHECK-NEXT: ascend.sync.wait_flag [V -> MTE3] 0
    // CHECK-NEXT: ascend.mte.copy %v to %y0
    ascend.mte.copy %v to %y0 : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.gm>
    // CHECK-NOT: ascend.sync
    // CHECK: }
  }
}

// -----

// The flag of the second load covers the first, which is earlier in the same pipe.
// CHECK-LABEL: @one_flag_for_two_loads(
ascend.kernel @one_flag_for_two_loads(%x: memref<4096xf16, #ascend.gm> r, %y: memref<4096xf16, #ascend.gm> w) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<128xf16, #ascend.ub>
    %b = ascend.alloc "b" : memref<128xf16, #ascend.ub>
    %c = ascend.alloc "c" : memref<128xf16, #ascend.ub>
    %x0 = ascend.view %x[0] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
    // CHECK: ascend.mte.copy %x0 to %a
    // CHECK-NEXT: ascend.mte.copy %x0 to %b
    ascend.mte.copy %x0 to %a : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
    ascend.mte.copy %x0 to %b : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
    // CHECK-NEXT: ascend.sync.set_flag [MTE2 -> V] 0
    // CHECK-NEXT: ascend.sync.wait_flag [MTE2 -> V] 0
    // CHECK-NEXT: ascend.vec.add
    ascend.vec.add %a, %b to %c : memref<128xf16, #ascend.ub>, memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
    // CHECK-NOT: ascend.sync
    // CHECK: }
  }
}

// -----

// Two pipes that read need no order between them.
// CHECK-LABEL: @readers_do_not_wait(
ascend.kernel @readers_do_not_wait(%x: memref<4096xf16, #ascend.gm> r, %y: memref<4096xf16, #ascend.gm> w) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<128xf16, #ascend.ub>
    %c = ascend.alloc "c" : memref<128xf16, #ascend.ub>
    %x0 = ascend.view %x[0] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
    %y0 = ascend.view %y[0] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
    // CHECK: ascend.mte.copy %x0 to %a
    ascend.mte.copy %x0 to %a : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
    // CHECK-NOT: [V -> MTE3]
    // CHECK: ascend.vec.relu
    ascend.vec.relu %a to %c : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
    // CHECK-NOT: [V -> MTE3]
    // CHECK: ascend.mte.copy %a to %y0
    ascend.mte.copy %a to %y0 : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.gm>
  }
}

// -----

// The loop over K is one statement of the body in which the accumulator lives: one flag after all of it.
// The left and the right operand are freed together: one credit serves both.
// CHECK-LABEL: @accumulator(
ascend.kernel @accumulator() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %l1 = ascend.alloc "l1" : memref<4x1x16x16xf16, #ascend.l1>
    ascend.loop %n = 0 to 2 {
      %c = ascend.alloc "c" : memref<1x1x16x16xf32, #ascend.l0c>
      %u = ascend.alloc "u" : memref<1x1x16x16xf32, #ascend.ub>
      // CHECK: ascend.sync.wait_flag [V -> M] 0
      // CHECK-NEXT: ascend.loop %k
      ascend.loop %k = 0 to 4 {
        %a = ascend.alloc "a" : memref<1x1x16x16xf16, #ascend.l0a>
        %b = ascend.alloc "b" : memref<1x1x16x16xf16, #ascend.l0b>
        %w = ascend.view %l1[%k * 256] : memref<4x1x16x16xf16, #ascend.l1> to memref<1x1x16x16xf16, #ascend.l1>
        // CHECK: ascend.sync.wait_flag [M -> MTE1] 0
        // CHECK-NEXT: ascend.mte.load2d
        ascend.mte.load2d %w to %a : memref<1x1x16x16xf16, #ascend.l1> to memref<1x1x16x16xf16, #ascend.l0a>
        // CHECK-NEXT: ascend.mte.load2d
        ascend.mte.load2d %w to %b : memref<1x1x16x16xf16, #ascend.l1> to memref<1x1x16x16xf16, #ascend.l0b>
        // CHECK-NEXT: ascend.sync.set_flag [MTE1 -> M] 0
        // CHECK-NEXT: ascend.sync.wait_flag [MTE1 -> M] 0
        ascend.cube.mmad %a, %b to %c first_of(%k) {m = 16, k = 16, n = 16} : memref<1x1x16x16xf16, #ascend.l0a>, memref<1x1x16x16xf16, #ascend.l0b> to memref<1x1x16x16xf32, #ascend.l0c>
        // CHECK: ascend.sync.set_flag [M -> MTE1] 0
      }
      // CHECK-NEXT: }
      // CHECK-NEXT: ascend.sync.set_flag [M -> V] 0
      // CHECK-NEXT: ascend.sync.wait_flag [M -> V] 0
      // CHECK-NEXT: ascend.vec.conv
      ascend.vec.conv %c to %u : memref<1x1x16x16xf32, #ascend.l0c> to memref<1x1x16x16xf32, #ascend.ub>
      // CHECK-NEXT: ascend.sync.set_flag [V -> M] 0
    }
  }
}

// -----

// The flag of the load inside the loop also covers the load before it, which is earlier in the same pipe.
// CHECK-LABEL: @a_flag_in_the_loop_covers_the_load_before_it(
ascend.kernel @a_flag_in_the_loop_covers_the_load_before_it(%x: memref<4096xf16, #ascend.gm> r) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<128xf16, #ascend.ub>
    %c = ascend.alloc "c" : memref<128xf16, #ascend.ub>
    %x0 = ascend.view %x[0] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
    // CHECK: ascend.mte.copy %x0 to %a
    ascend.mte.copy %x0 to %a : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
    // CHECK-NEXT: ascend.loop
    ascend.loop %i = 0 to 2 {
      %b = ascend.alloc "b" : memref<128xf16, #ascend.ub>
      // CHECK: ascend.mte.copy %x0 to %b
      ascend.mte.copy %x0 to %b : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
      // CHECK-NEXT: ascend.sync.set_flag [MTE2 -> V] 0
      // CHECK-NEXT: ascend.sync.wait_flag [MTE2 -> V] 0
      // CHECK-NEXT: ascend.vec.add
      ascend.vec.add %a, %b to %c : memref<128xf16, #ascend.ub>, memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
    }
  }
}

// -----

// It does not cover it where the loop uses the first load before it waits.
// CHECK-LABEL: @a_flag_in_the_loop_comes_too_late(
ascend.kernel @a_flag_in_the_loop_comes_too_late(%x: memref<4096xf16, #ascend.gm> r) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "a" : memref<128xf16, #ascend.ub>
    %c = ascend.alloc "c" : memref<128xf16, #ascend.ub>
    %x0 = ascend.view %x[0] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
    // CHECK: ascend.mte.copy %x0 to %a
    ascend.mte.copy %x0 to %a : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
    // CHECK-NEXT: ascend.sync.set_flag [MTE2 -> V] 0
    // CHECK-NEXT: ascend.sync.wait_flag [MTE2 -> V] 0
    // CHECK-NEXT: ascend.loop
    ascend.loop %i = 0 to 2 {
      %b = ascend.alloc "b" : memref<128xf16, #ascend.ub>
      ascend.mte.copy %x0 to %b : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
      // CHECK: ascend.vec.relu %a to %c
      ascend.vec.relu %a to %c : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
      // CHECK-NEXT: ascend.sync.wait_flag [MTE2 -> V] 1
      ascend.vec.add %a, %b to %c : memref<128xf16, #ascend.ub>, memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
    }
  }
}

// -----

// Both tables are read in the loop, the second one behind the wait for the loop's own load, which is later in the same pipe.
// The first one is read in front of that wait: it needs a flag of its own.
// CHECK-LABEL: @read_in_front_of_the_wait_that_serves_the_other(
ascend.kernel @read_in_front_of_the_wait_that_serves_the_other(%x: memref<4096xf16, #ascend.gm> r) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %first = ascend.alloc "first" : memref<128xf16, #ascend.ub>
    %second = ascend.alloc "second" : memref<128xf16, #ascend.ub>
    %x0 = ascend.view %x[0] : memref<4096xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
    // CHECK: ascend.mte.copy %x0 to %first
    ascend.mte.copy %x0 to %first : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
    // CHECK-NEXT: ascend.sync.set_flag [MTE2 -> V] [[#EVENT:]]
    // CHECK-NEXT: ascend.mte.copy %x0 to %second
    ascend.mte.copy %x0 to %second : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
    // CHECK: ascend.sync.wait_flag [MTE2 -> V] [[#EVENT]]
    // CHECK: ascend.loop
    ascend.loop %i = 0 to 4 {
      %u = ascend.alloc "u" : memref<128xf16, #ascend.ub>
      %t = ascend.alloc "t" : memref<128xf16, #ascend.ub>
      // CHECK: ascend.mte.copy %x0 to %u
      ascend.mte.copy %x0 to %u : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
      // CHECK: ascend.vec.relu %first to %t
      ascend.vec.relu %first to %t : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
      // CHECK: ascend.sync.wait_flag [MTE2 -> V]
      // CHECK-NEXT: ascend.vec.add %t, %u to %t
      ascend.vec.add %t, %u to %t : memref<128xf16, #ascend.ub>, memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
      // CHECK: ascend.vec.add %t, %second to %t
      ascend.vec.add %t, %second to %t : memref<128xf16, #ascend.ub>, memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
    }
  }
}
