// Loads, and stores, of a block's columns that are neighbours in memory, as channels of pixels or columns of
// a narrow matrix: all of them in one pass over memory, where they would be as many passes over elements that
// lie apart.
#pragma once
#include "cpu/tape-memory.h"

namespace weft::cpu {

// Finds them in a section: those that nothing comes between.
void markColumns(const Tape& tape, Section& section);

// The values of loads of columns: operands, by value.
void loadColumns(const Tape& tape, const Section& section, const Columns& columns, const Position& at,
                 const TapeBuffer* buffers, char* registers, Operand* operands);

// Those that are not in registers lane by lane are stored one by one, past the caches where that can be, if
// `streams`.
void storeColumns(const Tape& tape, const Section& section, const Columns& columns, const Position& at,
                  int64_t lanes, const Operand* operands, const TapeBuffer* buffers, bool streams);

}  // namespace weft::cpu
