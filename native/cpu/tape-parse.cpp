// Reads a tape from what src/codegen/cpu/tape.ts wrote, in the order in which it was written.
#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>

#include "cpu/cpu.h"
#include "cpu/tape.h"
#include "shared/layout.h"

namespace weft::cpu {
namespace {

[[noreturn]] void malformed(const std::string& what) {
  throw std::invalid_argument("malformed tape: " + what);
}

// The numbers of a tape, from front to back.
class Words {
 public:
  Words(const double* data, size_t length) : data_(data), length_(length) {}
  int64_t next() {
    if (position_ >= length_) malformed("it ends early");
    return static_cast<int64_t>(data_[position_++]);
  }
  int64_t next(int64_t low, int64_t high, const char* what) {
    const int64_t word = next();
    if (word < low || word > high) malformed(std::string(what) + " is " + std::to_string(word));
    return word;
  }
  bool atEnd() const { return position_ == length_; }

 private:
  const double* data_;
  size_t length_;
  size_t position_ = 0;
};

constexpr int64_t kMany = int64_t{1} << 31;

class Parser {
 public:
  Parser(Words words, std::vector<std::string> ops, const uint8_t* constants, size_t constantBytes)
      : words_(words), ops_(std::move(ops)), constants_(constants), constantBytes_(constantBytes) {}

  std::shared_ptr<const Tape> parse(std::string name) {
    auto tape = std::make_shared<Tape>();
    tape_ = tape.get();
    tape->name = std::move(name);
    tape->registry = &Registry::of(currentIsa());
    layout();
    buffers();
    values();
    const int64_t walks = words_.next(1, kMany, "number of walks");
    tape->keepsBlock = words_.next(0, 1, "keepsBlock") == 1;
    tape->slotBlocks = words_.next(1, INT64_MAX, "slot length");
    tape->rowByteLength = words_.next(0, kMany, "row bytes");
    tape->blockByteLength = words_.next(0, kMany, "block bytes");
    for (int64_t p = 0; p <= walks; p++) {
      tape->rowSections.push_back(section(Storage::row));
      if (p < walks) tape->walks.push_back(section(Storage::block));
    }
    if (!words_.atEnd()) malformed("it goes on after its end");
    return tape;
  }

 private:
  void layout() {
    tape_->rows = words_.next(1, 1 << 20, "rows");
    tape_->take = words_.next(1, 1 << 20, "lanes");
    tape_->inner = words_.next(1, 1 << 20, "inner lanes");
    tape_->rowsReduced = words_.next(0, 1, "row kind") == 1;
    tape_->laneKind = static_cast<LaneKind>(words_.next(0, kLaneKinds - 1, "lane kind"));
    for (int kind = 0; kind < 2; kind++) {
      const int64_t count = words_.next(0, 64, "number of loops");
      for (int64_t i = 0; i < count; i++) {
        Loop loop;
        loop.count = words_.next(0, INT64_MAX, "loop count");
        loop.role = static_cast<Role>(words_.next(0, kRoles - 1, "loop role"));
        loop.extent = words_.next(0, INT64_MAX, "loop extent");
        tape_->loops.push_back(loop);
      }
      if (kind == 0) tape_->tileLoops = tape_->loops.size();
    }
  }

  void buffers() {
    const int64_t count = words_.next(0, kMany, "number of buffers");
    for (int64_t i = 0; i < count; i++) {
      Buffer buffer;
      buffer.dtype = dtype();
      buffer.isOutput = words_.next(0, 1, "buffer role") == 1;
      buffer.elementCount = words_.next(0, INT64_MAX, "element count");
      tape_->buffers.push_back(buffer);
    }
  }

  void values() {
    const int64_t count = words_.next(0, kMany, "number of values");
    tape_->constants.resize(constantBytes_ / kConstantBytes * kChunk * kConstantBytes);
    for (int64_t i = 0; i < count; i++) {
      Value value;
      value.dtype = dtype();
      value.byteLength = byteLengthOf(value.dtype);
      value.rows = words_.next(0, 1, "span") == 1;
      value.lanes = words_.next(0, 1, "span") == 1;
      value.storage = static_cast<Storage>(words_.next(0, kStorages - 1, "storage"));
      value.offset = words_.next(-1, kMany, "offset");
      if (value.storage == Storage::constant) value.offset = constant(value);
      tape_->values.push_back(value);
    }
  }

