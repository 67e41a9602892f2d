// Reads a tape from what src/codegen/cpu/tape.ts wrote, in the order in which it was written.
#include <algorithm>
#include <cstring>
#include <map>

#include "cpu/chain-step-parse.h"
#include "cpu/cpu.h"
#include "cpu/element-step-parse.h"
#include "cpu/jit/chain-code.h"
#include "cpu/jit/native-loop.h"
#include "cpu/tape-marks.h"
#include "cpu/tape-seamless.h"
#include "cpu/tape-words.h"
#include "cpu/tape.h"

namespace weft::cpu {
namespace {

class Parser {
 public:
  Parser(TapeWords words, const uint8_t* constants, size_t constantBytes, std::vector<int32_t> numbers)
      : words_(std::move(words)),
        constants_(constants),
        constantBytes_(constantBytes),
        numbers_(std::move(numbers)) {}

  std::shared_ptr<const Tape> parse(const std::string& name) {
    const std::shared_ptr<Tape> tape = sections(name);
    if (words_.next(0, 1, "triangle") == 1) tape->triangle = triangle(*tape);
    if (!words_.atEnd()) malformed("it goes on after its end");
    return tape;
  }

 private:
  std::shared_ptr<Tape> sections(std::string name) {
    auto tape = std::make_shared<Tape>();
    tape_ = tape.get();
    tape->name = std::move(name);
    tape->registry = &Registry::of(currentIsa());
    layout();
    buffers();
    values();
    windowIndex();
    tape->turnsRows = words_.next(0, tape->isSegmented() ? 1 : 0, "rows as lanes") == 1;
    const int64_t walks = words_.next(1, kMany, "number of walks");
    tape->keepsBlock = words_.next(0, 1, "keepsBlock") == 1;
    tape->slotBlocks = words_.next(1, INT64_MAX, "slot length");
    tape->rowByteLength = words_.next(0, kMany, "row bytes");
    tape->blockByteLength = words_.next(0, kMany, "block bytes");
    tape->seamlessLanes = words_.next(0, 1 << 20, "lanes of several blocks");
    for (int64_t p = 0; p <= walks; p++) {
      tape->rowSections.push_back(section(Storage::row));
      if (p < walks) tape->walks.push_back(section(Storage::block));
    }
    markTape(*tape);
    if (tape->isSeamless() && !canBeSeamless(*tape)) malformed("several blocks as one");
    return tape;
  }

  std::unique_ptr<Triangle> triangle(const Tape& whole) {
    auto out = std::make_unique<Triangle>();
    const auto last = static_cast<int64_t>(whole.tileLoops) - 1;
    out->rowLoop = words_.next(0, last, "loop over rows");
    out->columnLoop = words_.next(0, last, "loop over columns");
    out->side = words_.next(1, 1 << 16, "side of a square");
    for (int64_t n = words_.next(1, kMany, "number of results"); n > 0; n--) {
      Triangle::Result& result = out->results.emplace_back();
      const auto buffers = static_cast<int64_t>(whole.buffers.size());
      result.buffer = static_cast<int>(words_.next(0, buffers - 1, "buffer"));
      result.squareOffset = words_.next(0, kMany, "place of a square");
      result.offset = words_.next();
      for (size_t i = 0; i < whole.tileLoops; i++) result.loops.push_back(words_.next());
    }
    const std::shared_ptr<Tape> square = sections(whole.name);
    for (const Triangle::Result& result : out->results) {
      const Buffer& buffer = square->buffers.at(result.buffer);
      if (!buffer.isOutput || result.squareOffset + out->side * out->side > buffer.elementCount)
        malformed("place of a square");
    }
    for (size_t i = 0; i < square->tileLoops; i++) {
      const bool isOfSquare = i == out->rowLoop || i == out->columnLoop;
      const Role role = square->loops[i].role;
      if (isOfSquare ? role == Role::shared || out->side % square->stepOf(i) != 0 : role != Role::unit)
        malformed("loops of a square");
    }
    out->square = square;
    return out;
  }

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
      buffer.dtype = words_.dtype();
      buffer.isOutput = words_.next(0, 1, "buffer role") == 1;
      buffer.elementCount = words_.next(0, INT64_MAX, "element count");
      tape_->buffers.push_back(buffer);
    }
  }

