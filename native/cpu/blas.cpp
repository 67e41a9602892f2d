#include "cpu/blas.h"

#include <dlfcn.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "cpu/gemm.h"
#include "cpu/isa.h"

namespace weft::cpu {
namespace {

// Sizes are 64-bit in these declarations. A library built with 32-bit ones reads the low halves of the same
// registers and stack slots (on the 64-bit ABIs of Linux), so sizes that fit are right for both.
using RealGemm = void (*)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, double, const void*, int64_t,
                          const void*, int64_t, double, void*, int64_t);
using FloatGemm = void (*)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, float, const void*, int64_t,
                           const void*, int64_t, float, void*, int64_t);
using ComplexGemm = void (*)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, const void*, const void*,
                             int64_t, const void*, int64_t, const void*, void*, int64_t);
using SetThreads = void (*)(int64_t);

// Multiply-adds of a product that is worth waking a library's own threads.
constexpr int64_t kLeastBlasWork = int64_t{128} * 128 * 128;

constexpr int64_t kRowMajor = 101;
constexpr int64_t kNoTranspose = 111;
constexpr int64_t kTranspose = 112;

struct Blas {
  BlasInfo info;
  FloatGemm sgemm;
  RealGemm dgemm;
  ComplexGemm cgemm;
  ComplexGemm zgemm;
  // Null where a library has no such function.
  SetThreads setThreads;
  bool wideSizes;
  // The processor that its kernels are made for, where it tells.
  std::string core;
};

constexpr std::array kCandidates = {"libopenblas.so.0", "libopenblas64_.so.0", "libopenblas.so",
                                    "libmkl_rt.so.2",   "libmkl_rt.so",        "libblis.so.4"};

// OpenBLAS's kernels with AVX-512.
constexpr std::array kWideCores = {"SkylakeX", "Cooperlake", "SapphireRapids"};

// How functions are named: plain; with 64-bit sizes (OpenBLAS, MKL); as in the wheels of NumPy and SciPy.
struct Spelling {
  const char* prefix;
  const char* suffix;
  bool wideSizes;
};
constexpr std::array kSpellings = {Spelling{"", "64_", true}, Spelling{"", "_64", true},
                                   Spelling{"", "", false}, Spelling{"scipy_", "64_", true},
                                   Spelling{"scipy_", "", false}};

struct ThreadSetter {
  const char* library;
  const char* symbol;
  // Whether the function is spelled as the others are.
  bool spelled;
};
constexpr std::array kThreadSetters = {ThreadSetter{"OpenBLAS", "openblas_set_num_threads", true},
                                       ThreadSetter{"MKL", "MKL_Set_Num_Threads", false},
                                       ThreadSetter{"BLIS", "bli_thread_set_num_threads", false}};

template <typename F>
F symbol(void* handle, const std::string& name) {
  return reinterpret_cast<F>(dlsym(handle, name.c_str()));
}

std::string pathOf(const void* address, const char* otherwise) {
  Dl_info info;
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : otherwise;
}

// The functions of an opened library, or null if it lacks one.
Blas* resolve(void* handle, const char* name) {
  for (const Spelling& spelling : kSpellings) {
    const auto spell = [&](const char* function) {
      return std::string(spelling.prefix) + function + spelling.suffix;
    };
    Blas blas{.info = {"CBLAS", ""},
              .sgemm = symbol<FloatGemm>(handle, spell("cblas_sgemm")),
              .dgemm = symbol<RealGemm>(handle, spell("cblas_dgemm")),
              .cgemm = symbol<ComplexGemm>(handle, spell("cblas_cgemm")),
              .zgemm = symbol<ComplexGemm>(handle, spell("cblas_zgemm")),
              .setThreads = nullptr,
              .wideSizes = spelling.wideSizes,
              .core = {}};
    if (!blas.sgemm || !blas.dgemm || !blas.cgemm || !blas.zgemm) continue;
    if (const auto core = symbol<const char* (*)()>(handle, spell("openblas_get_corename")))
      blas.core = core();
    blas.info.path = pathOf(reinterpret_cast<const void*>(blas.sgemm), name);
    for (const ThreadSetter& setter : kThreadSetters) {
      blas.setThreads = symbol<SetThreads>(handle, setter.spelled ? spell(setter.symbol) : setter.symbol);
      if (blas.setThreads == nullptr) continue;
      blas.info.name = setter.library;
      break;
    }
    return new Blas(std::move(blas));
  }
  return nullptr;
}

// Opens a library; `problem` says why it could not.
Blas* open(const char* name, std::string& problem) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(name, error);
  // The loader would wait for the writer of a pipe.
  if (std::strchr(name, '/') != nullptr && exists(status) && !is_regular_file(status)) {
    problem = std::string(name) + ": not a regular file";
    return nullptr;
  }
  void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    problem = dlerror();
    return nullptr;
  }
  Blas* blas = resolve(handle, name);
  if (blas == nullptr) {
    problem = std::string(name) + " has no cblas_sgemm, cblas_dgemm, cblas_cgemm and cblas_zgemm";
    dlclose(handle);
  }
  return blas;
}

