// RUN: ge-opt %s --split-input-file --no-locations --double-buffer | FileCheck %s

// A slot gets two versions if it is refilled, more than one pipe touches it, and it fits its space twice.

// CHECK-LABEL: @refilled_in_a_loop
ascend.kernel @refilled_in_a_loop(%x: memref<1024xf16, #ascend.gm> r, %y: memref<1024xf16, #ascend.gm> w) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    // Filled once: one version.
    // CHECK: ascend.alloc "once" : memref<128xf16
    %once = ascend.alloc "once" : memref<128xf16, #ascend.ub>
    %x0 = ascend.view %x[0] : memref<1024xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
    ascend.mte.copy %x0 to %once : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
    ascend.loop %i = 0 to 8 {
      // CHECK: ascend.alloc "tile" versions(2) : memref<128xf16
      %tile = ascend.alloc "tile" : memref<128xf16, #ascend.ub>
      // Only the Vector pipe touches it, which is in order with itself.
      // CHECK: ascend.alloc "scratch" : memref<128xf16
      %scratch = ascend.alloc "scratch" : memref<128xf16, #ascend.ub>
      %xi = ascend.view %x[%i * 128] : memref<1024xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
      %yi = ascend.view %y[%i * 128] : memref<1024xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
      ascend.mte.copy %xi to %tile : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
      ascend.vec.add %tile, %once to %scratch : memref<128xf16, #ascend.ub>, memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
      ascend.vec.relu %scratch to %tile : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
      ascend.mte.copy %tile to %yi : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.gm>
    }
  }
}

// -----

// The alloc stands in the outer loop: it is refilled there, whatever the inner loop does.
// CHECK-LABEL: @outer_loop
ascend.kernel @outer_loop(%x: memref<1024xf16, #ascend.gm> r, %y: memref<1024xf16, #ascend.gm> w) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    ascend.loop %i = 0 to 2 {
      // CHECK: ascend.alloc "tile" versions(2) : memref<512xf16
      %tile = ascend.alloc "tile" : memref<512xf16, #ascend.ub>
      %xi = ascend.view %x[%i * 512] : memref<1024xf16, #ascend.gm> to memref<512xf16, #ascend.gm>
      ascend.mte.copy %xi to %tile : memref<512xf16, #ascend.gm> to memref<512xf16, #ascend.ub>
      ascend.loop %j = 0 to 4 {
        %t = ascend.view %tile[%j * 128] : memref<512xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
        %yi = ascend.view %y[%i * 512 + %j * 128] : memref<1024xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
        ascend.mte.copy %t to %yi : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.gm>
      }
    }
  }
}

// -----

// A loop over full tiles and a peeled tail: the tail takes the other version.
// CHECK-LABEL: @peeled_tail
ascend.kernel @peeled_tail(%x: memref<1000xf16, #ascend.gm> r, %y: memref<1000xf16, #ascend.gm> w) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    ascend.loop %i = 0 to 3 {
      // CHECK: ascend.alloc "tile" versions(2) : memref<256xf16
      %tile = ascend.alloc "tile" : memref<256xf16, #ascend.ub>
      %xi = ascend.view %x[%i * 256] : memref<1000xf16, #ascend.gm> to memref<256xf16, #ascend.gm>
      %yi = ascend.view %y[%i * 256] : memref<1000xf16, #ascend.gm> to memref<256xf16, #ascend.gm>
      ascend.mte.copy %xi to %tile : memref<256xf16, #ascend.gm> to memref<256xf16, #ascend.ub>
      ascend.mte.copy %tile to %yi : memref<256xf16, #ascend.ub> to memref<256xf16, #ascend.gm>
    }
    // CHECK: ascend.alloc "tile" versions(2) phase(1) : memref<232xf16
    %tail = ascend.alloc "tile" : memref<232xf16, #ascend.ub>
    %xt = ascend.view %x[768] : memref<1000xf16, #ascend.gm> to memref<232xf16, #ascend.gm>
    %yt = ascend.view %y[768] : memref<1000xf16, #ascend.gm> to memref<232xf16, #ascend.gm>
    ascend.mte.copy %xt to %tail : memref<232xf16, #ascend.gm> to memref<232xf16, #ascend.ub>
    ascend.mte.copy %tail to %yt : memref<232xf16, #ascend.ub> to memref<232xf16, #ascend.gm>
  }
}

