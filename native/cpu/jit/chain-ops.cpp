#include "cpu/jit/chain-ops.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "cpu/jit/vector-ops.h"
#include "cpu/tape.h"

namespace weft::cpu::jit {
namespace {

std::optional<Order> orderNamed(std::string_view name) {
  constexpr std::pair<std::string_view, Order> kOrders[] = {
      {"equal", Order::equal},         {"notEqual", Order::notEqual}, {"less", Order::less},
      {"lessEqual", Order::lessEqual}, {"greater", Order::greater},   {"greaterEqual", Order::greaterEqual},
  };
  for (const auto& [known, order] : kOrders)
    if (name == known) return order;
  return std::nullopt;
}

// The op by which a reduction takes a value into its leaf (ops-chain.cpp).
const char* takingOp(std::string_view reduction) {
  constexpr std::pair<std::string_view, const char*> kOps[] = {
      {"sum", "add"}, {"min", "minimum"}, {"max", "maximum"}};
  for (const auto& [known, op] : kOps)
    if (reduction == known) return op;
  return "";
}

class ChainReader {
 public:
  ChainReader(const Chain& chain, const VectorCode& code)
      : chain_(chain), code_(code), values_(static_cast<int>(chain.inputs.size())), slots_(chain.slots, -1) {}

  int values() const { return values_; }
  std::vector<ChainOp> read() {
    for (const Chain::Step& step : chain_.steps) {
      if (step.name == "end") break;
      if (!take(step)) return {};
    }
    return std::move(ops_);
  }

 private:
  bool take(const Chain::Step& step) {
    const ChainOperand& place = step.places[0];
    if (step.name == "load") {
      group_ = valueAt(place);
      return true;
    }
    if (step.name == "prefetch") {
      ops_.push_back({ChainOp::Kind::ask, place.index});
      return true;
    }
    if (step.name == "save") {
      if (place.kind == ChainOperandKind::slot)
        slots_[place.index] = group_;
      else
        ops_.push_back({ChainOp::Kind::store, place.index, {group_}});
      return true;
    }
    return compute(step);
  }

  bool compute(const Chain::Step& step) {
    const std::string_view name = step.name;
    const size_t point = name.find('.');
    const std::string_view first = name.substr(0, point);
    ChainOp op{ChainOp::Kind::compute, -1, {group_}};
    if (first == "reduce") {
      op.kind = ChainOp::Kind::take;
      op.index = step.places[0].index;
      return give(std::move(op), takingOp(name.substr(point + 1)));
    }
    if (step.placeCount == 0 && !vectorOp(step.name.c_str(), chain_.dtype, code_).emit) {
      op.kind = ChainOp::Kind::call;
      op.index = static_cast<int>(&step - chain_.steps.data());
      push(std::move(op));
      return true;
    }
    for (int k = 0; k < step.placeCount; k++) op.args.push_back(valueAt(step.places[k]));
    if (first == "where") {
      const std::optional<Order> order = orderNamed(name.substr(point + 1));
      if (!order) return false;
      op.kind = ChainOp::Kind::choose;
      op.order = *order;
      push(std::move(op));
      return true;
    }
    // The group is argument 0 or 1 of two.
    if (name.ends_with(".1")) std::swap(op.args[0], op.args[1]);
    return give(std::move(op), std::string(first));
  }

  bool give(ChainOp op, const std::string& name) {
    const VectorOp found = vectorOp(name.c_str(), chain_.dtype, code_);
    if (!found.emit || found.isPartial) return false;
    op.emit = found.emit;
    op.isCommutative = name == "add" || name == "multiply";
    push(std::move(op));
    return true;
  }

  void push(ChainOp op) {
    if (op.kind != ChainOp::Kind::take) group_ = op.result = values_++;
    ops_.push_back(std::move(op));
  }

  int valueAt(const ChainOperand& place) const {
    return place.kind == ChainOperandKind::slot ? slots_[place.index] : place.index;
  }