  // Fills a constant's chunk and returns its offset.
  int64_t constant(const Value& value) {
    if (value.offset < 0 || static_cast<size_t>(value.offset + 1) * kConstantBytes > constantBytes_) {
      malformed("constant out of range");
    }
    const int64_t offset = value.offset * kChunk * kConstantBytes;
    const uint8_t* element = constants_ + value.offset * kConstantBytes;
    for (int64_t l = 0; l < kChunk; l++) {
      std::memcpy(tape_->constants.data() + offset + l * value.byteLength, element, value.byteLength);
    }
    return offset;
  }

  Section section(Storage storage) {
    Section section;
    const int64_t count = words_.next(0, kMany, "section length");
    section.reserve(count);
    for (int64_t i = 0; i < count; i++) section.push_back(instruction(storage));
    return section;
  }

  Instruction instruction(Storage storage) {
    Instruction out;
    out.code = static_cast<Opcode>(words_.next(0, kOpcodes - 1, "opcode"));
    out.value = value();
    if (out.code == Opcode::chain) {
      if (storage != Storage::block) malformed("a chain at row level");
      out.chain = chain(tape_->values[out.value]);
      out.chainIndex = tape_->chainCount++;
      return out;
    }
    if (out.code == Opcode::store) {
      out.access = access();
      if (!tape_->buffers[out.access.buffer].isOutput) malformed("store to an input");
      if (tape_->buffers[out.access.buffer].dtype != tape_->values[out.value].dtype)
        malformed("dtype of a store");
      return out;
    }
    out.offset = words_.next(-1, kMany, "register");
    const Value& result = tape_->values[out.value];
    if (out.code != Opcode::reduce) checkRegister(result, out.offset, storage);
    switch (out.code) {
      case Opcode::load:
        out.isKept = words_.next(0, 1, "kept") == 1;
        out.hasEdges = words_.next(0, 1, "edges") == 1;
        out.access = access();
        if (tape_->buffers[out.access.buffer].dtype != result.dtype) malformed("dtype of a load");
        gatherIndex(out);
        break;
      case Opcode::index: {
        out.access.affine = affine();
        if (result.dtype != DType::int64) malformed("dtype of an index");
        break;
      }
      case Opcode::inside:
        out.bounds = bounds();
        break;
      case Opcode::map:
        map(out);
        break;
      case Opcode::cast: {
        const DType from = dtype();
        out.function = tape_->registry->cast(from, result.dtype);
        if (!out.function) malformed("no cast from dtype " + std::to_string(static_cast<int>(from)));
        arguments(out);
        break;
      }
      case Opcode::reduce:
        reduce(out);
        break;
      case Opcode::store:
      case Opcode::chain:
        break;
    }
    if (out.code == Opcode::map || out.code == Opcode::cast) {
      out.prefetch =
          static_cast<int>(words_.next(-1, static_cast<int64_t>(tape_->values.size()) - 1, "prefetch"));
      out.hasDirect = words_.next(0, 1, "direct store") == 1;
      if (out.hasDirect) out.access = access();
    }
    return out;
  }

  void gatherIndex(Instruction& out) {
    out.indexValue = static_cast<int>(words_.next(-1, out.value - 1, "index of a gather"));
    if (out.indexValue < 0) return;
    if (tape_->values[out.indexValue].dtype != DType::int64) malformed("dtype of an index");
    out.indexStride = words_.next();
    out.indexSize = words_.next(0, INT64_MAX, "indices of a gather");
  }

  void map(Instruction& out) {
    const std::string& name = op();
    if (name == "repeat") return repeat(out);
    const DType type = dtype();
    out.function = tape_->registry->op(name.c_str(), type);
    if (!out.function) malformed("no op " + name + " of dtype " + std::to_string(static_cast<int>(type)));
    arguments(out);
  }

  // A loop of each element.
  void repeat(Instruction& out) {
    out.loopResult = static_cast<int>(words_.next(0, kMany, "result of a loop"));
    const ReadLoop loop = elementLoop();
    if (out.loopResult >= static_cast<int>(loop.states)) malformed("result of a loop");
    if (loop.dtypes[out.loopResult] != tape_->values[out.value].dtype) malformed("dtype of a loop");
    out.loop = loop.made;
    if (words_.next(0, kMany, "arguments of a loop") != static_cast<int64_t>(loop.dtypes.size()))
      malformed("arguments of a loop");
    for (const DType dtype : loop.dtypes) {
      out.loopArgs.push_back(value());
      if (tape_->values[out.loopArgs.back()].dtype != dtype) malformed("dtype of a loop's argument");
    }
    tape_->loopByteLength = std::max(tape_->loopByteLength, out.loop->scratchBytes());
  }