  void values() {
    const int64_t count = words_.next(0, kMany, "number of values");
    tape_->constants.resize(constantBytes_ / kConstantBytes * kChunk * kConstantBytes);
    if (!numbers_.empty() && numbers_.size() * kConstantBytes != constantBytes_) malformed("numbers");
    tape_->numbers = numbers_;
    for (int64_t i = 0; i < count; i++) {
      Value value;
      value.dtype = words_.dtype();
      value.byteLength = byteLengthOf(value.dtype);
      value.rows = words_.next(0, 1, "span") == 1;
      value.lanes = words_.next(0, 1, "span") == 1;
      value.storage = static_cast<Storage>(words_.next(0, kStorages - 1, "storage"));
      value.offset = words_.next(-1, kMany, "offset");
      if (value.storage == Storage::constant) value.offset = constant(value);
      tape_->values.push_back(value);
    }
  }

  void windowIndex() {
    tape_->windowIndex =
        static_cast<int>(words_.next(-1, static_cast<int64_t>(tape_->values.size()) - 1, "index of windows"));
    if (tape_->windowIndex >= 0 && tape_->values[tape_->windowIndex].dtype != DType::int64)
      malformed("dtype of the index of windows");
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
    for (int64_t i = 0; i < count; i++) section.push_back(weighed(storage));
    return section;
  }

  Instruction weighed(Storage storage) {
    const double before = words_.weightRead();
    Instruction out = instruction(storage);
    out.weight = std::max(1.0, words_.weightRead() - before);
    return out;
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
        const DType from = words_.dtype();
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
    const std::string& name = words_.op();
    if (name == "repeat") return repeat(out);
    const DType type = words_.dtype();
    out.function = tape_->registry->op(name.c_str(), type);
    if (!out.function) malformed("no op " + name + " of dtype " + std::to_string(static_cast<int>(type)));
    arguments(out);
  }

  // A loop of each element.
  void repeat(Instruction& out) {
    out.loopResult = static_cast<int>(words_.next(0, kMany, "result of a loop"));
    const ReadLoop loop = readElementLoop(words_, *tape_->registry);
    if (out.loopResult >= static_cast<int>(loop.states)) malformed("result of a loop");
    if (loop.dtypes[out.loopResult] != tape_->values[out.value].dtype) malformed("dtype of a loop");
    out.loop = loop.made;
    if (words_.next(0, kMany, "arguments of a loop") != static_cast<int64_t>(loop.dtypes.size()))
      malformed("arguments of a loop");
    std::vector<const char*> constants;
    for (const DType dtype : loop.dtypes) {
      out.loopArgs.push_back(value());
      const Value& argument = tape_->values[out.loopArgs.back()];
      if (argument.dtype != dtype) malformed("dtype of a loop's argument");
      // Code of a loop has the constants in it that are the same in every run.
      const bool isConstant = argument.storage == Storage::constant && !comesWithRun(argument);
      constants.push_back(isConstant ? tape_->constants.data() + argument.offset : nullptr);
    }
    out.nativeLoop = jit::compileLoop(out.loop, out.loopResult, constants);
    const size_t bytes = out.nativeLoop ? out.nativeLoop->scratchBytes() : out.loop->scratchBytes();
    tape_->loopByteLength = std::max(tape_->loopByteLength, bytes);
  }

  bool comesWithRun(const Value& constant) const {
    return !tape_->numbers.empty() && tape_->numbers[constant.offset / (kChunk * kConstantBytes)] >= 0;
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
      out.monoid->monoid = readMonoid(words_, *tape_->registry);
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
    if (result.lanes && tape_->turnsRows) malformed("results of a monoid as lanes");
    if (out.isFollower) return;
    out.reduction = static_cast<int>(tape_->reductions.size());
    tape_->reductions.push_back({monoid.nodeByteLength(), monoid.nodeByteLength()});
    tape_->loopByteLength = std::max(tape_->loopByteLength, monoid.scratchBytes());
  }