// OpenBLAS takes kernels for AVX2 on a processor that it does not know; Weft's own for AVX-512 are then
// faster.
bool isBehind(const Blas& blas) {
  if (currentIsa() != Isa::avx512 || blas.core.empty()) return false;
  return std::none_of(kWideCores.begin(), kWideCores.end(),
                      [&](const char* core) { return strcasecmp(core, blas.core.c_str()) == 0; });
}

std::vector<std::string>& moreFiles() {
  static std::vector<std::string> files;
  return files;
}

// The first library of the system, or null; `tried` says why each was passed over. Looked for once.
const Blas* ofSystem(std::string* tried = nullptr) {
  static std::string problems;
  static const Blas* const found = []() -> const Blas* {
    std::vector<std::string> names(kCandidates.begin(), kCandidates.end());
    names.insert(names.end(), moreFiles().begin(), moreFiles().end());
    for (const std::string& name : names) {
      std::string problem;
      const Blas* const blas = open(name.c_str(), problem);
      if (blas != nullptr && !isBehind(*blas)) return blas;
      if (blas != nullptr) problem = blas->info.path + " is for " + blas->core + ", without AVX-512";
      problems += (problems.empty() ? "" : "; ") + problem;
    }
    return nullptr;
  }();
  if (tried != nullptr) *tried = problems;
  return found;
}

// Once opened, a library stays: its threads may run until the process ends.
std::atomic<const Blas*> chosen{nullptr};
// Nobody chose yet: the system's is used, and looked for when it is first wanted.
std::atomic<bool> isOpen{true};

const Blas* current() { return isOpen.load() ? ofSystem() : chosen.load(); }

void choose(const Blas* blas) {
  chosen.store(blas);
  isOpen.store(false);
}

void useThreads(const Blas& blas, int threads) {
  static std::mutex mutex;
  static const Blas* set = nullptr;
  static int count = 0;
  const std::lock_guard lock(mutex);
  if (set == &blas && count == threads) return;
  if (blas.setThreads != nullptr) blas.setThreads(threads);
  set = &blas;
  count = threads;
}

// The arguments by which CBLAS knows a rows × columns operand.
struct Layout {
  int64_t transpose;
  int64_t leading;
};

std::optional<Layout> layoutOf(const GemmOperand& operand, int64_t rows, int64_t columns) {
  if (operand.columnStride == 1 && operand.rowStride >= columns)
    return Layout{kNoTranspose, operand.rowStride};
  if (operand.rowStride == 1 && operand.columnStride >= rows) return Layout{kTranspose, operand.columnStride};
  return std::nullopt;
}

}  // namespace

void searchBlas(std::vector<std::string> files) { moreFiles() = std::move(files); }

void setBlas(const std::string& library) {
  if (library == "none") return choose(nullptr);
  if (library == "auto") {
    std::string tried;
    const Blas* blas = ofSystem(&tried);
    if (blas == nullptr) throw std::runtime_error("no BLAS library was found: " + tried);
    return choose(blas);
  }
  std::string problem;
  const Blas* blas = open(library.c_str(), problem);
  if (blas == nullptr) throw std::runtime_error("the BLAS library cannot be used: " + problem);
  choose(blas);
}

std::optional<BlasInfo> blasInUse() {
  const Blas* blas = current();
  return blas == nullptr ? std::nullopt : std::optional(blas->info);
}

bool blasProduct(const GemmProblem& p, DType dtype, int threads) {
  if (p.kernels->round != nullptr || p.m * p.n * p.k < kLeastBlasWork) return false;
  const Blas* blas = current();
  if (blas == nullptr) return false;
  const std::optional<Layout> a = layoutOf(p.a, p.m, p.k);
  const std::optional<Layout> b = layoutOf(p.b, p.k, p.n);
  if (!a || !b || p.c.columnStride != 1 || p.c.rowStride < p.n) return false;
  const int64_t largest = std::max({p.m, p.n, p.k, a->leading, b->leading, p.c.rowStride});
  if (!blas->wideSizes && largest > std::numeric_limits<int32_t>::max()) return false;

  useThreads(*blas, threads);
  const auto real = [&](auto gemm, auto one) {
    gemm(kRowMajor, a->transpose, b->transpose, p.m, p.n, p.k, one, p.a.data, a->leading, p.b.data,
         b->leading, p.adds ? one : one - one, p.c.data, p.c.rowStride);
  };
  const auto complex = [&](ComplexGemm gemm, auto one) {
    const decltype(one) unit[2] = {one, 0};
    const decltype(one) kept[2] = {p.adds ? one : 0, 0};
    gemm(kRowMajor, a->transpose, b->transpose, p.m, p.n, p.k, unit, p.a.data, a->leading, p.b.data,
         b->leading, kept, p.c.data, p.c.rowStride);
  };
  if (dtype == DType::float32) {
    real(blas->sgemm, 1.0F);
  } else if (dtype == DType::float64) {
    real(blas->dgemm, 1.0);
  } else if (dtype == DType::complex64) {
    complex(blas->cgemm, 1.0F);
  } else {
    complex(blas->zgemm, 1.0);
  }
  return true;
}

}  // namespace weft::cpu