  // A loop that was read, with the dtypes of its arguments.
  struct ReadLoop {
    std::shared_ptr<const ElementLoop> made;
    std::vector<DType> dtypes;
    size_t states;
  };

  ReadLoop elementLoop() {
    auto loop = std::make_shared<ElementLoop>();
    std::vector<DType> dtypes(words_.next(1, 1 << 20, "arguments of a loop"));
    for (DType& each : dtypes) each = dtype();
    const size_t arguments = dtypes.size();
    for (const DType each : dtypes) loop->argumentBytes.push_back(byteLengthOf(each));
    loop->next.resize(words_.next(1, static_cast<int64_t>(arguments), "states of a loop"));
    for (int& at : loop->next) at = static_cast<int>(words_.next(0, kMany, "state of a loop"));
    loop->condition = static_cast<int>(words_.next(0, kMany, "condition of a loop"));
    loop->conditionLength = words_.next(0, kMany, "condition of a loop");
    const int64_t values = words_.next(0, 1 << 20, "values of a loop");
    for (int64_t k = 0; k < values; k++) loop->values.push_back(stepValue(dtypes));
    const auto is = [&](int at, DType dtype) {
      return at < static_cast<int>(dtypes.size()) && dtypes[at] == dtype;
    };
    for (size_t k = 0; k < loop->next.size(); k++)
      if (!is(loop->next[k], dtypes[k])) malformed("state of a loop");
    if (!is(loop->condition, DType::boolean) || loop->conditionLength > loop->values.size() ||
        loop->condition >= static_cast<int>(arguments + loop->conditionLength))
      malformed("condition of a loop");
    const size_t states = loop->next.size();
    completeLoop(*loop);
    dtypes.resize(arguments);
    return {std::move(loop), std::move(dtypes), states};
  }

  // How states move on.
  void completeLoop(ElementLoop& loop) {
    loop.conjunction = tape_->registry->op("logicalAnd", DType::boolean);
    for (size_t k = 0; k < loop.next.size(); k++) {
      loop.choices.push_back(choiceOf(loop.argumentBytes[k]));
      const int at = loop.next[k];
      const bool isArgument = at < static_cast<int>(loop.argumentBytes.size());
      loop.keeps.push_back(isArgument || std::count(loop.next.begin(), loop.next.end(), at) > 1);
    }
  }

  // A choice between elements of a size, whatever they are.
  LaneFunction choiceOf(int byteLength) {
    switch (byteLength) {
      case 1:
        return tape_->registry->op("where", DType::uint8);
      case 2:
        return tape_->registry->op("where", DType::uint16);
      case 4:
        return tape_->registry->op("where", DType::uint32);
      case 8:
        return tape_->registry->op("where", DType::uint64);
      default:
        return tape_->registry->op("where", DType::complex128);
    }
  }

  // A value of a step; `dtypes` are those of arguments and values before it.
  StepValue stepValue(std::vector<DType>& dtypes) {
    StepValue out;
    const int64_t kind = words_.next(0, 3, "value of a loop");
    const DType result = dtype();
    out.byteLength = byteLengthOf(result);
    if (kind == 3) {
      out.constant = constantChunk(out.byteLength);
      dtypes.push_back(result);
      return out;
    }
    const int64_t count = words_.next(1, kind == 2 ? 1 << 20 : 3, "arguments in a loop");
    for (int64_t k = 0; k < count; k++)
      out.args.push_back(
          static_cast<int>(words_.next(0, static_cast<int64_t>(dtypes.size()) - 1, "argument in a loop")));
    if (kind == 2) {
      out.result = static_cast<int>(words_.next(0, kMany, "result of a loop"));
      const ReadLoop inner = elementLoop();
      out.loop = inner.made;
      if (out.result >= static_cast<int>(inner.states) || inner.dtypes[out.result] != result ||
          inner.dtypes.size() != out.args.size())
        malformed("loop in a loop");
      for (size_t k = 0; k < inner.dtypes.size(); k++)
        if (dtypes[out.args[k]] != inner.dtypes[k]) malformed("dtype of a loop's argument");
    } else {
      const std::string name = kind == 0 ? op() : "";
      const DType from = dtype();
      out.function =
          kind == 0 ? tape_->registry->op(name.c_str(), from) : tape_->registry->cast(from, result);
      if (!out.function) malformed("no function " + name + " in a loop");
      if (dtypes[out.args.back()] != from) malformed("dtype of an argument in a loop");
    }
    dtypes.push_back(result);
    return out;
  }

