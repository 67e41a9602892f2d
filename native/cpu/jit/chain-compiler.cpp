#include "cpu/jit/chain-compiler.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace weft::cpu::jit {
namespace {

constexpr auto kLengthAt = static_cast<int32_t>(offsetof(ChainFrame, byteLength));
constexpr auto kPointersAt = static_cast<int32_t>(offsetof(ChainFrame, pointers));
constexpr auto kRowBytesAt = static_cast<int32_t>(offsetof(ChainFrame, rowBytes));
constexpr auto kRowsAt = static_cast<int32_t>(offsetof(ChainFrame, rows));
constexpr int kMostChainArguments = 4;

class ChainCompiler {
 public:
  ChainCompiler(DType dtype, int inputs, const std::vector<int>& bufferOf, const std::vector<ChainOp>& ops,
                const ChainForm& form)
      : dtype_(dtype), inputs_(inputs), ops_(ops), form_(form), values_(bufferOf.size()) {
    countUses();
    findVectors();
    findBuffers(bufferOf);
    for (const ChainOp& op : ops) opPointers_.push_back(pointerOf(op));
  }

  std::unique_ptr<ChainCode> compile() {
    const std::unique_ptr<VectorCode> probe = code();
    if (static_cast<int>(pointers_.size()) > std::min(probe->pointers(), kMostPointers)) return nullptr;
    // The first time finds how many registers are left for vectors that repeat.
    emit(0);
    if (const int held = std::min(leastFree_, static_cast<int>(vectors_.size())); held > 0) emit(held);
    auto made = std::make_unique<ChainCode>(pointers_, vectors_, masks_, spills_, to_->finish());
    return made->isThere() ? std::move(made) : nullptr;
  }

 private:
  struct Value {
    // Instructions that read it, in order, and how many of them were.
    std::vector<int> uses;
    size_t used = 0;
    int reg = -1;
    // Where it is in memory.
    std::optional<VectorOperand> home;
    bool isSpilled = false;
    // Of inputs: the masks of rows' ends, or -1.
    int firstMask = -1, lastMask = -1;
    bool isRead() const { return used < uses.size(); }
    int nextUse() const { return uses[used]; }
  };
  static constexpr int kNobody = -1;
  // Which vector of a row is at hand.
  enum class Place : uint8_t { first, inside, last };

  std::unique_ptr<VectorCode> code() const {
    return makeVectorCode(dtype_ == DType::float64 ? 8 : 4, form_.walksRows);
  }

  void countUses() {
    for (size_t k = 0; k < ops_.size(); k++) {
      for (const int arg : ops_[k].args) values_[arg].uses.push_back(static_cast<int>(k));
    }
  }

  // Gives inputs their places: pointers, or vectors of the frame, those that are read most often first.
  void findVectors() {
    for (int k = 0; k < inputs_; k++) {
      if (values_[k].uses.empty()) continue;
      if (form_.repeats[k])
        vectors_.push_back(k);
      else
        values_[k].home = pointedBy(pointer(ChainCode::Source::input, k));
    }
    std::stable_sort(vectors_.begin(), vectors_.end(),
                     [&](int a, int b) { return values_[a].uses.size() > values_[b].uses.size(); });
    for (size_t k = 0; k < vectors_.size(); k++) values_[vectors_[k]].home = frameVector(static_cast<int>(k));
    if (!form_.walksRows) return;
    for (int k = 0; k < inputs_; k++) {
      values_[k].firstMask = maskOf(form_.zerosBefore[k], true);
      values_[k].lastMask = maskOf(form_.zerosBehind[k], false);
    }
  }

  int maskOf(int lanes, bool areBefore) {
    if (lanes == 0) return -1;
    const auto isIt = [&](const ChainCode::Zeros& m) { return m.lanes == lanes && m.areBefore == areBefore; };
    const auto found = std::find_if(masks_.begin(), masks_.end(), isIt);
    const auto at = static_cast<int>(found - masks_.begin());
    if (found == masks_.end()) masks_.push_back({lanes, areBefore});
    return at;
  }

  // Values of earlier pieces, and of calls.
  void findBuffers(const std::vector<int>& bufferOf) {
    std::vector<bool> isOwn(values_.size());
    for (const ChainOp& op : ops_)
      if (op.result >= 0) isOwn[op.result] = true;
    for (size_t k = inputs_; k < values_.size(); k++) {
      if (isOwn[k] || values_[k].uses.empty()) continue;
      values_[k].home = pointedBy(pointer(ChainCode::Source::buffer, bufferOf[k]));
    }
  }

  int pointer(ChainCode::Source source, int index) {
    pointers_.push_back({source, index});
    return static_cast<int>(pointers_.size()) - 1;
  }