  const Chain& chain_;
  const VectorCode& code_;
  int values_;
  int group_ = -1;
  std::vector<int> slots_;
  std::vector<ChainOp> ops_;
};

// Instructions for each call, at least: they have to win what the way through buffers costs.
constexpr size_t kLeastForCall = 6;

// Instructions that wait for one another, at most. A processor has some 300 instructions under way, so that
// of longer paths it sees too few vectors to be busy while one waits; steps take a whole chunk through each
// instruction. Of 200, of which a quarter are roots, code took 1.5 times as long.
constexpr int kLongestPath = 64;

int longestPath(const std::vector<ChainOp>& ops, int values) {
  std::vector<int> lengths(values);
  int longest = 0;
  for (const ChainOp& op : ops) {
    int length = 0;
    // Results of calls are read from buffers.
    if (op.kind != ChainOp::Kind::call)
      for (const int arg : op.args) length = std::max(length, lengths[arg] + 1);
    if (op.result >= 0) lengths[op.result] = length;
    longest = std::max(longest, length);
  }
  return longest;
}

// Cuts instructions at calls. Time goes on by one for the code of a piece and by one for the call behind it;
// a value that is read later than when it is computed has a buffer, which others take after its last use.
class ChainCutter {
 public:
  ChainCutter(std::vector<ChainOp> ops, int values) : ops_(std::move(ops)), lastUse_(values, -1) {
    pieces_.bufferOf.assign(values, -1);
  }

  ChainPieces cut() {
    int time = 0;
    for (const ChainOp& op : ops_) {
      const bool isCall = op.kind == ChainOp::Kind::call;
      if (isCall) time++;
      for (const int arg : op.args) lastUse_[arg] = time;
      if (isCall) time++;
    }
    time = 0;
    pieces_.list.emplace_back();
    for (ChainOp& op : ops_) {
      ChainPiece& piece = pieces_.list.back();
      const int result = op.result;
      if (op.kind == ChainOp::Kind::call) {
        piece.step = op.index;
        piece.from = op.args[0];
        piece.to = bufferFor(result, ++time);
        pieces_.list.emplace_back();
        time++;
        continue;
      }
      piece.ops.push_back(std::move(op));
      if (result >= 0 && lastUse_[result] > time)
        piece.ops.push_back({ChainOp::Kind::keep, bufferFor(result, time), {result}});
    }
    return std::move(pieces_);
  }

 private:
  int bufferFor(int value, int time) {
    const auto isFree = [&](int last) { return last < time; };
    const auto found = std::find_if(lastUseOfBuffer_.begin(), lastUseOfBuffer_.end(), isFree);
    const auto buffer = static_cast<int>(found - lastUseOfBuffer_.begin());
    if (found == lastUseOfBuffer_.end()) lastUseOfBuffer_.push_back(-1);
    lastUseOfBuffer_[buffer] = lastUse_[value];
    pieces_.buffers = static_cast<int>(lastUseOfBuffer_.size());
    return pieces_.bufferOf[value] = buffer;
  }

  std::vector<ChainOp> ops_;
  std::vector<int> lastUse_, lastUseOfBuffer_;
  ChainPieces pieces_;
};

}  // namespace

ChainPieces readChainPieces(const Chain& chain, const VectorCode& code) {
  ChainReader reader(chain, code);
  std::vector<ChainOp> ops = reader.read();
  const auto isCall = [](const ChainOp& op) { return op.kind == ChainOp::Kind::call; };
  const auto calls = static_cast<size_t>(std::count_if(ops.begin(), ops.end(), isCall));
  if (ops.size() < calls * (1 + kLeastForCall)) return {};
  if (longestPath(ops, reader.values()) > kLongestPath) return {};
  return ops.empty() ? ChainPieces{} : ChainCutter(std::move(ops), reader.values()).cut();
}

}  // namespace weft::cpu::jit