  // A chunk of lanes that are all one element, which stands in words of 32 bits.
  std::vector<char> constantChunk(int byteLength) {
    uint32_t element[kConstantBytes / sizeof(uint32_t)];
    for (uint32_t& word : element) word = static_cast<uint32_t>(words_.next(0, UINT32_MAX, "constant"));
    std::vector<char> chunk(kChunk * byteLength);
    for (int64_t l = 0; l < kChunk; l++) std::memcpy(chunk.data() + l * byteLength, element, byteLength);
    return chunk;
  }

  // A part of a reduction by a monoid; the first of its parts holds the monoid.
  void reduceByMonoid(Instruction& out) {
    const Value& result = tape_->values[out.value];
    const int64_t leader = words_.next(0, kMany, "leader of a reduction");
    const int part = static_cast<int>(words_.next(0, kMany, "part of a reduction"));
    out.isFollower = words_.next(0, 1, "follower") == 1;
    if (out.isFollower) {
      const auto found = monoids_.find(leader);
      if (found == monoids_.end()) malformed("leader of a reduction");
      out.monoid = found->second;
    } else {
      out.monoid = monoids_[leader] = std::make_shared<MonoidReduction>();
      readMonoid(out.monoid->monoid);
    }
    const Monoid& monoid = out.monoid->monoid;
    if (part >= static_cast<int>(monoid.partBytes.size()) || monoid.partBytes[part] != result.byteLength)
      malformed("part of a reduction");
    out.monoid->results.push_back({part, out.value});
    if (words_.next(1, kMany, "parts of a reduction") != static_cast<int64_t>(monoid.partBytes.size()))
      malformed("parts of a reduction");
    for (const int bytes : monoid.partBytes) {
      out.loopArgs.push_back(value());
      if (tape_->values[out.loopArgs.back()].byteLength != bytes) malformed("argument of a reduction");
    }
    if (tape_->laneKind == LaneKind::both) malformed("a monoid over lanes of both kinds");
    if (out.isFollower) return;
    out.reduction = static_cast<int>(tape_->reductions.size());
    tape_->reductions.push_back({monoid.nodeByteLength(), monoid.nodeByteLength()});
    tape_->loopByteLength = std::max(tape_->loopByteLength, monoid.scratchBytes());
  }

  void readMonoid(Monoid& monoid) {
    std::vector<DType> dtypes(words_.next(1, 1 << 10, "parts of a monoid"));
    for (DType& each : dtypes) each = dtype();
    const size_t parts = dtypes.size();
    for (const DType each : dtypes) {
      const int bytes = byteLengthOf(each);
      monoid.partBytes.push_back(bytes);
      monoid.moves.push_back(&tape_->registry->moves(bytes));
      const std::vector<char> chunk = constantChunk(bytes);
      monoid.identity.insert(monoid.identity.end(), chunk.begin(), chunk.end());
    }
    dtypes.insert(dtypes.end(), dtypes.begin(), dtypes.begin() + parts);
    ElementStep& step = monoid.combine;
    for (const DType each : dtypes) step.argumentBytes.push_back(byteLengthOf(each));
    const int64_t values = words_.next(0, 1 << 20, "values of a monoid");
    for (int64_t k = 0; k < values; k++) {
      step.values.push_back(stepValue(dtypes));
      if (step.values.back().loop) malformed("a loop in a monoid");
    }
    for (size_t k = 0; k < parts; k++) {
      step.next.push_back(static_cast<int>(words_.next(0, kMany, "result of a monoid")));
      if (step.next[k] >= static_cast<int>(dtypes.size()) || dtypes[step.next[k]] != dtypes[k])
        malformed("result of a monoid");
    }
  }

