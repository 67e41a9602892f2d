#include "runtime/sweep.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/tape.h"
#include "runtime/device.h"
#include "runtime/fields.h"
#include "runtime/loop.h"
#include "runtime/product-batches.h"
#include "runtime/product-steps.h"
#include "runtime/program-steps.h"
#include "shared/layout.h"

namespace weft {
namespace {

using values::item;
using values::reject;

// A Float64Array of `fields` integers for each tile.
class Table {
 public:
  Table(const Fields& fields, const char* name, int64_t tiles, size_t columns)
      : field_(fields.path(name)), fields_(columns) {
    const Napi::Value value = fields.value(name);
    if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_float64_array)
      reject(field_, "a Float64Array");
    array_ = value.As<Napi::Float64Array>();
    const size_t wanted = static_cast<size_t>(tiles) * columns;
    if (array_.ElementLength() != wanted) reject(field_, "of length " + std::to_string(wanted));
  }
  template <typename Field>
  int64_t at(int64_t tile, Field field, int64_t low, int64_t high) const {
    const size_t i = static_cast<size_t>(tile) * fields_ + static_cast<size_t>(field);
    const double number = array_[i];
    if (!(number >= static_cast<double>(low) && number <= static_cast<double>(high)) ||
        number != std::floor(number)) {
      reject(item(field_, i), "an integer from " + std::to_string(low) + " to " + std::to_string(high));
    }
    return static_cast<int64_t>(number);
  }

