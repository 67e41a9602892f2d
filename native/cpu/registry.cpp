// The registries of lane functions, one for each instruction set, filled on first use and never freed.
#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <string>

#include "cpu/lanes.h"
#include "cpu/ops.h"

namespace weft::cpu {

struct Registry::Tables {
  std::map<std::string, std::array<LaneFunction, kDTypes>> ops;
  std::array<std::array<LaneFunction, kDTypes>, kDTypes> casts{};
  std::map<std::string, std::array<ReduceFunctions, kDTypes>> reductions;
  std::array<MoveFunctions, 17> moves{};
  StreamFunctions streams{};
  std::map<std::string, std::array<StepFunction, kDTypes>> steps;
  std::array<DriveFunction, kDTypes> drives{};
};

int byteLengthOf(DType dtype) { return kElementBytes[static_cast<int>(dtype)]; }

Registry::Registry(Isa isa) : tables_(new Tables) {
  addScalarMath(*this);
  addSpecial(*this);
  addComplex(*this);
  switch (isa) {
#ifdef WEFT_HAS_AVX
    case Isa::avx512:
      avx512::addAll(*this);
      return;
    case Isa::avx2:
      avx2::addAll(*this);
      return;
#endif
    default:
      baseline::addAll(*this);
  }
}

const Registry& Registry::of(Isa isa) {
  switch (isa) {
    case Isa::avx512: {
      static const Registry& registry = *new Registry(Isa::avx512);
      return registry;
    }
    case Isa::avx2: {
      static const Registry& registry = *new Registry(Isa::avx2);
      return registry;
    }
    default: {
      static const Registry& registry = *new Registry(Isa::baseline);
      return registry;
    }
  }
}

LaneFunction Registry::op(const char* name, DType dtype) const {
  const auto found = tables_->ops.find(name);
  return found == tables_->ops.end() ? nullptr : found->second[static_cast<int>(dtype)];
}

LaneFunction Registry::cast(DType from, DType to) const {
  return tables_->casts[static_cast<int>(from)][static_cast<int>(to)];
}

const ReduceFunctions* Registry::reduction(const char* name, DType dtype) const {
  const auto found = tables_->reductions.find(name);
  if (found == tables_->reductions.end()) return nullptr;
  const ReduceFunctions& functions = found->second[static_cast<int>(dtype)];
  return functions.reset == nullptr ? nullptr : &functions;
}

const MoveFunctions& Registry::moves(int byteLength) const { return tables_->moves[byteLength]; }

const StreamFunctions& Registry::streams() const { return tables_->streams; }

StepFunction Registry::step(const char* name, DType dtype) const {
  const auto found = tables_->steps.find(name);
  return found == tables_->steps.end() ? StepFunction{} : found->second[static_cast<int>(dtype)];
}

DriveFunction Registry::drive(DType dtype) const { return tables_->drives[static_cast<int>(dtype)]; }

void Registry::addOp(const char* name, DType dtype, LaneFunction function) {
  tables_->ops[name][static_cast<int>(dtype)] = function;
}

void Registry::addCast(DType from, DType to, LaneFunction function) {
  tables_->casts[static_cast<int>(from)][static_cast<int>(to)] = function;
}

void Registry::addReduction(const char* name, DType dtype, const ReduceFunctions& functions) {
  tables_->reductions[name][static_cast<int>(dtype)] = functions;
}

void Registry::addMoves(int byteLength, const MoveFunctions& functions) {
  tables_->moves[byteLength] = functions;
}

void Registry::addStep(const char* name, DType dtype, const StepFunction& function) {
  tables_->steps[name][static_cast<int>(dtype)] = function;
}

void Registry::addDrive(DType dtype, const DriveFunction& function) {
  tables_->drives[static_cast<int>(dtype)] = function;
}

void Registry::addStreams(const StreamFunctions& functions) { tables_->streams = functions; }

}  // namespace weft::cpu