  void reduce(Instruction& out) {
    const Value& row = tape_->values[out.value];
    if (row.storage != Storage::row) malformed("a reduction's result is not at row level");
    checkRegister(row, row.offset, Storage::row);
    const std::string& name = op();
    if (name == "monoid") return reduceByMonoid(out);
    const DType type = dtype();
    out.reduce = tape_->registry->reduction(name.c_str(), type);
    if (!out.reduce)
      malformed("no reduction " + name + " of dtype " + std::to_string(static_cast<int>(type)));
    arguments(out);
    out.reduction = static_cast<int>(tape_->reductions.size());
    tape_->reductions.push_back({out.reduce->leafByteLength, out.reduce->nodeByteLength});
  }

  // Instructions as wide as `like` is, over values of its dtype.
  std::shared_ptr<const Chain> chain(const Value& like) {
    auto out = std::make_shared<Chain>();
    out->dtype = like.dtype;
    out->byteLength = like.byteLength;
    out->drive = tape_->registry->drive(like.dtype);
    if (!out->drive.drive) malformed("a chain of dtype " + std::to_string(static_cast<int>(like.dtype)));
    out->stream = step("stream", like.dtype);
    out->save = step("save", like.dtype);
    for (int64_t n = words_.next(0, kMany, "number of inputs"); n > 0; n--) {
      out->inputs.push_back(value());
      if (tape_->values[out->inputs.back()].dtype != like.dtype) malformed("dtype in a chain");
    }
    for (int64_t n = words_.next(0, kMany, "number of outputs"); n > 0; n--) {
      Instruction& output = out->outputs.emplace_back();
      output.code = Opcode::map;
      chainRegister(output, like);
      const Value& result = tape_->values[output.value];
      if (result.dtype != like.dtype || result.rows != like.rows || result.lanes != like.lanes)
        malformed("a chain's values differ");
      output.hasDirect = words_.next(0, 1, "direct store") == 1;
      output.hasEdges = words_.next(0, 1, "edges") == 1;
      if (output.hasDirect) output.access = access();
    }
    for (int64_t n = words_.next(0, kMany, "number of reductions"); n > 0; n--) {
      Instruction& reduction = out->reductions.emplace_back();
      reduction.code = Opcode::reduce;
      chainRegister(reduction, like);
      reduce(reduction);
    }
    out->slots = static_cast<int>(words_.next(0, kMany, "number of slots"));
    for (int64_t n = words_.next(1, kMany, "number of steps"); n > 0; n--)
      out->steps.push_back(chainStep(*out));
    out->steps.push_back({step("end", like.dtype)});
    joinArithmetic(*out);
    return out;
  }

  // Has a load do the arithmetic after it where that takes the same operand once more.
  void joinArithmetic(Chain& chain) {
    const StepFunction join = tape_->registry->step("load and arithmetic", chain.dtype);
    if (!join.narrow.run) return;
    const StepFunction load = step("load", chain.dtype);
    for (size_t first = 0; first < chain.steps.size(); first++) {
      if (chain.steps[first].function.narrow.run != load.narrow.run) continue;
      const ChainOperand loaded = chain.steps[first].places[0];
      bool isTaken = false;
      size_t end = first + 1;
      for (; chain.steps[end].function.arithmetic != Arithmetic::none; end++)
        isTaken = isTaken || chain.steps[end].places[0] == loaded;
      if (!isTaken) continue;
      chain.steps[first].function = join;
      for (size_t s = first + 1; s < end; s++) chain.steps[s].arithmetic = chain.steps[s].function.arithmetic;
    }
  }

  void chainRegister(Instruction& out, const Value& like) {
    out.value = value();
    out.offset = words_.next(-1, kMany, "register");
    checkRegister(like, out.offset, Storage::block);
  }

  StepFunction step(const std::string& name, DType type) {
    const StepFunction found = tape_->registry->step(name.c_str(), type);
    if (found.narrow.run) return found;
    // An op of one argument without a step of its own.
    const LaneFunction function = tape_->registry->op(name.c_str(), type);
    if (!function) malformed("no step " + name + " of dtype " + std::to_string(static_cast<int>(type)));
    StepFunction call = tape_->registry->step("function", type);
    call.fixed = reinterpret_cast<void*>(function);
    return call;
  }

