#include "cpu/jit/chain-code.h"

#include "cpu/jit/chain-compiler.h"
#include "cpu/jit/native-loop.h"
#include "cpu/tape.h"

namespace weft::cpu::jit {
namespace {

// Lanes of all steps that take as long as to compile a chain, some 40 us.
constexpr int64_t kLeastStepLanes = 1 << 20;

}  // namespace

bool ChainCodes::areEnough(int64_t lanes) const {
  if (stepLanes_.load(std::memory_order_relaxed) >= kLeastStepLanes) return true;
  const auto more = lanes * static_cast<int64_t>(ops_.size());
  return stepLanes_.fetch_add(more, std::memory_order_relaxed) + more >= kLeastStepLanes;
}

const ChainCode* ChainCodes::of(const ChainForm& form) const {
  const std::lock_guard lock(mutex_);
  const auto [at, isNew] = codes_.try_emplace(form);
  if (isNew) at->second = compileChain(dtype_, inputs_, ops_, form);
  return at->second.get();
}

std::shared_ptr<const ChainCodes> chainCodes(const Chain& chain) {
  if (!compilesLoops()) return nullptr;
  const std::unique_ptr<VectorCode> code = makeVectorCode(static_cast<int>(chain.byteLength));
  if (code->pointers() == 0) return nullptr;
  std::vector<ChainOp> ops = readChainOps(chain, *code);
  if (ops.empty()) return nullptr;
  return std::make_shared<ChainCodes>(chain.dtype, static_cast<int>(chain.inputs.size()), std::move(ops));
}

}  // namespace weft::cpu::jit
