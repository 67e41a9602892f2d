#include "cpu/fft-library.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

#include "cpu/blas.h"
#include "cpu/fft-kept.h"
#include "cpu/library-choice.h"
#include "cpu/math-library.h"
#include "cpu/scratch.h"
#include "runtime/failure.h"

namespace weft::cpu {

struct LibraryPlan : FftPlan {
  LibraryPlan() : FftPlan{} {}
  LibraryPlan(const LibraryPlan&) = delete;
  LibraryPlan& operator=(const LibraryPlan&) = delete;
  ~LibraryPlan();
  size_t rowBytes = 0;
};

// The functions that are used, of one precision. The planner is for one thread at a time (FFTW's manual,
// "Thread safety"), execution for any number.
struct FftLibrary {
  MathLibrary library;
  void* (*plan)(int length, void* in, void* out, int sign, unsigned flags);
  void (*execute)(const void* plan, void* in, void* out);
  void (*destroy)(void* plan);
  // Null where it has no such function.
  void (*setThreads)(int threads);
  // How far memory is from the alignment that vectors need. Null: a cache line is needed.
  int (*alignmentOf)(void* memory);
  mutable Kept<LibraryPlan> plans;

  bool isAligned(const void* memory) const {
    void* const address = const_cast<void*>(memory);
    if (alignmentOf != nullptr) return alignmentOf(address) == 0;
    return reinterpret_cast<uintptr_t>(address) % kHostAlignment == 0;
  }
};

namespace {

constexpr int kForward = -1, kBackward = 1;
constexpr unsigned kEstimate = 1U << 6;
constexpr int kSequential = 1;

constexpr std::array kDoubleNames = {"libfftw3.so.3", "libmkl_rt.so.3", "libmkl_rt.so.2"};
constexpr std::array kSingleNames = {"libfftw3f.so.3", "libmkl_rt.so.3", "libmkl_rt.so.2"};

std::mutex& planning() {
  static auto& mutex = *new std::mutex();
  return mutex;
}

// MKL's transforms run on the thread that asks for them. Its other threading layers need libraries of their
// own, without which it ends the process. Where it does matrix products too, the layer is theirs.
void restrainMkl(const MathLibrary& mkl) {
  const MathLibrary* const blas = blasInUse();
  if (blas != nullptr && blas->name == mkl.name) return;
  if (void* const set = librarySymbol(mkl.handle, "MKL_Set_Threading_Layer"))
    reinterpret_cast<int (*)(int)>(set)(kSequential);
}

template <bool isDouble>
FftLibrary* openFft(const std::string& name, bool, std::string& problem) {
  void* const handle = openLibrary(name.c_str(), problem);
  if (handle == nullptr) return nullptr;
  const auto spell = [](const char* function) {
    return std::string(isDouble ? "fftw_" : "fftwf_") + function;
  };
  const auto function = [&](auto& to, const char* of) {
    to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(librarySymbol(handle, spell(of)));
    return to != nullptr;
  };
  auto made = std::make_unique<FftLibrary>();
  if (!function(made->plan, "plan_dft_1d") || !function(made->execute, "execute_dft") ||
      !function(made->destroy, "destroy_plan")) {
    problem = name + " has no " + spell("plan_dft_1d") + ", " + spell("execute_dft") + " and " +
              spell("destroy_plan");
    return nullptr;
  }
  void* const plan = reinterpret_cast<void*>(made->plan);
  made->library = describeLibrary(handle, plan, MathSpelling{"", "", false}, name.c_str(), "FFTW");
  if (made->library.name == "MKL") {
    restrainMkl(made->library);
    function(made->setThreads, "plan_with_nthreads");
  } else {
    // MKL gives the same bits for memory that is aligned to cache lines alone.
    function(made->alignmentOf, "alignment_of");
  }
  return made.release();
}

LibraryChoice<FftLibrary>& choice(bool isDouble) {
  static auto& single =
      *new LibraryChoice<FftLibrary>("FFT", {kSingleNames.begin(), kSingleNames.end()}, openFft<false>);
  static auto& twice =
      *new LibraryChoice<FftLibrary>("FFT", {kDoubleNames.begin(), kDoubleNames.end()}, openFft<true>);
  return isDouble ? twice : single;
}

// FFTW's library of the other precision, beside this one: libfftw3.so.3 and libfftw3f.so.3.
std::string siblingOf(const std::string& library, bool isDouble) {
  const size_t folder = library.rfind('/') + 1, at = library.find("fftw3", folder);
  if (at == std::string::npos) return library;
  const size_t end = at + std::strlen("fftw3");
  const bool isSingle = library.compare(end, 1, "f") == 0;
  if (isSingle == !isDouble) return library;
  return isDouble ? library.substr(0, end) + library.substr(end + 1)
                  : library.substr(0, end) + "f" + library.substr(end);
}

// ---------------------------------------------------------------- plans

// Whether sequences of a length are a library's: others take it longer than Weft's own transforms, on one
// thread (FFTW 3.3.10 and AVX-512: of 256 and 1024 elements 0.6 of the time, of 1000 and 8192 1.5 times), and
// long ones are shared by several threads.
bool isOfLibrary(int64_t length) {
  constexpr int64_t kUnit = 32, kMost = 4096;
  if (length <= kMostDirect || length > kMost || length % kUnit != 0) return false;
  int64_t rest = length;
  for (const int64_t p : {2, 3, 5})
    while (rest % p == 0) rest /= p;
  return rest == 1;
}

size_t aligned(size_t bytes) { return (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment; }

// ---------------------------------------------------------------- transforms

template <typename T>
size_t lineBytes(const FftPlan& plan) {
  return aligned(static_cast<size_t>(plan.length) * 2 * sizeof(T));
}

template <typename T>
size_t rowsScratch(const FftPlan& plan) {
  return 2 * lineBytes<T>(plan);
}

template <typename T>
void rows(const FftPlan& plan, const FftRows& given, int64_t count, bool inverse, std::byte* scratch) {
  const FftLibrary& library = *plan.library;
  const size_t bytes = static_cast<size_t>(plan.length) * 2 * sizeof(T);
  std::byte* const spare = scratch + lineBytes<T>(plan);
  for (int64_t k = 0; k < count; k++) {
    auto* in = const_cast<T*>(static_cast<const T*>(given.in)) + 2 * k * given.inNext;
    T* const out = static_cast<T*>(given.out) + 2 * k * given.outNext;
    T* to = out;
    if (in == out || !library.isAligned(in))
      in = static_cast<T*>(std::memcpy(scratch, static_cast<const void*>(in), bytes));
    if (!library.isAligned(out)) to = reinterpret_cast<T*>(spare);
    library.execute(inverse ? plan.backward : plan.forward, in, to);
    if (to != out) std::memcpy(out, to, bytes);
  }
}

template <typename T>
constexpr int64_t kColumns = kMostFftLanes * 4 / sizeof(T);

// Lines of as many sequences, and one more.
template <typename T>
size_t columnsScratch(const FftPlan& plan) {
  return static_cast<size_t>(kColumns<T> + 1) * lineBytes<T>(plan);
}

// Sequences lie in lines 1 …, and each is transformed to the line before its own.
template <typename T>
void columns(const FftPlan& plan, const void* from, void* to, int64_t stride, int64_t count, bool inverse,
             std::byte* scratch) {
  const auto next = static_cast<int64_t>(lineBytes<T>(plan) / sizeof(T));
  T* const lines = reinterpret_cast<T*>(scratch);
  const T* const in = static_cast<const T*>(from);
  T* const out = static_cast<T*>(to);
  for (int64_t i = 0; i < plan.length; i++) {
    for (int64_t l = 0; l < count; l++) {
      lines[(l + 1) * next + 2 * i] = in[2 * (i * stride + l)];
      lines[(l + 1) * next + 2 * i + 1] = in[2 * (i * stride + l) + 1];
    }
  }
  for (int64_t l = 0; l < count; l++)
    plan.library->execute(inverse ? plan.backward : plan.forward, lines + (l + 1) * next, lines + l * next);
  for (int64_t i = 0; i < plan.length; i++) {
    for (int64_t l = 0; l < count; l++) {
      out[2 * (i * stride + l)] = lines[l * next + 2 * i];
      out[2 * (i * stride + l) + 1] = lines[l * next + 2 * i + 1];
    }
  }
}

}  // namespace

LibraryPlan::~LibraryPlan() {
  const std::lock_guard lock(planning());
  if (forward != nullptr) library->destroy(forward);
  if (backward != nullptr) library->destroy(backward);
}

void searchFft(const std::vector<std::string>& singles, const std::vector<std::string>& doubles) {
  choice(false).search(singles);
  choice(true).search(doubles);
}

void setFft(const std::string& library) {
  const bool isName = library != "auto" && library != "none";
  std::string problems;
  int used = 0;
  for (const bool isDouble : {false, true}) {
    try {
      choice(isDouble).choose(isName ? siblingOf(library, isDouble) : library);
      used++;
    } catch (const std::runtime_error& error) {
      problems += (problems.empty() ? "" : "; ") + std::string(error.what());
      if (isName) choice(isDouble).choose("none");
    }
  }
  if (used == 0) throw std::runtime_error(problems);
}

const MathLibrary* fftInUse(bool isDouble) {
  const FftLibrary* const library = choice(isDouble).current();
  return library == nullptr ? nullptr : &library->library;
}

FftPlanPointer libraryPlan(int64_t length, bool isDouble) {
  if (!isOfLibrary(length)) return nullptr;
  const FftLibrary* const library = choice(isDouble).current();
  if (library == nullptr) return nullptr;
  return library->plans.get(length, [&] {
    auto made = std::make_shared<LibraryPlan>();
    made->kind = FftPlan::Kind::library;
    made->length = length;
    made->library = library;
    made->rowBytes = static_cast<size_t>(length) * (isDouble ? 16 : 8);
    // About its twiddles, of both directions.
    made->tableBytes = 2 * made->rowBytes;
    return std::pair{made, made->tableBytes};
  });
}

void fillLibraryPlan(FftPlan& plan) {
  auto& own = static_cast<LibraryPlan&>(plan);
  const std::lock_guard lock(planning());
  if (own.forward != nullptr && own.backward != nullptr) return;
  const Scratch in(own.rowBytes), out(own.rowBytes);
  if (own.library->setThreads != nullptr) own.library->setThreads(1);
  const auto length = static_cast<int>(own.length);
  for (auto [made, sign] : {std::pair{&own.forward, kForward}, std::pair{&own.backward, kBackward}}) {
    if (*made == nullptr) *made = own.library->plan(length, in.data(), out.data(), sign, kEstimate);
    if (*made == nullptr)
      throw Failure(FailureCode::internal, "[fft] " + own.library->library.name + " makes no plan of " +
                                               std::to_string(length) + " elements");
  }
}

const FftKernels& libraryKernels(bool isDouble) {
  static constexpr FftKernels kSingle{.lanes = kColumns<float>,
                                      .realBytes = sizeof(float),
                                      .rowsScratch = rowsScratch<float>,
                                      .columnsScratch = columnsScratch<float>,
                                      .rows = rows<float>,
                                      .columns = columns<float>};
  static constexpr FftKernels kDouble{.lanes = kColumns<double>,
                                      .realBytes = sizeof(double),
                                      .rowsScratch = rowsScratch<double>,
                                      .columnsScratch = columnsScratch<double>,
                                      .rows = rows<double>,
                                      .columns = columns<double>};
  return isDouble ? kDouble : kSingle;
}

}  // namespace weft::cpu