 private:
  const std::string field_;
  const size_t fields_;
  Napi::Float64Array array_;
};

void checkSlots(const SweepBuffer& buffer, const Program& program, const std::string& field) {
  const size_t alignment = program.device->alignment();
  if (buffer.slots == 0) return;
  if (buffer.offset % alignment != 0 || buffer.slotByteLength % alignment != 0)
    reject(field, "slots at multiples of " + std::to_string(alignment) + " bytes");
  const size_t arena = program.arenaByteLength;
  const auto slots = static_cast<size_t>(buffer.slots);
  if (buffer.offset > arena || (arena - buffer.offset) / slots < buffer.slotByteLength)
    reject(field, "slots inside the arena of " + std::to_string(arena) + " bytes");
}

SweepWindow readWindow(const Table& table, int64_t tile, const SweepBuffer& buffer, size_t byteLength,
                       const std::string& field) {
  const auto bytes = static_cast<int64_t>(byteLength);
  SweepWindow window{};
  window.slot = static_cast<int>(table.at(tile, WindowField::slot, 0, std::max(0, buffer.slots - 1)));
  window.copies = table.at(tile, WindowField::copies, 0, 1) == 1;
  window.first = table.at(tile, WindowField::first, 0, bytes);
  window.rowBytes = table.at(tile, WindowField::width, 0, bytes);
  window.rows = table.at(tile, WindowField::rows, 0, std::max<int64_t>(1, bytes));
  window.pitch = table.at(tile, WindowField::pitch, 0, bytes);
  if (window.rows == 0 || window.rowBytes == 0) {
    window.rows = window.rowBytes = 0;
    return window;
  }
  const std::string name = item(field + ".windows of tile ", static_cast<size_t>(tile));
  const size_t at = placeOf(buffer, window, 0).window;
  bool fits = buffer.slotByteLength >= at + window.rowBytes;
  size_t reach = window.rowBytes;
  if (window.rows > 1 || liesInRows(buffer, window)) {
    const size_t column = window.pitch == 0 ? 0 : window.first % window.pitch;
    if (window.pitch < column + window.rowBytes) reject(name, "rows that end before the next begins");
    if (buffer.slotPitch < window.rowBytes) reject(name, "rows of at most slotPitch bytes");
    if ((window.rows - 1) > (byteLength - window.rowBytes) / window.pitch) reject(name, "inside its buffer");
    fits = fits && (window.rows - 1) <= (buffer.slotByteLength - at - window.rowBytes) / buffer.slotPitch;
    reach = (window.rows - 1) * window.pitch + window.rowBytes;
  }
  if (window.first > byteLength || reach > byteLength - window.first) reject(name, "inside its buffer");
  if (buffer.slots > 0 && !fits) reject(name, "inside its slot");
  return window;
}

// Windows that begin with what the ones before have of them.
void checkCarried(const SweepBuffer& buffer, const std::string& field) {
  if (buffer.direction != SweepDirection::local) return;
  for (size_t tile = 0; tile < buffer.windows.size(); tile++) {
    const SweepWindow& window = buffer.windows[tile];
    if (!window.copies || window.rows == 0) continue;
    const SweepWindow* const before = tile == 0 ? nullptr : &buffer.windows[tile - 1];
    if (before == nullptr || before->slot != window.slot || before->rows != 1 || window.rows != 1 ||
        liesInRows(buffer, window) || before->first > window.first ||
        before->first + before->rowBytes < window.first)
      reject(item(field + ".windows of tile ", tile), "a stretch that begins in the one before");
  }
}

SweepDirection readDirection(const Fields& fields, Role role) {
  const std::string text = fields.text("direction");
  // Buffers that are only in slots have nothing to be copied from or to; of the others, those that are
  // recomputed.
  if (role == Role::temporary && text != "local") fields.reject("direction", "local for a temporary");
  if (role == Role::input && text != "in") fields.reject("direction", "in for an input");
  if (text == "local") return SweepDirection::local;
  if (text == "in") return SweepDirection::in;
  if (text != "out") fields.reject("direction", "in, out or local");
  return SweepDirection::out;
}

SweepBuffer readBuffer(const Fields& fields, int64_t tiles, const Program& program) {
  SweepBuffer buffer{};
  const int64_t last = static_cast<int64_t>(program.buffers.size()) - 1;
  buffer.buffer = static_cast<int>(fields.integer("buffer", 0, last));
  const BufferSpec& spec = program.buffers[buffer.buffer];
  if (!spec.windowed && spec.role != Role::spill) fields.reject("buffer", "a windowed buffer");
  buffer.direction = readDirection(fields, spec.role);
  buffer.offset = fields.integer("offset");
  buffer.slotByteLength = fields.integer("slotByteLength");
  // A buffer without windows is used where it lies.
  const int64_t least = spec.role == Role::temporary || spec.role == Role::spill ? 1 : 0;
  buffer.slots = static_cast<int>(fields.integer("slots", least, 1 << 20));
  buffer.slotPitch = fields.integer("slotPitch");
  checkSlots(buffer, program, fields.path());
  const Table table(fields, "windows", tiles, kWindowFields);
  buffer.windows.reserve(static_cast<size_t>(tiles));
  for (int64_t tile = 0; tile < tiles; tile++)
    buffer.windows.push_back(readWindow(table, tile, buffer, spec.byteLength, fields.path()));
  checkCarried(buffer, fields.path());
  return buffer;
}

// The most that each of a range's numbers may be, and whether a range fits a step besides.
class RangeRule {
 public:
  explicit RangeRule(const Step& step) : step_(step) { std::visit(*this, step); }

  void operator()(const TapeStep& step) {
    x_ = step.tape->tileCount();
    if (step.tape->windowIndex >= 0) z_ = kMostIndices;
  }
  void operator()(const TapePhaseStep& step) {
    x_ = 1;
    y_ = step.finishes ? 0 : step.tape->walkBlocks();
  }
  void operator()(const LaunchStep& step) {
    x_ = step.grid[0];
    y_ = step.grid[1];
    if (step.takesWindows()) z_ = kMostIndices;
  }
  void operator()(const MatmulStep& step) {
    x_ = lineCount(step);
    y_ = step.n;
    z_ = step.k;
  }
  // Elements [x0, x1) of the label y0.
  void operator()(const ContractionStep& step) {
    x_ = *std::max_element(step.sizes.begin(), step.sizes.end());
    y_ = static_cast<int64_t>(step.sizes.size());
  }
  void operator()(const ZeroStep&) { x_ = 1; }
  void operator()(const RoutineStep& step) { x_ = step.units; }
  void operator()(const std::shared_ptr<const Sweep>&) {}
  void operator()(const std::shared_ptr<const Loop>&) {}

