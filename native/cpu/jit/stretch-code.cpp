#include "cpu/jit/stretch-code.h"

#include <algorithm>
#include <climits>

namespace weft::cpu::jit {

StretchCode::StretchCode(VectorCode& to, const LoopPlan& plan, const LoopPart& part,
                         const std::vector<bool>& isRead, const std::vector<int>& free, Spills& spills,
                         std::vector<PartialSite>& sites)
    : to_(to),
      plan_(plan),
      part_(part),
      isRead_(isRead),
      free_(free),
      spills_(spills),
      sites_(sites),
      mask_() {}

void StretchCode::emit(const StretchLocations& locations) {
  locations_ = &locations;
  mask_ = locations.mask;
  owner_.assign(to_.registers(), kNobody);
  isLocked_.assign(to_.registers(), false);
  spills_.used = 0;
  count();
  const auto last = static_cast<int>(part_.values.size());
  const int maskBefore = maskAt();
  for (int k = 0; k <= last; k++) {
    if (part_.updatesMask && k == maskBefore) updateMask();
    if (k < last) instruction(part_.values[k]);
  }
  if (part_.updatesStates) updateStates();
}

// Behind all others, where it takes no register from them, but for partial instructions: lanes that end are
// often outside of these, as those whose divisor has become 0.
int StretchCode::maskAt() const {
  const std::vector<int>& values = part_.values;
  const auto isPartial = [&](int k) { return instructionOf(plan_.loop.values[k], to_).isPartial; };
  const auto isOfTest = [&](int k) { return k < static_cast<int>(plan_.loop.conditionLength); };
  if (std::none_of(values.begin(), values.end(), isPartial)) return static_cast<int>(values.size());
  return static_cast<int>(std::find_if_not(values.begin(), values.end(), isOfTest) - values.begin());
}

// Finds the locals and their uses; those of the mask and of the states come last.
void StretchCode::count() {
  locals_.assign(part_.values.size(), {});
  localOf_.assign(plan_.needed.size(), -1);
  const auto last = static_cast<int>(part_.values.size());
  const int maskBefore = maskAt();
  for (int k = 0; k <= last; k++) {
    if (part_.updatesMask && k == maskBefore) use(plan_.loop.condition, k);
    if (k == last) break;
    for (const int arg : plan_.loop.values[part_.values[k]].args) use(arg, k);
    localOf_[plan_.arguments() + part_.values[k]] = k;
  }
  if (!part_.updatesStates) return;
  for (int k = 0; k < plan_.states(); k++)
    if (plan_.needed[k]) use(plan_.loop.next[k], last + 1);
}

void StretchCode::use(int position, int at) {
  if (Local* const local = localAt(position)) local->uses.push_back(at);
}

StretchCode::Local* StretchCode::localAt(int position) {
  const int at = localOf_[position];
  return at < 0 ? nullptr : &locals_[at];
}

VectorOperand StretchCode::operand(int position) {
  const Local* const local = localAt(position);
  if (!local) return locations_->at(position);
  if (local->reg < 0) return local->spill;
  isLocked_[local->reg] = true;
  return vectorRegister(local->reg);
}

int StretchCode::allocate(int owner) {
  int found = -1, latest = -1;
  for (const int reg : free_) {
    if (isLocked_[reg] || owner_[reg] == kTaken) continue;
    int next = INT_MAX;
    if (owner_[reg] != kNobody) {
      const Local& local = locals_[owner_[reg]];
      next = local.uses[local.used];
    }
    if (next <= latest) continue;
    found = reg;
    latest = next;
  }
  if (owner_[found] != kNobody) spill(found);
  owner_[found] = owner;
  isLocked_[found] = true;
  return found;
}

VectorOperand StretchCode::spillSlot() {
  const int32_t at = spills_.used++;
  spills_.count = std::max(spills_.count, spills_.used);
  return {VectorOperand::Kind::memory, spills_.first + at * to_.vectorBytes()};
}

void StretchCode::spill(int reg) {
  Local& local = locals_[owner_[reg]];
  if (!local.isSpilled) {
    local.isSpilled = true;
    local.spill = spillSlot();
    to_.store(local.spill, reg);
  }
  local.reg = -1;
}

// After an instruction that read it.
void StretchCode::release(int position) {
  Local* const local = localAt(position);
  if (!local || local->used == local->uses.size()) return;
  local->used++;
  if (local->used == local->uses.size() && local->reg >= 0) owner_[local->reg] = kNobody;
}

void StretchCode::instruction(int k) {
  const StepValue& value = plan_.loop.values[k];
  const int position = plan_.arguments() + k;
  VectorOperand args[3];
  for (size_t a = 0; a < value.args.size(); a++) args[a] = operand(value.args[a]);
  const int out = allocate(localOf_[position]);
  const VectorOp op = instructionOf(value, to_);
  op.emit(to_, value.from, out, args);
  if (op.isPartial && !isWholeRemainder(to_, value.from, args[1])) complete(value, out, args);
  Local& local = *localAt(position);
  local.reg = out;
  if (isRead_[position]) to_.store(locations_->at(position), out);
  if (local.uses.empty()) owner_[out] = kNobody;
  for (const int arg : value.args) release(arg);
  std::fill(isLocked_.begin(), isLocked_.end(), false);
}

void StretchCode::complete(const StepValue& value, int out, const VectorOperand* args) {
  PartialSite site{&value, {args, args + value.args.size()}, out, to_.label(), to_.label()};
  to_.jumpIfOutside(mask_, site.call);
  to_.bind(site.back);
  sites_.push_back(std::move(site));
}

void StretchCode::updateMask() {
  const VectorOperand going = operand(plan_.loop.condition);
  const int mask = mask_.isRegister() ? mask_.value : allocate(kTaken);
  to_.bitAnd(mask, to_.inRegister(mask_, mask), going);
  if (!mask_.isRegister()) to_.store(mask_, mask);
  to_.countLanes(locations_->sum, mask);
  mask_ = vectorRegister(mask);
  release(plan_.loop.condition);
  std::fill(isLocked_.begin(), isLocked_.end(), false);
}

// A state is written after those that take it; where they take each other in a circle, one is put aside.
void StretchCode::updateStates() {
  const std::vector<int>& next = plan_.loop.next;
  std::vector<int> open;
  for (int k = 0; k < plan_.states(); k++)
    if (plan_.needed[k] && next[k] != k) open.push_back(k);
  std::vector<VectorOperand> aside(next.size(), mask_);
  std::vector<bool> isAside(next.size());
  while (!open.empty()) {
    const auto isTaken = [&](int state) {
      return !isAside[state] &&
             std::any_of(open.begin(), open.end(), [&](int k) { return next[k] == state; });
    };
    auto found = std::find_if_not(open.begin(), open.end(), isTaken);
    if (found == open.end()) {
      found = open.begin();
      aside[*found] = spillSlot();
      isAside[*found] = true;
      to_.store(aside[*found], to_.inRegister(locations_->at(*found), kFirstScratch));
    }
    const int state = *found, from = next[state];
    open.erase(found);
    updateState(state, from < plan_.states() && isAside[from] ? aside[from] : operand(from));
    release(from);
    std::fill(isLocked_.begin(), isLocked_.end(), false);
  }
}

// A state that is read after the loop stays as it is in lanes that have ended; others may become anything
// there.
void StretchCode::updateState(int state, VectorOperand from) {
  const VectorOperand location = locations_->at(state);
  if (!plan_.results[state]) {
    if (location.isRegister()) return to_.move(location.value, from);
    return to_.store(location, to_.inRegister(from, kFirstScratch));
  }
  if (location.isRegister()) return to_.select(location.value, mask_, from, location);
  const int chosen = allocate(kNobody);
  to_.select(chosen, mask_, from, location);
  to_.store(location, chosen);
}

}  // namespace weft::cpu::jit
