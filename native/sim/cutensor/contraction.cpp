#include "cutensor/contraction.h"

#include <algorithm>

#include "cublas/matrix.h"
#include "cublas/numbers.h"

namespace weft::sim {
namespace {

using Index = std::vector<int64_t>;

// Counts the index on over some labels, the last one fastest; false after the last.
bool next(Index& index, const std::vector<size_t>& labels, const std::vector<int64_t>& sizes) {
  for (size_t k = labels.size(); k-- > 0;) {
    if (++index[labels[k]] < sizes[labels[k]]) return true;
    index[labels[k]] = 0;
  }
  return false;
}

int64_t offsetOf(const Tensor& tensor, const Index& index) {
  int64_t offset = 0;
  for (size_t k = 0; k < tensor.labels.size(); k++) offset += index[tensor.labels[k]] * tensor.strides[k];
  return offset;
}

template <typename T>
T conjugated(T value, bool) {
  return value;
}
template <typename T>
std::complex<T> conjugated(std::complex<T> value, bool isConjugated) {
  return isConjugated ? std::conj(value) : value;
}

// A product of factors in TF32, or of their two parts in TF32, of which that of the lower parts is left out.
template <typename T>
T multiplied(T a, T b, Contraction::Factors factors) {
  if (factors == Contraction::Factors::full) return times(a, b);
  const T highA = factor(a, true), highB = factor(b, true);
  if (factors == Contraction::Factors::tf32) return times(highA, highB);
  const T lowA = factor(T(a - highA), true), lowB = factor(T(b - highB), true);
  const T high = times(highA, highB);
  return high + (times(highA, lowB) + times(lowA, highB));
}

template <typename Storage, typename Accumulator>
void contractAs(const Contraction& job) {
  const auto alpha = scalar<Accumulator>(job.alpha);
  const auto beta = scalar<Accumulator>(job.beta);
  std::vector<size_t> summed;
  for (size_t label = 0; label < job.sizes.size(); label++)
    if (std::find(job.d.labels.begin(), job.d.labels.end(), label) == job.d.labels.end())
      summed.push_back(label);
  const auto at = [](const Tensor& tensor, const Index& index) {
    return reinterpret_cast<Storage*>(tensor.address) + offsetOf(tensor, index);
  };
  const auto read = [&](const Tensor& tensor, const Index& index) {
    return conjugated(Accumulator(widen(*at(tensor, index))), tensor.isConjugated);
  };
  Index index(job.sizes.size());
  do {
    Accumulator sum{};
    do sum += multiplied(read(job.a, index), read(job.b, index), job.factors);
    while (next(index, summed, job.sizes));
    Accumulator value = times(alpha, sum);
    // With a beta of 0 the addend is not read.
    if (beta != Accumulator{}) value += times(beta, read(job.c, index));
    narrow(value, *at(job.d, index));
  } while (next(index, job.d.labels, job.sizes));
}

// Checks and notes all elements of an operand, those that lie side by side at once. False: it may not be
// touched.
bool touch(Simulator& simulator, Context& context, const Contraction& job, const Tensor& tensor, bool write,
           Accesses& accesses, const std::string& what) {
  const size_t bytes = elementByteLength(job.type);
  size_t run = 1;
  std::vector<size_t> outer;
  for (size_t k = 0; k < tensor.labels.size(); k++) {
    if (tensor.strides[k] == 1 && run == 1)
      run = static_cast<size_t>(job.sizes[tensor.labels[k]]);
    else
      outer.push_back(tensor.labels[k]);
  }
  Index index(job.sizes.size());
  do {
    const Address start = tensor.address + static_cast<size_t>(offsetOf(tensor, index)) * bytes;
    const bool ok = write ? simulator.write(context, start, run * bytes, accesses, what)
                          : simulator.read(context, start, run * bytes, accesses, what);
    if (!ok) return false;
  } while (next(index, outer, job.sizes));
  return true;
}

}  // namespace

int contract(Simulator& simulator, Context& context, const Contraction& job, Accesses& accesses,
             const std::string& what) {
  const bool readsC = job.beta[0] != 0 || job.beta[1] != 0;
  const auto touches = [&](const Tensor& tensor, bool write) {
    return touch(simulator, context, job, tensor, write, accesses, what);
  };
  const bool isGiven = touches(job.a, false) && touches(job.b, false) && (!readsC || touches(job.c, false)) &&
                       touches(job.d, true);
  if (!isGiven) return kIllegalAddress;
  switch (job.type) {
    case 0:
      contractAs<float, float>(job);
      break;
    case 1:
      contractAs<double, double>(job);
      break;
    case 2:
      contractAs<Half, float>(job);
      break;
    case 4:
      contractAs<std::complex<float>, std::complex<float>>(job);
      break;
    case 5:
      contractAs<std::complex<double>, std::complex<double>>(job);
      break;
    default:
      contractAs<Bfloat, float>(job);
  }
  return kSuccess;
}

}  // namespace weft::sim
