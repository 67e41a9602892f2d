// Of processors without a room: their loops are interpreted.
#include "cpu/jit/vector-code.h"

namespace weft::cpu::jit {

bool hasVectorCode() { return false; }
std::unique_ptr<VectorCode> makeVectorCode(int, bool) { return nullptr; }

}  // namespace weft::cpu::jit
