#include "cpu/blas.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "cpu/gemm.h"
#include "cpu/math-library.h"

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

// Multiply-adds of a product that is worth waking a library's own threads.
constexpr int64_t kLeastBlasWork = int64_t{128} * 128 * 128;

constexpr int64_t kRowMajor = 101;
constexpr int64_t kNoTranspose = 111;
constexpr int64_t kTranspose = 112;

struct Blas {
  MathLibrary library;
  FloatGemm sgemm;
  RealGemm dgemm;
  ComplexGemm cgemm;
  ComplexGemm zgemm;
  bool wideSizes;
};

constexpr std::array kCandidates = {"libopenblas.so.0", "libopenblas64_.so.0", "libopenblas.so",
                                    "libmkl_rt.so.2",   "libmkl_rt.so",        "libblis.so.4"};

// The functions of an opened library, or null if it lacks one.
Blas* resolve(void* handle, const char* file) {
  for (const MathSpelling& spelling : kMathSpellings) {
    const auto function = [&](const char* name) { return librarySymbol(handle, spelling.of(name)); };
    void *const sgemm = function("cblas_sgemm"), *const dgemm = function("cblas_dgemm"),
                *const cgemm = function("cblas_cgemm"), *const zgemm = function("cblas_zgemm");
    if (!sgemm || !dgemm || !cgemm || !zgemm) continue;
    return new Blas{describeLibrary(handle, sgemm, spelling, file, "CBLAS"),
                    reinterpret_cast<FloatGemm>(sgemm),
                    reinterpret_cast<RealGemm>(dgemm),
                    reinterpret_cast<ComplexGemm>(cgemm),
                    reinterpret_cast<ComplexGemm>(zgemm),
                    spelling.wideSizes};
  }
  return nullptr;
}

// Opens a library; `problem` says why it could not.
Blas* open(const char* name, std::string& problem) {
  void* const handle = openLibrary(name, problem);
  if (handle == nullptr) return nullptr;
  Blas* const blas = resolve(handle, name);
  if (blas == nullptr)
    problem = std::string(name) + " has no cblas_sgemm, cblas_dgemm, cblas_cgemm and cblas_zgemm";
  return blas;
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
      if (blas != nullptr && !isBehind(blas->library)) return blas;
      if (blas != nullptr)
        problem = blas->library.path + " is for " + blas->library.core + ", without AVX-512";
      problems += (problems.empty() ? "" : "; ") + problem;
    }
    return nullptr;
  }();
  if (tried != nullptr) *tried = problems;
  return found;
}

std::atomic<const Blas*> chosen{nullptr};
// Nobody chose yet: the system's is used, and looked for when it is first wanted.
std::atomic<bool> isOpen{true};

const Blas* current() { return isOpen.load() ? ofSystem() : chosen.load(); }

void choose(const Blas* blas) {
  chosen.store(blas);
  isOpen.store(false);
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

const MathLibrary* blasInUse() {
  const Blas* blas = current();
  return blas == nullptr ? nullptr : &blas->library;
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

  const LibraryThreads own(blas->library.setThreads, threads);
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