// -----

// 262144 bytes of UB: the small slot fits twice beside the large one, which does not fit twice.
// CHECK-LABEL: @small_first
ascend.kernel @small_first(%x: memref<1048576xf16, #ascend.gm> r, %y: memref<1048576xf16, #ascend.gm> w) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    ascend.loop %i = 0 to 8 {
      // CHECK: ascend.alloc "large" : memref<122880xf16
      %large = ascend.alloc "large" : memref<122880xf16, #ascend.ub>
      // CHECK: ascend.alloc "small" versions(2) : memref<4096xf16
      %small = ascend.alloc "small" : memref<4096xf16, #ascend.ub>
      %xl = ascend.view %x[%i * 122880] : memref<1048576xf16, #ascend.gm> to memref<122880xf16, #ascend.gm>
      %xs = ascend.view %x[%i * 4096] : memref<1048576xf16, #ascend.gm> to memref<4096xf16, #ascend.gm>
      %yl = ascend.view %y[%i * 122880] : memref<1048576xf16, #ascend.gm> to memref<122880xf16, #ascend.gm>
      %ys = ascend.view %y[%i * 4096] : memref<1048576xf16, #ascend.gm> to memref<4096xf16, #ascend.gm>
      ascend.mte.copy %xl to %large : memref<122880xf16, #ascend.gm> to memref<122880xf16, #ascend.ub>
      ascend.mte.copy %xs to %small : memref<4096xf16, #ascend.gm> to memref<4096xf16, #ascend.ub>
      ascend.mte.copy %large to %yl : memref<122880xf16, #ascend.ub> to memref<122880xf16, #ascend.gm>
      ascend.mte.copy %small to %ys : memref<4096xf16, #ascend.ub> to memref<4096xf16, #ascend.gm>
    }
  }
}

// -----

// Both slots would fit twice if sizes were not rounded up to the 32 bytes that UB aligns to.
// CHECK-LABEL: @alignment_counts
ascend.kernel @alignment_counts(%x: memref<1048576xf16, #ascend.gm> r, %y: memref<1048576xf16, #ascend.gm> w) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    ascend.loop %i = 0 to 8 {
      // CHECK: ascend.alloc "large" : memref<65528xf16
      %large = ascend.alloc "large" : memref<65528xf16, #ascend.ub>
      // CHECK: ascend.alloc "small" versions(2) : memref<8xf16
      %small = ascend.alloc "small" : memref<8xf16, #ascend.ub>
      %xl = ascend.view %x[%i * 65536] : memref<1048576xf16, #ascend.gm> to memref<65528xf16, #ascend.gm>
      %xs = ascend.view %x[%i * 8] : memref<1048576xf16, #ascend.gm> to memref<8xf16, #ascend.gm>
      %yl = ascend.view %y[%i * 65536] : memref<1048576xf16, #ascend.gm> to memref<65528xf16, #ascend.gm>
      %ys = ascend.view %y[%i * 8] : memref<1048576xf16, #ascend.gm> to memref<8xf16, #ascend.gm>
      ascend.mte.copy %xl to %large : memref<65528xf16, #ascend.gm> to memref<65528xf16, #ascend.ub>
      ascend.mte.copy %xs to %small : memref<8xf16, #ascend.gm> to memref<8xf16, #ascend.ub>
      ascend.mte.copy %large to %yl : memref<65528xf16, #ascend.ub> to memref<65528xf16, #ascend.gm>
      ascend.mte.copy %small to %ys : memref<8xf16, #ascend.ub> to memref<8xf16, #ascend.gm>
    }
  }
}

// -----

