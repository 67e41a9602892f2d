#include "core/scheduler.h"

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "core/simulator.h"

namespace weft::sim {

size_t Pool::busy(const Stream* stream) {
  const auto done = [](const Pending& entry) { return entry.free->done; };
  pending.erase(std::remove_if(pending.begin(), pending.end(), done), pending.end());
  size_t bytes = live;
  for (const Pending& entry : pending) {
    if (entry.free->stream != stream) bytes += entry.byteLength;
  }
  return bytes;
}

void Scheduler::plan(Timing timing, uint64_t seed) {
  timing_ = timing;
  random_.seed(seed);
}

void Scheduler::plan(const Setting& schedule) {
  const std::string timing = schedule.text("timing", "late");
  if (timing != "eager" && timing != "late" && timing != "random")
    throw std::invalid_argument("a timing: " + timing);
  plan(timing == "eager"  ? Timing::eager
       : timing == "late" ? Timing::late
                          : Timing::random,
       static_cast<uint64_t>(schedule.number("seed", 1)));
  tick_ = static_cast<uint64_t>(schedule.number("tick", kTick));
}

uint64_t Scheduler::now() { return now_ += timing_ == Timing::random ? random_() % (2 * tick_ + 1) : tick_; }

void Scheduler::addStream(Stream& stream, Context& context, bool blocking) {
  stream.context = &context;
  stream.blocking = blocking;
  stream.number = streamCount_++;
  streams_.push_back(&stream);
}

void Scheduler::removeStream(Stream& stream) {
  streams_.erase(std::remove(streams_.begin(), streams_.end(), &stream), streams_.end());
}

std::shared_ptr<Operation> Scheduler::issue(Stream& stream, Operation given) {
  // Of what a driver captures, this is not simulated.
  if (stream.capture != nullptr) simulator_.misuse(given.what + " in a stream that captures");
  auto operation = std::make_shared<Operation>(std::move(given));
  operation->stream = &stream;
  operation->clock.join(host_);
  operation->clock.join(stream.clock);
  const bool isDefault = &stream == stream.context->defaultStream.get();
  for (Stream* other : streams_) {
    // The default stream waits for every blocking stream, and each of them for it.
    const bool ordered =
        other != &stream && other->context == stream.context &&
        (isDefault ? other->blocking : stream.blocking && other == stream.context->defaultStream.get());
    if (!ordered || !other->last) continue;
    operation->after.push_back(other->last);
  }
  for (const auto& before : operation->after) operation->clock.join(before->clock);
  operation->clock.advance(stream.number, ++stream.issued);
  stream.clock = operation->clock;
  stream.last = operation;
  stream.queue.push_back(operation);
  queued_++;
  return operation;
}

bool Scheduler::mayRun(const Stream& stream) const {
  if (stream.queue.empty() || stream.running) return false;
  if (stream.number == stalledStream_ && std::chrono::steady_clock::now() < stalledUntil_) return false;
  const auto& after = stream.queue.front()->after;
  return std::all_of(after.begin(), after.end(), [](const auto& before) { return before->done; });
}

Stream* Scheduler::neededFor(const Operation& operation) const {
  Stream* stream = operation.stream;
  for (;;) {
    if (mayRun(*stream)) return stream;
    const auto& after = stream->queue.front()->after;
    const auto open =
        std::find_if(after.begin(), after.end(), [](const auto& before) { return !before->done; });
    // Only stalled, or under way on another thread.
    if (open == after.end()) return nullptr;
    stream = (*open)->stream;
  }
}

Stream* Scheduler::anyRunnable() {
  std::vector<Stream*> ready;
  for (Stream* stream : streams_) {
    if (mayRun(*stream)) ready.push_back(stream);
  }
  return ready.empty() ? nullptr : ready[random_() % ready.size()];
}

void Scheduler::wait(const std::shared_ptr<Operation>& operation) {
  finish(operation);
  host_.join(operation->clock);
  forgetOld();
}

void Scheduler::finish(const std::shared_ptr<Operation>& operation) {
  while (!operation->done) {
    Stream* stream = timing_ == Timing::late ? neededFor(*operation) : anyRunnable();
    if (stream != nullptr) {
      runFirst(*stream);
    } else {
      simulator_.rest(1);
    }
  }
}

void Scheduler::hurry(const std::shared_ptr<Operation>& operation) {
  while (!operation->done) {
    Stream* stream = neededFor(*operation);
    if (stream == nullptr) return;
    runFirst(*stream);
  }
}

void Scheduler::advance() {
  if (queued_ == 0 || timing_ == Timing::late) return;
  // On average one for each call, in bursts.
  size_t count = timing_ == Timing::eager ? queued_ : random_() % 4 == 0 ? random_() % 8 : 0;
  for (; count > 0; count--) {
    Stream* stream = anyRunnable();
    if (stream == nullptr) return;
    runFirst(*stream);
  }
}

void Scheduler::stall(size_t stream, unsigned milliseconds) {
  stalledStream_ = stream;
  stalledUntil_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
}

void Scheduler::runFirst(Stream& stream) {
  const std::shared_ptr<Operation> operation = stream.queue.front();
  Context& context = *stream.context;
  // Slow work holds up no call.
  stream.running = true;
  int status = context.error == 0 ? simulator_.meetFaults("run " + operation->kind, context) : 0;
  stream.running = false;
  stream.queue.pop_front();
  queued_--;
  operation->done = true;
  operation->doneAt = std::chrono::steady_clock::now();
  // A lost context drops what is queued.
  if (context.error == 0 || status != 0) {
    Accesses accesses;
    if (status == 0) status = operation->body ? operation->body(accesses) : 0;
    if (status != 0 && context.error == 0) context.error = status;
    if (!accesses.reads.empty() || !accesses.writes.empty()) {
      simulator_.races.add(operation->what, stream.number, operation->clock, std::move(accesses),
                           simulator_.report);
    }
  }
  operation->body = nullptr;
  operation->after.clear();
}

void Scheduler::forgetOld() {
  Clock known = host_;
  for (const Stream* stream : streams_) {
    for (const auto& operation : stream->queue) known.meet(operation->clock);
  }
  simulator_.races.forget(known);
}

}  // namespace weft::sim
