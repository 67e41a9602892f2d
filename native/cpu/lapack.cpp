#include "cpu/lapack.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>

#include "cpu/blas.h"
#include "cpu/lapack-call.h"

namespace weft::cpu {
namespace {

struct FunctionName {
  const char* real;
  const char* complex;
};
constexpr std::array<FunctionName, kLapackFunctions> kNames = {{{"trsm", "trsm"},
                                                                {"getrf", "getrf"},
                                                                {"getri", "getri"},
                                                                {"potrf", "potrf"},
                                                                {"geqrf", "geqrf"},
                                                                {"orgqr", "ungqr"},
                                                                {"syevd", "heevd"},
                                                                {"geev", "geev"},
                                                                {"gesdd", "gesdd"},
                                                                {"gelsd", "gelsd"}}};
constexpr std::array kDTypes = {DType::float32, DType::float64, DType::complex64, DType::complex128};

size_t placeOf(DType dtype) {
  return static_cast<size_t>(std::find(kDTypes.begin(), kDTypes.end(), dtype) - kDTypes.begin());
}

// Spellings of Fortran's names: `dgetrf_64_` of OpenBLAS, MKL and the wheels, `dgetrf_64` of MKL, `dgetrf_`.
constexpr std::array kSpellings = {MathSpelling{"", "_64_", true}, MathSpelling{"", "_64", true},
                                   MathSpelling{"", "_", false}, MathSpelling{"scipy_", "_64_", true},
                                   MathSpelling{"scipy_", "_", false}};
// By which of C's a library tells its threads.
const MathSpelling& ofC(size_t spelling) { return kMathSpellings[spelling]; }

// Whether pivots are 64-bit. Names do not say it: some libraries have plain ones with 64-bit integers.
bool hasWideIntegers(void* getrf) {
  constexpr int32_t kUntouched = -7;
  std::array<int32_t, 4> pivots;
  pivots.fill(kUntouched);
  std::array<double, 4> matrix = {0, 1, 1, 0};
  const int64_t n = 2;
  int64_t info = 0;
  callFortran(getrf, &n, &n, matrix.data(), &n, pivots.data(), &info);
  return pivots[2] != kUntouched;
}

const Lapack* resolve(void* handle, const char* file) {
  for (size_t k = 0; k < kSpellings.size(); k++) {
    Lapack lapack{{}, {}, kSpellings[k].wideSizes};
    void* any = nullptr;
    for (const DType dtype : kDTypes) {
      for (size_t i = 0; i < kLapackFunctions; i++) {
        const auto which = static_cast<LapackFunction>(i);
        void* const found = librarySymbol(handle, kSpellings[k].of(lapackName(dtype, which)));
        lapack.functions[placeOf(dtype)][i] = found;
        if (found != nullptr && which != LapackFunction::trsm) any = found;
      }
    }
    if (any == nullptr) continue;
    lapack.library = describeLibrary(handle, any, ofC(k), file, "LAPACK");
    if (void* const getrf = lapack.function(DType::float64, LapackFunction::getrf))
      lapack.wideIntegers = hasWideIntegers(getrf);
    return new Lapack(std::move(lapack));
  }
  return nullptr;
}

// The LAPACK in a library that is opened already, or null; looked for once.
const Lapack* inLibrary(const MathLibrary& library) {
  static std::mutex mutex;
  static std::map<void*, const Lapack*> known;
  const std::lock_guard lock(mutex);
  const auto [place, isNew] = known.try_emplace(library.handle, nullptr);
  if (isNew) place->second = resolve(library.handle, library.path.c_str());
  return place->second;
}

const Lapack* ofBlas() {
  const MathLibrary* const blas = blasInUse();
  return blas == nullptr ? nullptr : inLibrary(*blas);
}

std::atomic<const Lapack*> chosen{nullptr};
// Nobody chose yet: it is that of the BLAS.
std::atomic<bool> isOpen{true};

void choose(const Lapack* lapack) {
  chosen.store(lapack);
  isOpen.store(false);
}

}  // namespace

void* Lapack::function(DType dtype, LapackFunction which) const {
  return functions[placeOf(dtype)][static_cast<size_t>(which)];
}

std::string lapackName(DType dtype, LapackFunction function) {
  constexpr std::array kLetters = {'s', 'd', 'c', 'z'};
  const size_t place = placeOf(dtype);
  const FunctionName& name = kNames[static_cast<size_t>(function)];
  return kLetters[place] + std::string(place < 2 ? name.real : name.complex);
}

void setLapack(const std::string& library) {
  if (library == "none") return choose(nullptr);
  if (library == "auto") {
    const Lapack* const lapack = ofBlas();
    if (lapack == nullptr)
      throw std::runtime_error("the BLAS library in use has no LAPACK, or there is none");
    return choose(lapack);
  }
  std::string problem;
  void* const handle = openLibrary(library.c_str(), problem);
  if (handle == nullptr) throw std::runtime_error("the LAPACK library cannot be used: " + problem);
  const Lapack* const lapack = resolve(handle, library.c_str());
  if (lapack == nullptr)
    throw std::runtime_error("the LAPACK library cannot be used: " + library + " has none of its functions");
  choose(lapack);
}

const Lapack* lapackInUse() { return isOpen.load() ? ofBlas() : chosen.load(); }

std::vector<std::string> lapackMissing(const Lapack& lapack) {
  std::vector<std::string> missing;
  for (const DType dtype : kDTypes)
    for (size_t i = 0; i < kLapackFunctions; i++)
      if (const auto which = static_cast<LapackFunction>(i); lapack.function(dtype, which) == nullptr)
        missing.push_back(lapackName(dtype, which));
  return missing;
}

}  // namespace weft::cpu
