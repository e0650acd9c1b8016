// RUN: ge-opt %s --split-input-file --verify-diagnostics
// Each case breaks one rule of kernels, block ranges, loops, allocs and views.

// expected-error@+1 {{ascend.blocks must cover the blocks in order without a gap}}
ascend.kernel @gap() blocks(4) {
  ascend.blocks %blk = 0 to 1 {
  }
  ascend.blocks %rest = 2 to 4 {
  }
}

// -----

// expected-error@+1 {{ascend.blocks must cover the blocks in order without a gap}}
ascend.kernel @overlap() blocks(4) {
  ascend.blocks %blk = 0 to 3 {
  }
  ascend.blocks %rest = 2 to 4 {
  }
}

// -----

// expected-error@+1 {{blocks 0..3 covered, block_dim is 4}}
ascend.kernel @missing() blocks(4) {
  ascend.blocks %blk = 0 to 3 {
  }
}

// -----

ascend.kernel @empty_range() blocks(1) {
  // expected-error@+1 {{needs 0 <= lo < hi}}
  ascend.blocks %blk = 0 to 0 {
  }
  ascend.blocks %rest = 0 to 1 {
  }
}

// -----

// expected-error@+1 {{only ascend.blocks may stand at the top, got ascend.loop}}
ascend.kernel @loop_at_the_top() blocks(1) {
  ascend.loop %i = 0 to 2 {
  }
}

// -----

// expected-error@+1 {{access must be r, w or rw, got x}}
ascend.kernel @access(%x: memref<16x16xf16, #ascend.gm> x) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
  }
}

// -----

// expected-error@+1 {{arguments live in gm}}
ascend.kernel @argument_on_chip(%x: memref<16x16xf16, #ascend.ub> r) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
  }
}

// -----

// expected-error@+1 {{expected a memref in an ascend memory space, got memref<16x16xf16>}}
ascend.kernel @argument_anywhere(%x: memref<16x16xf16> r) blocks(1) {
  ascend.blocks %blk = 0 to 1 {
  }
}

// -----

// expected-error@+1 {{needs one access per argument}}
"ascend.kernel"() <{sym_name = "few", function_type = (memref<16x16xf16, #ascend.gm>) -> (), block_dim = 1 : i32, arg_access = []}> ({
^bb0(%x: memref<16x16xf16, #ascend.gm>):
  "ascend.blocks"() <{lo = 0 : i32, hi = 1 : i32}> ({
  ^bb1(%blk: index):
  }) : () -> ()
}) : () -> ()

// -----

// expected-error@+1 {{argument types differ from the function type}}
"ascend.kernel"() <{sym_name = "types", function_type = () -> (), block_dim = 1 : i32, arg_access = ["r"]}> ({
^bb0(%x: memref<16x16xf16, #ascend.gm>):
  "ascend.blocks"() <{lo = 0 : i32, hi = 1 : i32}> ({
  ^bb1(%blk: index):
  }) : () -> ()
}) : () -> ()

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    // expected-error@+1 {{the trip count must be at least 1}}
    ascend.loop %i = 0 to 0 {
    }
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    // expected-error@+1 {{a loop counts from 0}}
    ascend.loop %i = 1 to 2 {
    }
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    // expected-error@+1 {{in global memory it is an argument, whose number is the address}}
    %x = ascend.alloc "x" : memref<16x16xf16, #ascend.gm>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    // expected-error@+1 {{expected a memref in an ascend memory space}}
    %x = ascend.alloc "x" : memref<16xf16>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    // expected-error@+2 {{expected a memref type}}
    %x = ascend.alloc "x" : tensor<16xf16>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    // expected-error@+1 {{versions must be at least 1}}
    %x = ascend.alloc "x" versions(0) : memref<16x16xf16, #ascend.ub>
  }
}

// -----

// expected-error@+1 {{the allocs of slot x are in different spaces}}
ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "x" : memref<16x16xf16, #ascend.l1>
    %b = ascend.alloc "x" : memref<16x16xf16, #ascend.ub>
  }
}

// -----

// expected-error@+1 {{the allocs of slot x have 1 and 2 versions}}
ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %a = ascend.alloc "x" : memref<16x16xf16, #ascend.ub>
    %b = ascend.alloc "x" versions(2) : memref<16x16xf16, #ascend.ub>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %x = ascend.alloc "x" : memref<16x16xf16, #ascend.ub>
    // expected-error@+1 {{source and result must be in the same memory space}}
    %v = ascend.view %x[0] : memref<16x16xf16, #ascend.ub> to memref<16x16xf16, #ascend.l1>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %x = ascend.alloc "x" : memref<16x16xf16, #ascend.ub>
    %v = ascend.view %x[16] : memref<16x16xf16, #ascend.ub> to memref<8x16xf16, #ascend.ub>
    // expected-error@+1 {{a view is taken of a buffer, not of another view}}
    %w = ascend.view %v[16] : memref<8x16xf16, #ascend.ub> to memref<4x16xf16, #ascend.ub>
  }
}

// -----

ascend.kernel @k() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    %x = ascend.alloc "x" : memref<16x16xf16, #ascend.ub>
    // expected-error@+1 {{2 coefficients for 1 counters}}
    %v = "ascend.view"(%x, %blk) <{coefs = array<i64: 1, 2>, offset = 0 : i64}> : (memref<16x16xf16, #ascend.ub>, index) -> memref<16x16xf16, #ascend.ub>
  }
}

// -----

// expected-error@+1 {{ascend.alloc: 1 turns in 2 loops}}
ascend.kernel @a_turn_for_each_loop() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    ascend.loop %i = 0 to 2 {
      ascend.loop %j = 0 to 2 {
        %0 = ascend.alloc "a" versions(2) turns(1) : memref<16xf16, #ascend.ub>
      }
    }
  }
}

// -----

ascend.kernel @turns_below_versions() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    ascend.loop %i = 0 to 2 {
      // expected-error@+1 {{turns must be less than 2 versions, got (2,)}}
      %0 = ascend.alloc "a" versions(2) turns(2) : memref<16xf16, #ascend.ub>
    }
  }
}