  void reduce(Instruction& out) {
    const Value& row = tape_->values[out.value];
    if (row.storage != Storage::row) malformed("a reduction's result is not at row level");
    checkRegister(row, row.offset, Storage::row);
    const std::string& name = words_.op();
    if (name == "monoid") return reduceByMonoid(out);
    const DType type = words_.dtype();
    out.reduce = tape_->registry->reduction(name.c_str(), type);
    if (!out.reduce)
      malformed("no reduction " + name + " of dtype " + std::to_string(static_cast<int>(type)));
    arguments(out);
    out.readsFirstOfEqual = name.starts_with("sum.") && out.argCount == 2;
    out.endsWithLanes = name == "sum" || name.starts_with("sum.");
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
    out->stream = chainFunction(*tape_->registry, "stream", like.dtype);
    out->save = chainFunction(*tape_->registry, "save", like.dtype);
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
      out->steps.push_back(readChainStep(words_, *tape_->registry, *out));
    out->steps.push_back({"end", chainFunction(*tape_->registry, "end", like.dtype)});
    joinArithmetic(*tape_->registry, *out);
    out->codes = jit::chainCodes(*out, *tape_->registry);
    return out;
  }

  void chainRegister(Instruction& out, const Value& like) {
    out.value = value();
    out.offset = words_.next(-1, kMany, "register");
    checkRegister(like, out.offset, Storage::block);
  }

  void arguments(Instruction& out) {
    out.argCount = static_cast<int>(words_.next(1, 4, "number of arguments"));
    for (int i = 0; i < out.argCount; i++) out.args[i] = value();
  }

  void checkRegister(const Value& value, int64_t offset, Storage storage) {
    const int64_t rows = value.rows ? tape_->rows : 1;
    const int64_t lanes = value.lanes ? tape_->lanesOf(storage) : kChunk;
    const int64_t end = offset + rows * lanes * value.byteLength;
    const int64_t limit = storage == Storage::row ? tape_->rowByteLength : tape_->blockByteLength;
    if (offset < 0 || offset % kChunk != 0 || end > limit) malformed("register out of range");
  }

  int value() {
    return static_cast<int>(words_.next(0, static_cast<int64_t>(tape_->values.size()) - 1, "value"));
  }

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

  TapeWords words_;
  // By the values of their leaders.
  std::map<int64_t, std::shared_ptr<MonoidReduction>> monoids_;
  const uint8_t* constants_;
  size_t constantBytes_;
  const std::vector<int32_t> numbers_;
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
  const Napi::Value weighing = spec.Get("weights");
  if (!weighing.IsTypedArray() || weighing.As<Napi::TypedArray>().TypedArrayType() != napi_float64_array)
    malformed("weights are not a Float64Array");
  const auto weights = weighing.As<Napi::Float64Array>();
  const auto names = spec.Get("ops").As<Napi::Array>();
  std::vector<std::string> ops;
  for (uint32_t i = 0; i < names.Length(); i++) ops.push_back(names.Get(i).ToString().Utf8Value());
  std::vector<int32_t> numbers;
  if (const Napi::Value given = spec.Get("numbers"); !given.IsUndefined()) {
    if (!given.IsTypedArray() || given.As<Napi::TypedArray>().TypedArrayType() != napi_int32_array)
      malformed("numbers are not an Int32Array");
    const auto list = given.As<Napi::Int32Array>();
    numbers.assign(list.Data(), list.Data() + list.ElementLength());
  }
  TapeWords text(words.Data(), words.ElementLength(), std::move(ops),
                 {weights.Data(), weights.Data() + weights.ElementLength()});
  Parser parser(std::move(text), constants.Data(), constants.ElementLength(), std::move(numbers));
  return parser.parse(spec.Get("name").ToString().Utf8Value());
}

}  // namespace weft::cpu
