#include "cpu/jit/chain-code.h"

#include "cpu/chain-step-parse.h"
#include "cpu/jit/chain-compiler.h"
#include "cpu/jit/native-loop.h"
#include "cpu/tape.h"

namespace weft::cpu::jit {
namespace {

// Lanes of all steps that take as long as to compile a chain, some 40 us.
constexpr int64_t kLeastStepLanes = 1 << 20;

}  // namespace

ChainCodes::ChainCodes(DType dtype, int inputs, ChainPieces pieces, const StepFunction& load)
    : dtype_(dtype), inputs_(inputs), pieces_(std::move(pieces)), load_(load) {
  for (const ChainPiece& piece : pieces_.list) steps_ += static_cast<int64_t>(piece.ops.size());
}

bool ChainCodes::areEnough(int64_t lanes) const {
  if (stepLanes_.load(std::memory_order_relaxed) >= kLeastStepLanes) return true;
  const int64_t more = lanes * steps_;
  return stepLanes_.fetch_add(more, std::memory_order_relaxed) + more >= kLeastStepLanes;
}

const ChainProgram* ChainCodes::of(const ChainForm& form) const {
  const std::lock_guard lock(mutex_);
  const auto [at, isNew] = programs_.try_emplace(form);
  if (isNew) at->second = compileChain(dtype_, inputs_, pieces_, form);
  return at->second ? &*at->second : nullptr;
}

std::shared_ptr<const ChainCodes> chainCodes(const Chain& chain, const Registry& registry) {
  if (!compilesLoops()) return nullptr;
  const std::unique_ptr<VectorCode> code = makeVectorCode(static_cast<int>(chain.byteLength));
  if (code->pointers() == 0) return nullptr;
  ChainPieces pieces = readChainPieces(chain, *code);
  if (pieces.list.empty()) return nullptr;
  return std::make_shared<ChainCodes>(chain.dtype, static_cast<int>(chain.inputs.size()), std::move(pieces),
                                      chainFunction(registry, "load", chain.dtype));
}

}  // namespace weft::cpu::jit
