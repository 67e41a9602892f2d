#include "cpu/jit/chain-ops.h"

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
      {"sum", "add"}, {"prod", "multiply"}, {"min", "minimum"}, {"max", "maximum"}};
  for (const auto& [known, op] : kOps)
    if (reduction == known) return op;
  return "";
}

class ChainReader {
 public:
  ChainReader(const Chain& chain, const VectorCode& code)
      : chain_(chain), code_(code), values_(static_cast<int>(chain.inputs.size())), slots_(chain.slots, -1) {}

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
    if (op.hasResult()) group_ = values_++;
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

}  // namespace

std::vector<ChainOp> readChainOps(const Chain& chain, const VectorCode& code) {
  return ChainReader(chain, code).read();
}

}  // namespace weft::cpu::jit