// Two cores with bodies of their own: each fills `once` once, only the second one refills `tile`.
// CHECK-LABEL: @each_core_by_itself
ascend.kernel @each_core_by_itself(%x: memref<1024xf16, #ascend.gm> r, %y: memref<1024xf16, #ascend.gm> w) blocks(2) {
  ascend.blocks %blk = 0 to 1 {
    // CHECK: ascend.alloc "once" : memref<128xf16
    %once = ascend.alloc "once" : memref<128xf16, #ascend.ub>
    // CHECK: ascend.alloc "tile" versions(2) : memref<128xf16
    %tile = ascend.alloc "tile" : memref<128xf16, #ascend.ub>
    %x0 = ascend.view %x[0] : memref<1024xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
    %y0 = ascend.view %y[0] : memref<1024xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
    ascend.mte.copy %x0 to %once : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
    ascend.mte.copy %x0 to %tile : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
    ascend.vec.add %tile, %once to %tile : memref<128xf16, #ascend.ub>, memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
    ascend.mte.copy %tile to %y0 : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.gm>
  }
  ascend.blocks %blk = 1 to 2 {
    // CHECK: ascend.alloc "once" : memref<128xf16
    %once = ascend.alloc "once" : memref<128xf16, #ascend.ub>
    %x1 = ascend.view %x[512] : memref<1024xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
    ascend.mte.copy %x1 to %once : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
    ascend.loop %i = 0 to 4 {
      // CHECK: ascend.alloc "tile" versions(2) : memref<128xf16
      %tile = ascend.alloc "tile" : memref<128xf16, #ascend.ub>
      %xi = ascend.view %x[%i * 128 + 512] : memref<1024xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
      %yi = ascend.view %y[%i * 128 + 512] : memref<1024xf16, #ascend.gm> to memref<128xf16, #ascend.gm>
      ascend.mte.copy %xi to %tile : memref<128xf16, #ascend.gm> to memref<128xf16, #ascend.ub>
      ascend.vec.add %tile, %once to %tile : memref<128xf16, #ascend.ub>, memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
      ascend.mte.copy %tile to %yi : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.gm>
    }
  }
}

// -----

// What cores of a team exchange takes its versions in turn: a run of the outer loop fills 2 + 1, so it moves on by one, and
// so do all of its fillings. Counted by its own body alone the first of a run would have the version of the last one before.
// CHECK-LABEL: @exchanged_in_loops
ascend.kernel @exchanged_in_loops(%y: memref<256xf32, #ascend.gm> w, %sums: memref<512xf32, #ascend.gm> rw) blocks(1) attributes {core = "mixed"} {
  ascend.blocks cube %blk = 0 to 1 {
    // CHECK: ascend.blocks cube
    ascend.loop %i = 0 to 4 {
      ascend.loop %j = 0 to 2 {
        %l0c = ascend.alloc "l0c" : memref<256xf32, #ascend.l0c>
        // CHECK: ascend.alloc "sums" versions(2) address(1) bytes(1024) turns(1, 1) : memref
        %ring = ascend.alloc "sums" address(1) bytes(1024) : memref<256xf32, #ascend.gm>
        ascend.cube.fixpipe %l0c to %ring imm 1.0 : memref<256xf32, #ascend.l0c> to memref<256xf32, #ascend.gm>
      }
      %l0c = ascend.alloc "l0c" : memref<256xf32, #ascend.l0c>
      // The third one has the first version again, in the first run; its own runs move on by one as they are.
      // CHECK: ascend.alloc "sums" versions(2) address(1) bytes(1024) : memref
      %ring = ascend.alloc "sums" address(1) bytes(1024) : memref<256xf32, #ascend.gm>
      ascend.cube.fixpipe %l0c to %ring imm 1.0 : memref<256xf32, #ascend.l0c> to memref<256xf32, #ascend.gm>
    }
  }
  ascend.blocks vector_0 %blk = 0 to 1 {
    // CHECK: ascend.blocks vector_0
    ascend.loop %i = 0 to 4 {
      ascend.loop %j = 0 to 2 {
        // CHECK: ascend.alloc "sums" versions(2) address(1) bytes(1024) turns(1, 1) : memref
        %ring = ascend.alloc "sums" address(1) bytes(1024) : memref<256xf32, #ascend.gm>
      }
      %ring = ascend.alloc "sums" address(1) bytes(1024) : memref<256xf32, #ascend.gm>
    }
  }
  ascend.blocks vector_1 %blk = 0 to 1 {
    ascend.loop %i = 0 to 4 {
      ascend.loop %j = 0 to 2 {
        %ring = ascend.alloc "sums" address(1) bytes(1024) : memref<256xf32, #ascend.gm>
      }
      %ring = ascend.alloc "sums" address(1) bytes(1024) : memref<256xf32, #ascend.gm>
    }
  }
}