  Chain::Step chainStep(const Chain& chain) {
    const std::string& name = op();
    Chain::Step out{step(name, chain.dtype), name == "prefetch"};
    out.placeCount = static_cast<int>(words_.next(0, 3, "number of operands"));
    if (out.placeCount != out.function.operands) malformed("operands of step " + name);
    const int64_t counts[] = {static_cast<int64_t>(chain.inputs.size()), chain.slots,
                              static_cast<int64_t>(chain.outputs.size()),
                              static_cast<int64_t>(chain.reductions.size())};
    for (int i = 0; i < out.placeCount; i++) {
      const int64_t kind = words_.next(0, kChainOperandKinds - 1, "kind of operand");
      out.places[i] = {static_cast<ChainOperandKind>(kind),
                       static_cast<int>(words_.next(0, counts[kind] - 1, "operand"))};
    }
    return out;
  }

  void arguments(Instruction& out) {
    out.argCount = static_cast<int>(words_.next(1, 4, "number of arguments"));
    for (int i = 0; i < out.argCount; i++) out.args[i] = value();
  }

  void checkRegister(const Value& value, int64_t offset, Storage storage) {
    const int64_t rows = value.rows ? tape_->rows : 1;
    const int64_t lanes = value.lanes ? tape_->paddedWidth() : kChunk;
    const int64_t end = offset + rows * lanes * value.byteLength;
    const int64_t limit = storage == Storage::row ? tape_->rowByteLength : tape_->blockByteLength;
    if (offset < 0 || offset % kChunk != 0 || end > limit) malformed("register out of range");
  }

  int value() {
    return static_cast<int>(words_.next(0, static_cast<int64_t>(tape_->values.size()) - 1, "value"));
  }
  DType dtype() { return static_cast<DType>(words_.next(0, kDTypes - 1, "dtype")); }
  const std::string& op() { return ops_[words_.next(0, static_cast<int64_t>(ops_.size()) - 1, "op")]; }

  Access access() {
    Access access;
    access.buffer =
        static_cast<int>(words_.next(0, static_cast<int64_t>(tape_->buffers.size()) - 1, "buffer"));
    access.affine = affine();
    access.bounds = bounds();
    return access;
  }

  std::vector<Bound> bounds() {
    std::vector<Bound> list(words_.next(0, kMany, "number of bounds"));
    for (Bound& bound : list) {
      bound.affine = affine();
      bound.size = words_.next(0, INT64_MAX, "bound");
      bound.outside = static_cast<Outside>(words_.next(0, kOutsides - 1, "outside"));
      bound.stride = words_.next();
    }
    return list;
  }

  Affine affine() {
    Affine affine;
    affine.offset = words_.next();
    for (size_t i = 0; i < tape_->loops.size(); i++) affine.loops.push_back(words_.next());
    affine.row = words_.next();
    affine.mode = static_cast<LaneMode>(words_.next(0, kLaneModes - 1, "lane mode"));
    if (affine.mode == LaneMode::stride) affine.lane = words_.next();
    if (affine.mode == LaneMode::table) {
      affine.table.resize(words_.next(tape_->width(), tape_->width(), "table length"));
      for (int64_t& entry : affine.table) {
        entry = words_.next();
        affine.tableLow = std::min(affine.tableLow, entry);
        affine.tableHigh = std::max(affine.tableHigh, entry);
      }
    }
    return affine;
  }

  Words words_;
  std::vector<std::string> ops_;
  // By the values of their leaders.
  std::map<int64_t, std::shared_ptr<MonoidReduction>> monoids_;
  const uint8_t* constants_;
  size_t constantBytes_;
  Tape* tape_ = nullptr;
};

}  // namespace

std::shared_ptr<const Tape> parseTape(const Napi::Object& spec) {
  if (!spec.Get("words").IsTypedArray() || !spec.Get("constants").IsTypedArray() ||
      !spec.Get("ops").IsArray()) {
    malformed("words, constants and ops are missing");
  }
  const auto words = spec.Get("words").As<Napi::Float64Array>();
  const auto constants = spec.Get("constants").As<Napi::Uint8Array>();
  if (words.TypedArrayType() != napi_float64_array || constants.TypedArrayType() != napi_uint8_array) {
    malformed("words are not a Float64Array, or constants not a Uint8Array");
  }
  const auto names = spec.Get("ops").As<Napi::Array>();
  std::vector<std::string> ops;
  for (uint32_t i = 0; i < names.Length(); i++) ops.push_back(names.Get(i).ToString().Utf8Value());
  Parser parser(Words(words.Data(), words.ElementLength()), std::move(ops), constants.Data(),
                constants.ElementLength());
  return parser.parse(spec.Get("name").ToString().Utf8Value());
}

}  // namespace weft::cpu