  SweepRange read(const Table& table, int64_t tile, const std::string& field) const {
    SweepRange range{};
    range.x0 = table.at(tile, RangeField::x0, 0, x_);
    range.x1 = table.at(tile, RangeField::x1, range.x0, x_);
    range.y0 = table.at(tile, RangeField::y0, 0, y_);
    range.y1 = table.at(tile, RangeField::y1, range.y0, y_);
    range.z0 = table.at(tile, RangeField::z0, 0, z_);
    range.z1 = table.at(tile, RangeField::z1, range.z0, z_);
    if (const auto* product = std::get_if<MatmulStep>(&step_)) check(*product, range, field);
    if (const auto* contraction = std::get_if<ContractionStep>(&step_)) check(*contraction, range, field);
    return range;
  }

 private:
  // Of a windowed axis: indices are exact in JavaScript's numbers.
  static constexpr int64_t kMostIndices = int64_t{1} << 53;

  static void check(const MatmulStep& step, const SweepRange& range, const std::string& field) {
    if (range.x0 == range.x1) return;
    const bool isWhole = range.x0 % step.m == 0 && range.x1 % step.m == 0;
    if (!isWhole && range.x0 / step.m != (range.x1 - 1) / step.m)
      reject(field, "rows of one matrix, or whole matrices");
    if ((isHalf(step.dtype) || step.epilogue) && range.z1 - range.z0 < step.k)
      reject(field, "all contracted indices of halves, and with an epilogue");
  }
  static void check(const ContractionStep& step, const SweepRange& range, const std::string& field) {
    if (range.x0 == range.x1) return;
    if (range.y1 != range.y0 + 1 || range.x1 > step.sizes[range.y0])
      reject(field, "elements of a label of the contraction");
    if (step.addend) reject(field, "of a contraction without an addend");
    const std::vector<int32_t>& kept = step.result.labels;
    if (std::find(kept.begin(), kept.end(), static_cast<int32_t>(range.y0)) == kept.end())
      reject(field, "elements of a label that the result has");
  }
  static bool isHalf(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

  const Step& step_;
  int64_t x_ = 0, y_ = 0, z_ = 0;
};

// Of a loop, the steps of its body. It runs in parts that know how often: without a condition.
std::vector<RangeRule> rulesOf(const Step& step, const std::string& field) {
  const auto* found = std::get_if<std::shared_ptr<const Loop>>(&step);
  if (found == nullptr) return {RangeRule(step)};
  const Loop& loop = **found;
  std::vector<RangeRule> rules;
  for (const Step& part : loop.body) {
    if (!std::holds_alternative<LaunchStep>(part) && !std::holds_alternative<TapeStep>(part))
      reject(field, "a loop of launches or tapes");
    rules.emplace_back(part);
  }
  const bool keeps = std::any_of(loop.states.begin(), loop.states.end(),
                                 [](const LoopState& state) { return state.kept >= 0; });
  if (loop.condition >= 0 || keeps || rules.empty())
    reject(field, "a loop without a condition that keeps nothing but its last states");
  return rules;
}

void readRanges(const Fields& fields, int64_t tiles, SweepBody& body) {
  const std::string field = fields.path("ranges");
  const std::vector<RangeRule> rules = rulesOf(body.step, field);
  body.parts = rules.size();
  const auto parts = static_cast<int64_t>(rules.size());
  const Table table(fields, "ranges", tiles * parts, kRangeFields);
  for (int64_t row = 0; row < tiles * parts; row++)
    body.ranges.push_back(rules[row % parts].read(table, row, item(field + " of tile ", row / parts)));
}

// Bytes of buffers; of those with windows of several rows, from the first to the last element with rows as
// far apart as in slots.
ByteLengthOf byteLengthsOf(const Sweep& sweep, const Program& program) {
  return [&](int position) {
    const size_t byteLength = program.buffers[position].byteLength;
    for (const SweepBuffer& buffer : sweep.buffers) {
      if (buffer.buffer != position) continue;
      for (const SweepWindow& window : buffer.windows) {
        if (window.rows <= 1) continue;
        const size_t most = std::numeric_limits<size_t>::max() / 2 / (buffer.slotPitch + 1);
        return std::min(byteLength / window.pitch, most) * buffer.slotPitch + window.pitch;
      }
    }
    return byteLength;
  };
}

// The tiles of a part are in a row.
void readQueueParts(const Fields& fields, Sweep& sweep, Program& program) {
  if (!fields.has("queueParts")) return;
  if (program.device->isHost()) fields.reject("queueParts", "undefined on the CPU");
  if (program.queueLength > 0) fields.reject("queueParts", "undefined for all sweeps but one");
  const Table table(fields, "queueParts", sweep.tiles, 1);
  std::vector<bool> seen(static_cast<size_t>(sweep.tiles));
  for (int64_t tile = 0; tile < sweep.tiles; tile++) {
    const auto part = static_cast<int>(table.at(tile, 0, 0, sweep.tiles - 1));
    const bool goesOn = tile > 0 && sweep.queueParts.back() == part;
    if (!goesOn && seen[part])
      reject(item(fields.path("queueParts"), tile), "of a part whose tiles are in a row");
    seen[part] = true;
    sweep.queueParts.push_back(part);
    program.queueLength = std::max(program.queueLength, static_cast<size_t>(part) + 1);
  }
}

}  // namespace

bool liesInRows(const SweepBuffer& buffer, const SweepWindow& window) {
  return buffer.slotPitch > 0 && window.pitch > 0;
}

bool isLocal(const Sweep& sweep) {
  return sweep.queueParts.empty() &&
         std::all_of(sweep.buffers.begin(), sweep.buffers.end(),
                     [](const SweepBuffer& buffer) { return buffer.direction == SweepDirection::local; });
}

bool isSwept(const Program& program, int buffer) {
  const BufferSpec& spec = program.buffers[buffer];
  return spec.windowed || spec.role == Role::spill;
}

std::vector<int> buffersOf(const Step& step) {
  struct Find {
    static void add(std::vector<int>& all, const cpu::Section& section, const std::vector<int>& buffers) {
      for (const cpu::Instruction& i : section) {
        if (i.code == cpu::Opcode::load || i.code == cpu::Opcode::store)
          all.push_back(buffers[i.access.buffer]);
      }
    }
    std::vector<int> operator()(const TapeStep& s) {
      std::vector<int> all;
      for (const cpu::Section& section : s.tape->rowSections) add(all, section, s.buffers);
      for (const cpu::Section& section : s.tape->walks) add(all, section, s.buffers);
      return all;
    }
    std::vector<int> operator()(const TapePhaseStep& s) {
      std::vector<int> all{s.scratch};
      if (s.finishes) {
        add(all, s.tape->rowSections[s.phase + 1], s.buffers);
        return all;
      }
      // Row-level values before the first phase are computed with its slot 0.
      if (s.phase == 0) add(all, s.tape->rowSections[0], s.buffers);
      add(all, s.tape->walks[s.phase], s.buffers);
      return all;
    }
    std::vector<int> operator()(const LaunchStep& s) {
      std::vector<int> all;
      for (const LaunchStep::Argument& arg : s.args) {
        if (arg.kind == LaunchArgument::buffer) all.push_back(static_cast<int>(arg.at));
      }
      for (const TensorMap& map : s.tensorMaps) all.push_back(map.buffer);
      return all;
    }
    std::vector<int> operator()(const MatmulStep& s) {
      std::vector<int> all{s.a.buffer, s.b.buffer, s.c.buffer};
      if (s.epilogue && s.epilogue->addend) all.push_back(s.epilogue->addend->buffer);
      if (s.epilogue && s.epilogue->bias >= 0) all.push_back(s.epilogue->bias);
      if (s.workspace >= 0) all.push_back(s.workspace);
      return all;
    }
    std::vector<int> operator()(const ContractionStep& s) {
      std::vector<int> all{s.left.buffer, s.right.buffer, s.result.buffer};
      if (s.addend) all.push_back(s.addend->buffer);
      if (s.workspace >= 0) all.push_back(s.workspace);
      return all;
    }
    std::vector<int> operator()(const ZeroStep& s) { return {s.buffer}; }
    std::vector<int> operator()(const RoutineStep& s) {
      std::vector<int> all = s.operands;
      all.insert(all.end(), s.results.begin(), s.results.end());
      for (const std::optional<RoutineMap>* map : {&s.prologue, &s.weights, &s.epilogue}) {
        if (!*map) continue;
        for (const int buffer : (*map)->buffers) {
          if (buffer >= 0) all.push_back(buffer);
        }
      }
      if (s.workspace >= 0) all.push_back(s.workspace);
      return all;
    }
    std::vector<int> operator()(const std::shared_ptr<const Sweep>&) { return {}; }
    std::vector<int> operator()(const std::shared_ptr<const Loop>& loop) {
      std::vector<int> all;
      for (const LoopState& s : loop->states) {
        for (const int buffer : {s.initial, s.current, s.next, s.last, s.other, s.kept}) {
          if (buffer >= 0) all.push_back(buffer);
        }
      }
      for (const Step& step : loop->body) {
        const std::vector<int> some = buffersOf(step);
        all.insert(all.end(), some.begin(), some.end());
      }
      if (loop->check) all.push_back(loop->check->record);
      return all;
    }
  };
  return std::visit(Find{}, step);
}

uintptr_t slotOf(const SweepBuffer& buffer, int slot, uintptr_t arena) {
  return arena + buffer.offset + static_cast<size_t>(slot) * buffer.slotByteLength;
}

WindowAddress placeOf(const SweepBuffer& buffer, const SweepWindow& window, uintptr_t slot) {
  if (liesInRows(buffer, window)) {
    const size_t first = window.first / window.pitch * buffer.slotPitch + window.first % window.pitch;
    const uintptr_t at = slot + first % kDeviceAlignment;
    return {at, at - first};
  }
  const uintptr_t at = slot + window.first % kDeviceAlignment;
  return {at, at - window.first};
}

Step readSweep(const Fields& fields, Program& program) {
  auto sweep = std::make_shared<Sweep>();
  sweep->tiles = fields.integer("tiles", 0, kMostTiles);
  readQueueParts(fields, *sweep, program);
  std::vector<bool> listed(program.buffers.size());
  sweep->buffers = fields.list("buffers", [&](const Napi::Value& item, const std::string& path) {
    SweepBuffer buffer = readBuffer(Fields(item, path), sweep->tiles, program);
    if (listed[buffer.buffer]) reject(path, "a buffer that is listed once");
    listed[buffer.buffer] = true;
    return buffer;
  });
  sweep->body = fields.list("body", [&](const Napi::Value& item, const std::string& path) {
    const Fields part(item, path);
    SweepBody one{readStep(part.object("step"), program), {}};
    if (std::holds_alternative<std::shared_ptr<const Sweep>>(one.step))
      part.reject("step.kind", "not a sweep");
    for (const int buffer : buffersOf(one.step)) {
      if (isSwept(program, buffer) && !listed[buffer])
        part.reject("step", "over buffers that the sweep has windows of: " + std::to_string(buffer));
    }
    if (const auto* product = std::get_if<MatmulStep>(&one.step))
      checkExtents(*product, byteLengthsOf(*sweep, program), part.path("step"));
    if (const auto* contraction = std::get_if<ContractionStep>(&one.step))
      checkExtents(*contraction, byteLengthsOf(*sweep, program), part.path("step"));
    readRanges(part, sweep->tiles, one);
    return one;
  });
  return std::shared_ptr<const Sweep>(std::move(sweep));
}

}  // namespace weft
