// How many blocks of elements loops have run by each form of their code, in this process: which form a block
// takes depends on its numbers, and the results say nothing about it.
#pragma once
#include <array>
#include <cstdint>

namespace weft::cpu {

// By the functions of lanes; code for any numbers, for bounded ones, for those that are all int32.
enum class LoopForm : uint8_t { interpreted, general, bounded, narrow };
constexpr int kLoopForms = 4;
constexpr std::array<const char*, kLoopForms> kLoopFormNames{"interpreted", "general", "bounded", "narrow"};

void countLoopBlock(LoopForm form);
std::array<int64_t, kLoopForms> loopBlocks();

// How often chains were set up to run by code of their own (jit/chain-code.h).
void countChainCode();
int64_t chainCodes();

}  // namespace weft::cpu
