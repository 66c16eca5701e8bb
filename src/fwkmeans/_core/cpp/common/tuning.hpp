// All numbers that were chosen by measuring, with what they were measured on: whole fits of
// benchmarks/suite.py on Zen 4 and Zen 5 with two processors, if nothing else is said. None of them
// decides a label or a sum.
#pragma once
#include "common/kernels.hpp"

namespace fwk {

// ---- kernels ----
constexpr index BLOCK_BYTES = 128 * 1024;  // packed rows of a block: half a second cache
constexpr index MAX_BLOCK = 1024;          // rows of a block
constexpr index ROW_TILES =
    4;  // tiles of rows that race a tile of clusters while the first cache has it
constexpr index ROWS_AHEAD = 40;  // open rows that are asked for before they are packed

// ---- which way a pass goes ----
// Multiply-adds from which threads share passes over the rows of a single segment: to wake them,
// and to wait for the last one, takes as long as smaller passes do. Besides the race, sums and
// distances take as long as about ten for each cell, and everything else as 300 for each row.
constexpr index SHAREABLE = 2000000, OF_CELL = 10, OF_ROW = 300;
constexpr index MANY_NUMBERS = 5000;                 // of clusters, that threads share
constexpr index MOST_PACKED = index(1) << 19;        // bytes of rows that are packed for all passes
constexpr index MOST_COPIED = index(1) << 20;        // cells of other layouts that are copied first
constexpr index SMALL_RACE = 32, LARGE_RACE = 5000;  // clusters x features from which bounds pay
constexpr index OFFSETS_PAY = 100;                   // the same with offsets
constexpr index SINGLE_LEAVES = 50;       // one row of so many in doubt, and single precision ends
constexpr index SINGLE_LEAVES_BLOCK = 8;  // the same in one block of final labels
constexpr double MANY_CHANGES = 0.3;      // share of rows, from which all are summed
constexpr int OLD_SUMS = 16;              // passes after which all rows are summed again

// ---- segments: with these, sums depend on the number of rows alone ----
constexpr index SEGMENT = 1024;      // rows, at least, where there are several
constexpr index MOST_SEGMENTS = 64;  // enough for threads that take them one by one

}  // namespace fwk
