// A stand-in for FFTW on the CPU: transforms in double precision, rounded once. It ends the process where it
// is used otherwise than FFTW's manual allows: two threads in the planner at a time, a plan that is destroyed
// or was made for memory of another alignment or for another place, memory of no alignment.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>

#include "cufft/transform.h"

namespace {

constexpr uintptr_t kAlignment = 16;
constexpr unsigned kEstimate = 1U << 6;

[[noreturn]] void misuse(const char* what) {
  std::fprintf(stderr, "simulated FFTW: %s\n", what);
  std::abort();
}

struct Plan {
  int length, sign;
  bool isInPlace;
};

std::mutex mutex;
std::set<const void*> plans;
std::atomic<int> planners{0};

// While it lives, a thread is in the planner.
struct Planning {
  Planning() {
    if (planners.fetch_add(1) != 0) misuse("two threads in the planner");
  }
  ~Planning() { planners.fetch_sub(1); }
};

int offsetOf(const void* memory) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(memory) % kAlignment);
}

void* makePlan(int length, void* in, void* out, int sign, unsigned flags) {
  const Planning planning;
  if (length < 1 || (sign != 1 && sign != -1) || flags != kEstimate) misuse("a plan of no kind");
  if (offsetOf(in) != 0 || offsetOf(out) != 0) misuse("a plan of memory that is not aligned");
  const char* const refused = std::getenv("WEFT_SIM_FFTW_REFUSED");
  if (refused != nullptr && std::atoi(refused) == length) return nullptr;
  auto* const plan = new Plan{length, sign, in == out};
  const std::lock_guard lock(mutex);
  plans.insert(plan);
  return plan;
}

void destroyPlan(void* plan) {
  const Planning planning;
  const std::lock_guard lock(mutex);
  if (plans.erase(plan) == 0) misuse("a plan that does not exist is destroyed");
  delete static_cast<Plan*>(plan);
}

template <typename T>
void execute(const void* given, void* in, void* out) {
  {
    const std::lock_guard lock(mutex);
    if (plans.count(given) == 0) misuse("a plan that does not exist is executed");
  }
  const auto& plan = *static_cast<const Plan*>(given);
  if ((in == out) != plan.isInPlace) misuse("a plan of another place is executed");
  if (offsetOf(in) != 0 || offsetOf(out) != 0) misuse("a plan is executed on memory of another alignment");
  const auto* const from = static_cast<const T*>(in);
  auto* const to = static_cast<T*>(out);
  const auto length = static_cast<size_t>(plan.length);
  weft::sim::Transform::Line line(length);
  for (size_t i = 0; i < length; i++) line[i] = {from[2 * i], from[2 * i + 1]};
  const weft::sim::Transform::Line result = weft::sim::Transform(length, plan.sign).of(line);
  for (size_t i = 0; i < length; i++) {
    to[2 * i] = static_cast<T>(result[i].real());
    to[2 * i + 1] = static_cast<T>(result[i].imag());
  }
}

}  // namespace

extern "C" {

void* fftw_plan_dft_1d(int length, void* in, void* out, int sign, unsigned flags) {
  return makePlan(length, in, out, sign, flags);
}
void* fftwf_plan_dft_1d(int length, void* in, void* out, int sign, unsigned flags) {
  return makePlan(length, in, out, sign, flags);
}
void fftw_execute_dft(const void* plan, void* in, void* out) { execute<double>(plan, in, out); }
void fftwf_execute_dft(const void* plan, void* in, void* out) { execute<float>(plan, in, out); }
void fftw_destroy_plan(void* plan) { destroyPlan(plan); }
void fftwf_destroy_plan(void* plan) { destroyPlan(plan); }
int fftw_alignment_of(void* memory) { return offsetOf(memory); }
int fftwf_alignment_of(void* memory) { return offsetOf(memory); }
}
