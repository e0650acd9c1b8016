// RUN: ge-opt %s --split-input-file --no-locations --plan-onchip-buffers | FileCheck %s

// Byte addresses of slots: disjoint while they live together, aligned as their space wants it.

// CHECK-LABEL: @versions_lie_one_after_another
ascend.kernel @versions_lie_one_after_another() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    ascend.loop %i = 0 to 4 {
      // CHECK: ascend.alloc "a" versions(2) address(0) bytes(2048) : memref<1024xf16, #ascend.ub>
      %a = ascend.alloc "a" versions(2) : memref<1024xf16, #ascend.ub>
      // CHECK: ascend.alloc "b" address(4096) bytes(1024) : memref<512xf16, #ascend.ub>
      %b = ascend.alloc "b" : memref<512xf16, #ascend.ub>
    }
  }
}

// -----

// A slot is as large as its largest content, in every alloc.
// CHECK-LABEL: @contents_of_one_slot
ascend.kernel @contents_of_one_slot() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    ascend.loop %i = 0 to 4 {
      // CHECK: ascend.alloc "tile" versions(2) address(0) bytes(2048) : memref<1024xf16, #ascend.ub>
      %0 = ascend.alloc "tile" versions(2) : memref<1024xf16, #ascend.ub>
    }
    // CHECK: ascend.alloc "tile" versions(2) phase(1) address(0) bytes(2048) : memref<100xf16, #ascend.ub>
    %1 = ascend.alloc "tile" versions(2) phase(1) : memref<100xf16, #ascend.ub>
  }
}

// -----

// UB aligns to 32 bytes, L0A to 512, L0C to 1024; every space starts at 0.
// CHECK-LABEL: @alignment
ascend.kernel @alignment() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    // CHECK: ascend.alloc "u0" address({{0|64}}) bytes(64) : memref<17xf16, #ascend.ub>
    %u0 = ascend.alloc "u0" : memref<17xf16, #ascend.ub>
    // CHECK: ascend.alloc "u1" address({{0|64}}) bytes({{32|64}}) : memref<1xf32, #ascend.ub>
    %u1 = ascend.alloc "u1" : memref<1xf32, #ascend.ub>
    // CHECK: ascend.alloc "a0" address({{0|512}}) bytes(512) : memref<1x1x16x16xf16, #ascend.l0a>
    %a0 = ascend.alloc "a0" : memref<1x1x16x16xf16, #ascend.l0a>
    // CHECK: ascend.alloc "a1" address({{0|512}}) bytes(512) : memref<1x1x16x16xf16, #ascend.l0a>
    %a1 = ascend.alloc "a1" : memref<1x1x16x16xf16, #ascend.l0a>
    // CHECK: ascend.alloc "c0" address({{0|2048}}) bytes(1024) : memref<1x1x16x16xf32, #ascend.l0c>
    %c0 = ascend.alloc "c0" : memref<1x1x16x16xf32, #ascend.l0c>
    // CHECK: ascend.alloc "c1" address({{0|1024}}) bytes(2048) : memref<2x1x16x16xf32, #ascend.l0c>
    %c1 = ascend.alloc "c1" : memref<2x1x16x16xf32, #ascend.l0c>
  }
}

// -----

// A core runs one of the ranges: together their slots would need twice what UB has.
// CHECK-LABEL: @ranges_overlap
ascend.kernel @ranges_overlap() blocks(3) {
  ascend.blocks %blk = 0 to 1 {
    // CHECK: ascend.alloc "first" address(0) bytes(262144) :
    %0 = ascend.alloc "first" : memref<131072xf16, #ascend.ub>
  }
  ascend.blocks %blk = 1 to 3 {
    // CHECK: ascend.alloc "second" address(0) bytes(262144) :
    %0 = ascend.alloc "second" : memref<131072xf16, #ascend.ub>
  }
}

// -----

// A slot that two ranges use keeps its place in both, so it lives through the one between them.
// CHECK-LABEL: @shared_by_ranges
ascend.kernel @shared_by_ranges() blocks(3) {
  ascend.blocks %blk = 0 to 1 {
    // CHECK: ascend.alloc "shared" address([[S:[0-9]+]]) bytes(256) :
    %0 = ascend.alloc "shared" : memref<128xf16, #ascend.ub>
  }
  ascend.blocks %blk = 1 to 2 {
    // CHECK-NOT: "middle" address([[S]])
    %0 = ascend.alloc "middle" : memref<128xf16, #ascend.ub>
  }
  ascend.blocks %blk = 2 to 3 {
    // CHECK: ascend.alloc "shared" address([[S]]) bytes(256) :
    %0 = ascend.alloc "shared" : memref<100xf16, #ascend.ub>
  }
}

// -----

// The two sources of an addition lie half the bank groups (256 of 512 bytes) apart, in all versions.
// CHECK-LABEL: @sources_in_other_bank_groups
ascend.kernel @sources_in_other_bank_groups() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    ascend.loop %i = 0 to 4 {
      // CHECK: ascend.alloc "a" versions(2) address(256) bytes(512) : memref<128xf16, #ascend.ub>
      %a = ascend.alloc "a" versions(2) : memref<128xf16, #ascend.ub>
      // CHECK: ascend.alloc "b" versions(2) address(1536) bytes(512) : memref<200xf16, #ascend.ub>
      %b = ascend.alloc "b" versions(2) : memref<200xf16, #ascend.ub>
      %0 = ascend.view %a[0] : memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
      %1 = ascend.view %b[0] : memref<200xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
      ascend.vec.add %0, %1 to %0 : memref<128xf16, #ascend.ub>, memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
    }
  }
}

// -----

// Where UB has no room for that, they lie side by side.
// CHECK-LABEL: @no_room_for_other_bank_groups
ascend.kernel @no_room_for_other_bank_groups() blocks(1) {
  ascend.blocks %blk = 0 to 1 {
    // CHECK: ascend.alloc "a" address({{0|131072}}) bytes(131072) :
    %a = ascend.alloc "a" : memref<65536xf16, #ascend.ub>
    // CHECK: ascend.alloc "b" address({{0|131072}}) bytes(131072) :
    %b = ascend.alloc "b" : memref<65536xf16, #ascend.ub>
    %0 = ascend.view %a[0] : memref<65536xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
    %1 = ascend.view %b[0] : memref<65536xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
    ascend.vec.add %0, %1 to %0 : memref<128xf16, #ascend.ub>, memref<128xf16, #ascend.ub> to memref<128xf16, #ascend.ub>
  }
}