  // Of an instruction that writes, or asks for memory; -1: of others.
  int pointerOf(const ChainOp& op) {
    if (op.kind == ChainOp::Kind::store) return pointer(ChainCode::Source::output, op.index);
    if (op.kind == ChainOp::Kind::keep) return pointer(ChainCode::Source::buffer, op.index);
    if (op.kind == ChainOp::Kind::take) return pointer(ChainCode::Source::reduction, op.index);
    const bool asks = op.kind == ChainOp::Kind::ask && form_.asks[op.index];
    return asks ? pointer(ChainCode::Source::nextBlock, op.index) : -1;
  }

  // With so many of the vectors that repeat in registers.
  void emit(int held) {
    to_ = code();
    for (Value& value : values_) value.reg = -1;
    owner_.assign(to_->registers(), kNobody);
    isLocked_.assign(to_->registers(), false);
    free_.clear();
    for (int reg = to_->registers() - 1; reg >= to_->firstFree(); reg--) free_.push_back(reg);
    freeSpills_.clear();
    spills_ = 0;
    to_->enterWithPointers(static_cast<int>(pointers_.size()));
    for (int k = 0; k < held; k++) {
      values_[vectors_[k]].reg = free_.back();
      to_->move(free_.back(), frameVector(k));
      free_.pop_back();
    }
    leastFree_ = static_cast<int>(free_.size());
    for (size_t k = 0; k < pointers_.size(); k++)
      to_->loadPointer(static_cast<int>(k), kPointersAt + static_cast<int32_t>(k * sizeof(char*)));
    if (form_.walksRows)
      walkRows();
    else
      walkVectors();
    to_->leaveWithPointers(static_cast<int>(pointers_.size()));
  }

  void walkVectors() {
    const Label again = to_->label();
    to_->firstVector();
    to_->bind(again);
    const bool wraps = form_.leaves == ChainForm::Leaves::one;
    if (wraps) to_->wrapVector(kChunk * to_->laneBytes());
    vector(Place::inside);
    to_->nextVectorUpTo(kLengthAt, again);
  }

  // The last vector of a row ends with it: it has lanes of the one before it, too.
  void walkRows() {
    const Label row = to_->label(), again = to_->label();
    to_->holdLength(kLengthAt);
    to_->bind(row);
    to_->firstVector();
    vector(Place::first);
    to_->nextVectorUpTo(kLengthAt, again);
    to_->bind(again);
    vector(Place::inside);
    to_->nextVectorUpTo(kLengthAt, again);
    to_->vectorAt(kLengthAt);
    vector(Place::last);
    for (size_t k = 0; k < pointers_.size(); k++)
      to_->movePointer(static_cast<int>(k), kRowBytesAt + static_cast<int32_t>(k * sizeof(int64_t)));
    to_->nextOf(kRowsAt, row);
  }

  void vector(Place place) {
    place_ = place;
    for (Value& value : values_) {
      value.used = 0;
      if (std::exchange(value.isSpilled, false)) value.home.reset();
    }
    for (size_t k = 0; k < ops_.size(); k++) instruction(ops_[k], opPointers_[k]);
  }

  void instruction(const ChainOp& op, int pointer) {
    switch (op.kind) {
      case ChainOp::Kind::call:
        return;
      case ChainOp::Kind::ask:
        if (pointer >= 0) to_->prefetch(pointedBy(pointer));
        return;
      case ChainOp::Kind::store:
        return store(op, pointedBy(pointer), form_.streams[op.index]);
      case ChainOp::Kind::keep:
        return store(op, pointedBy(pointer), false);
      case ChainOp::Kind::take:
        if (form_.leaves == ChainForm::Leaves::none) return store(op, pointedBy(pointer), false);
        return take(op, form_.leaves == ChainForm::Leaves::one ? wrappedBy(pointer) : pointedBy(pointer));
      case ChainOp::Kind::compute:
      case ChainOp::Kind::choose:
        return compute(op);
    }
  }

  void store(const ChainOp& op, VectorOperand place, bool streams) {
    const int from = to_->inRegister(operand(op.args[0]), kFirstScratch);
    if (streams)
      to_->storePast(place, from);
    else
      to_->store(place, from);
    release(op);
  }

  void take(const ChainOp& op, VectorOperand leaf) {
    VectorOperand args[] = {leaf, operand(op.args[0])};
    if (op.isCommutative) std::swap(args[0], args[1]);
    const int out = allocate(kNobody);
    op.emit(*to_, dtype_, out, args);
    to_->store(leaf, out);
    free_.push_back(out);
    release(op);
  }

