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
#include "cpu/library-choice.h"
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

Blas* open(const std::string& name, bool isNamed, std::string& problem) {
  void* const handle = openLibrary(name.c_str(), problem);
  if (handle == nullptr) return nullptr;
  Blas* const blas = resolve(handle, name.c_str());
  if (blas == nullptr) {
    problem = name + " has no cblas_sgemm, cblas_dgemm, cblas_cgemm and cblas_zgemm";
  } else if (!isNamed && isBehind(blas->library)) {
    problem = blas->library.path + " is for " + blas->library.core + ", without AVX-512";
    return nullptr;
  }
  return blas;
}

LibraryChoice<Blas>& choice() {
  static auto& all = *new LibraryChoice<Blas>("BLAS", {kCandidates.begin(), kCandidates.end()}, open);
  return all;
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

void searchBlas(std::vector<std::string> files) { choice().search(std::move(files)); }

void setBlas(const std::string& library) { choice().choose(library); }

const MathLibrary* blasInUse() {
  const Blas* blas = choice().current();
  return blas == nullptr ? nullptr : &blas->library;
}

bool blasProduct(const GemmProblem& p, DType dtype, int threads) {
  if (p.kernels->round != nullptr || p.m * p.n * p.k < kLeastBlasWork) return false;
  const Blas* blas = choice().current();
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
