// Moves data between buffers and blocks: loads, stores, indices and bounds of one block. Called by
// tape-worker.cpp.
#pragma once
#include "cpu/cpu.h"
#include "cpu/tape.h"

namespace weft::cpu {

// Where a block lies: start of each loop's axis, and how much of a full block there is.
struct Position {
  const int64_t* loops;
  size_t loopCount;
  int64_t rows;
  // Lanes of each row.
  int64_t valid;
  int64_t chunks() const { return (valid + kChunk - 1) / kChunk; }
};

// The affine function at row 0, lane 0 of the block.
int64_t baseOf(const Affine& affine, const Position& at);

// Of a load with edges: the lanes of its rows that are there, and whether chunks at the edges, which are zero
// elsewhere, are in the register.
struct RowEnds {
  int64_t first = 0;
  int64_t last = 0;
  bool areCopied = true;
};

// The load's value: `registers` holds a full block; the result may be the buffer's own memory if `inPlace`.
// Nothing outside the buffer's elements that are there is read. Chunks at edges may be left to `copyEnds`.
Operand load(const Tape& tape, const Instruction& instruction, const Position& at, const TapeBuffer* buffers,
             char* registers, bool inPlace, RowEnds& ends);
void copyEnds(const Operand& operand, RowEnds& ends, const Position& at, int64_t size);
// A load whose place depends on a value: `indices`, which are in range. Lanes whose index is outside of
// `window` are 0.
Operand gather(const Tape& tape, const Instruction& instruction, const Position& at,
               const TapeBuffer* buffers, const Operand& indices, Range window, char* registers);
Operand index(const Tape& tape, const Instruction& instruction, const Position& at, char* registers);
Operand inside(const Tape& tape, const Instruction& instruction, const Position& at, char* registers);

// Writes rows x lanes of a value; past the caches where it can, if `streams`.
void store(const Tape& tape, const Access& access, const Position& at, int64_t rows, int64_t lanes,
           const Operand& value, const TapeBuffer* buffers, bool streams);
// Writes the lanes whose index is in `window`.
void storeInWindow(const Tape& tape, const Access& access, const Position& at, int64_t rows, int64_t lanes,
                   const Operand& value, const Operand& indices, Range window, const TapeBuffer* buffers);

}  // namespace weft::cpu