  void compute(const ChainOp& op) {
    VectorOperand args[kMostChainArguments];
    for (size_t k = 0; k < op.args.size(); k++) args[k] = operand(op.args[k]);
    // The second operand of instructions may lie in memory.
    if (op.isCommutative && args[1].isRegister()) std::swap(args[0], args[1]);
    const int out = allocate(op.result);
    if (op.kind == ChainOp::Kind::choose)
      to_->choose(dtype_, op.order, out, args);
    else
      op.emit(*to_, dtype_, out, args);
    release(op);
    values_[op.result].reg = out;
    if (!values_[op.result].isRead()) giveBack(op.result);
  }

  static VectorOperand frameVector(int k) {
    return {VectorOperand::Kind::memory, static_cast<int32_t>(sizeof(ChainFrame)) + k * kFrameVectorBytes};
  }

  // Where an argument of the instruction at hand is.
  VectorOperand operand(int value) {
    Value& from = values_[value];
    const int mask = place_ == Place::inside ? -1 : place_ == Place::first ? from.firstMask : from.lastMask;
    const bool isLoaded = from.reg < 0 && from.home->kind == VectorOperand::Kind::pointed &&
                          (mask >= 0 || (from.uses.size() - from.used > 1 && !free_.empty()));
    if (isLoaded) {
      from.reg = allocate(value);
      if (mask >= 0)
        to_->moveWhere(from.reg, frameVector(static_cast<int>(vectors_.size()) + mask), *from.home);
      else
        to_->move(from.reg, *from.home);
    }
    if (from.reg < 0) return *from.home;
    isLocked_[from.reg] = true;
    return vectorRegister(from.reg);
  }

  int allocate(int owner) {
    if (free_.empty()) spillFarthest();
    const int reg = free_.back();
    free_.pop_back();
    owner_[reg] = owner;
    leastFree_ = std::min(leastFree_, static_cast<int>(free_.size()));
    return reg;
  }

  void spillFarthest() {
    int farthest = kNobody;
    for (size_t reg = 0; reg < owner_.size(); reg++) {
      if (owner_[reg] == kNobody || isLocked_[reg]) continue;
      if (farthest == kNobody || values_[owner_[reg]].nextUse() > values_[farthest].nextUse())
        farthest = owner_[reg];
    }
    Value& value = values_[farthest];
    if (!value.home) {
      if (freeSpills_.empty()) freeSpills_.push_back(spills_++);
      value.home = frameVector(static_cast<int>(vectors_.size() + masks_.size()) + freeSpills_.back());
      freeSpills_.pop_back();
      value.isSpilled = true;
      to_->store(*value.home, value.reg);
    }
    giveBack(farthest);
  }

  void release(const ChainOp& op) {
    for (const int arg : op.args) {
      Value& value = values_[arg];
      value.used++;
      if (value.reg >= 0) isLocked_[value.reg] = false;
      if (value.isRead()) continue;
      if (value.isSpilled) freeSpills_.push_back(spillOf(value));
      // Held vectors have no owner.
      if (value.reg >= 0 && owner_[value.reg] == arg) giveBack(arg);
    }
  }

  int spillOf(const Value& value) const {
    const auto at = static_cast<size_t>(value.home->value) - sizeof(ChainFrame);
    return static_cast<int>(at / kFrameVectorBytes - vectors_.size() - masks_.size());
  }

  void giveBack(int value) {
    const int reg = std::exchange(values_[value].reg, -1);
    owner_[reg] = kNobody;
    free_.push_back(reg);
  }

  const DType dtype_;
  const int inputs_;
  const std::vector<ChainOp>& ops_;
  const ChainForm& form_;
  std::vector<Value> values_;
  std::vector<ChainCode::Pointer> pointers_;
  // Inputs that repeat.
  std::vector<int> vectors_;
  std::vector<ChainCode::Zeros> masks_;
  Place place_ = Place::inside;
  std::vector<int> opPointers_;
  std::unique_ptr<VectorCode> to_;
  // The value in each register.
  std::vector<int> owner_;
  std::vector<bool> isLocked_;
  std::vector<int> free_, freeSpills_;
  int leastFree_ = 0, spills_ = 0;
};

}  // namespace

std::optional<ChainProgram> compileChain(DType dtype, int inputs, const ChainPieces& pieces,
                                         const ChainForm& form) {
  const auto isNothing = [&](const ChainOp& op) {
    return op.kind == ChainOp::Kind::ask && !form.asks[op.index];
  };
  ChainProgram program;
  for (const ChainPiece& piece : pieces.list) {
    auto& code = program.codes.emplace_back();
    if (std::all_of(piece.ops.begin(), piece.ops.end(), isNothing)) continue;
    code = ChainCompiler(dtype, inputs, pieces.bufferOf, piece.ops, form).compile();
    if (!code) return std::nullopt;
  }
  return program;
}

}  // namespace weft::cpu::jit
