// QR factors by blocks of Householder reflectors, and the routine that gives Q and R in C order.
#include "cpu/lapack-rows.h"
#include "cpu/linear-reflectors.h"
#include "cpu/linear-turns.h"

namespace weft::cpu {

namespace {

// Rows of matrices whose reflectors are applied one by one: so many columns of them stay in the second-level
// cache, where blocks of reflectors and their products take longer.
constexpr int64_t kSingleRows = 128;

// Of the element before the others, of the sum of their squares and of the length of all: tau, and the first
// element of v before it is made 1.
template <typename T>
struct Reflection {
  T tau, first;
  RealOf<T> beta;
};

template <typename T>
Reflection<T> reflectionOf(T x, RealOf<T> length) {
  const RealOf<T> re = realPart(x), im = imaginaryPart(x), beta = re > 0 ? -length : length;
  if constexpr (kIsComplex<T>)
    return {{(beta - re) / beta, -im / beta}, {re - beta, im}, beta};
  else
    return {(beta - re) / beta, re - beta, beta};
}

// Of elements whose squares may overflow or vanish, or are no numbers.
template <typename T>
T makeScaledReflector(int64_t n, T* x) {
  using R = RealOf<T>;
  R most = 0;
  for (int64_t i = 1; i < n; i++)
    most = std::max({most, std::abs(realPart(x[i])), std::abs(imaginaryPart(x[i]))});
  bool isRegular = true;
  for (int64_t i = 0; i < n; i++) isRegular = isRegular && sumOfParts(x[i]) - sumOfParts(x[i]) == 0;
  if (isRegular && most == 0 && imaginaryPart(x[0]) == 0) return T{};
  // Scaled, so that squares neither overflow nor vanish.
  const R scale =
      isRegular ? std::max(most, std::max(std::abs(realPart(x[0])), std::abs(imaginaryPart(x[0])))) : R{1};
  R squares = 0;
  for (int64_t i = 1; i < n; i++) {
    const R re = realPart(x[i]) / scale, im = imaginaryPart(x[i]) / scale;
    squares += re * re + im * im;
  }
  const R re = realPart(x[0]) / scale, im = imaginaryPart(x[0]) / scale;
  T start = ofReal<T>(re);
  if constexpr (kIsComplex<T>) start.im = im;
  const Reflection<T> made = reflectionOf(start, std::sqrt(re * re + im * im + squares));
  for (int64_t i = 1; i < n; i++) x[i] = (x[i] / scale) / made.first;
  x[0] = ofReal<T>(made.beta * scale);
  return made.tau;
}

}  // namespace

template <typename T>
T makeReflector(int64_t n, T* x) {
  using R = RealOf<T>;
  // Between these no square overflows, and those that vanish are less than ε² of the sum.
  constexpr R kEpsilon = std::numeric_limits<R>::epsilon(), kMost = std::numeric_limits<R>::max() / 8,
              kLeast = std::numeric_limits<R>::min() / kEpsilon / kEpsilon;
  const LinearKernels<T>& kernels = linearKernels<T>();
  T sum;
  kernels.dots(n - 1, 1, x + 1, 0, x + 1, &sum);
  const R squares = realPart(sum), re = realPart(x[0]), im = imaginaryPart(x[0]),
          all = re * re + im * im + squares;
  if (!(squares >= kLeast && all <= kMost)) return makeScaledReflector(n, x);
  const Reflection<T> made = reflectionOf(x[0], std::sqrt(all));
  kernels.scale(n - 1, ofReal<T>(1) / made.first, x + 1);
  x[0] = ofReal<T>(made.beta);
  return made.tau;
}

int64_t reflectorElements(int64_t rows, int64_t columns) {
  return kReflectors * (rows + 2 * columns + 2 * kReflectors);
}

namespace {

// The reflectors [first, first + count) of a matrix, with their ones and zeros, and T of I - V T Vᴴ.
template <typename T>
struct Block {
  MatrixView<T> v;
  T triangle[kReflectors * kReflectors];
};

template <typename T>
void makeBlock(const Reflectors<T>& q, int64_t first, int64_t count, T* memory, Block<T>& block) {
  const int64_t start = first + q.below, rows = q.a.rows - start;
  block.v = columnMajor(memory, rows, count);
  const LinearKernels<T>& kernels = linearKernels<T>();
  for (int64_t k = 0; k < count; k++) {
    T* const v = &block.v.at(0, k);
    std::fill_n(v, k, T{});
    v[k] = ofReal<T>(1);
    std::copy_n(&q.a.at(start + k, first + k) + 1, rows - k - 1, v + k + 1);
    T* const t = block.triangle + k * kReflectors;
    const T tau = q.taus[first + k];
    T sums[kReflectors];
    kernels.dots(rows, k, block.v.data, rows, v, sums);
    for (int64_t i = 0; i < k; i++) {
      T sum{};
      for (int64_t j = i; j < k; j++) sum = sum + block.triangle[j * kReflectors + i] * sums[j];
      t[i] = -(tau * sum);
    }
    t[k] = tau;
  }
}

// c -= V op(T) Vᴴ c, by three products. Only that with the conjugates of V copies it, negated.
template <typename T>
void applyBlock(const Block<T>& block, bool isAdjoint, const MatrixView<T>& c, T* memory,
                const LinearWork& work) {
  const int64_t count = block.v.columns;
  const MatrixView<T> w = columnMajor(memory, count, c.columns);
  const MatrixView<T> y = columnMajor(memory + count * c.columns, count, c.columns);
  const MatrixView<T> factor = columnMajor(memory + 2 * count * c.columns, count, count);
  for (int64_t k = 0; k < count; k++)
    for (int64_t i = 0; i < count; i++) {
      const int64_t row = std::min(i, k), column = std::max(i, k);
      const bool isInside = isAdjoint ? i >= k : i <= k;
      const T t = isInside ? block.triangle[column * kReflectors + row] : T{};
      factor.at(i, k) = kIsComplex<T> ? (isAdjoint ? conjugate(t) : t) : -t;
    }
  std::fill_n(w.data, 2 * count * c.columns, T{});
  if constexpr (kIsComplex<T>)
    subtractProduct(w.transposed(), c.transposed(), block.v, true, work);
  else
    accumulateProduct(w.transposed(), c.transposed(), block.v, work);
  accumulateProduct(y, factor, w, work);
  accumulateProduct(c, block.v, y, work);
}

template <typename T>
void factorColumns(const MatrixView<T>& a, T* taus) {
  const LinearKernels<T>& kernels = linearKernels<T>();
  for (int64_t k = 0; k < std::min(a.rows, a.columns); k++) {
    T* const v = &a.at(k, k);
    taus[k] = makeReflector(a.rows - k, v);
    if (k + 1 < a.columns)
      kernels.reflectColumns(a.rows - k, a.columns - k - 1, v + 1, conjugate(taus[k]), &a.at(k, k + 1),
                             a.columnStride);
  }
}

// The first columns of Q of few rows: reflectors from the last one on leave the columns of ones before
// their own as they are.
template <typename T>
void makeSmallQ(const MatrixView<T>& a, const T* taus, int64_t count, const MatrixView<T>& q) {
  for (int64_t k = std::min(count, q.columns) - 1; k >= 0; k--)
    linearKernels<T>().reflectColumns(a.rows - k, q.columns - k, &a.at(k, k) + 1, taus[k], &q.at(k, k),
                                      q.columnStride);
}

// The same of many rows, by blocks.
template <typename T>
void makeLargeQ(const Reflectors<T>& reflectors, const MatrixView<T>& q, T* memory, const LinearWork& work) {
  const int64_t rows = reflectors.a.rows;
  for (int64_t last = reflectors.count; last > 0;) {
    if (work.cancelled()) return;
    const int64_t first = (last - 1) / kReflectors * kReflectors;
    Block<T> block;
    makeBlock(reflectors, first, last - first, memory, block);
    applyBlock(block, false, q.part(first, first, q.rows - first, q.columns - first),
               memory + kReflectors * rows, work);
    last = first;
  }
}

// Reflectors of few rows, one after the other.
template <typename T>
void applySingly(const Reflectors<T>& q, bool isAdjoint, const MatrixView<T>& c) {
  const LinearKernels<T>& kernels = linearKernels<T>();
  for (int64_t each = 0; each < q.count; each++) {
    const int64_t k = isAdjoint ? each : q.count - 1 - each, row = k + q.below;
    kernels.reflectColumns(c.rows - row, c.columns, &q.a.at(row, k) + 1,
                           isAdjoint ? conjugate(q.taus[k]) : q.taus[k], &c.at(row, 0), c.columnStride);
  }
}

}  // namespace

template <typename T>
void applyReflectors(const Reflectors<T>& q, bool isAdjoint, const MatrixView<T>& c, T* memory,
                     const LinearWork& work) {
  if (c.rows <= kSingleRows && c.rowStride == 1) return applySingly(q, isAdjoint, c);
  const int64_t blocks = (q.count + kReflectors - 1) / kReflectors;
  for (int64_t k = 0; k < blocks; k++) {
    if (work.cancelled()) return;
    const int64_t first = (isAdjoint ? k : blocks - 1 - k) * kReflectors, start = first + q.below;
    Block<T> block;
    makeBlock(q, first, std::min(kReflectors, q.count - first), memory, block);
    applyBlock(block, isAdjoint, c.part(start, 0, c.rows - start, c.columns), memory + kReflectors * q.a.rows,
               work);
  }
}

template <typename T>
void factorQr(const MatrixView<T>& a, T* taus, T* memory, const LinearWork& work) {
  if (std::max(a.rows, a.columns) <= kSingleRows) return factorColumns(a, taus);
  const int64_t least = std::min(a.rows, a.columns);
  for (int64_t first = 0; first < least; first += kReflectors) {
    if (work.cancelled()) return;
    const int64_t count = std::min(kReflectors, least - first), rest = a.columns - first - count;
    factorColumns(a.part(first, first, a.rows - first, count), taus + first);
    if (rest == 0) return;
    const MatrixView<T> below = a.part(first, first, a.rows - first, a.columns - first);
    Block<T> block;
    makeBlock<T>({below, 0, taus + first, count}, 0, count, memory, block);
    applyBlock(block, true, below.part(0, count, below.rows, rest), memory + kReflectors * a.rows, work);
  }
}

#define WEFT_INSTANTIATE(T)                                                                                  \
  template T makeReflector<T>(int64_t, T*);                                                                  \
  template void applyReflectors<T>(const Reflectors<T>&, bool, const MatrixView<T>&, T*, const LinearWork&); \
  template void factorQr<T>(const MatrixView<T>&, T*, T*, const LinearWork&);
WEFT_LINEAR_TYPES(WEFT_INSTANTIATE)
#undef WEFT_INSTANTIATE

namespace {

// Columns and rows of a matrix, rows of R, which are columns of Q, and whether Q is wanted.
struct Parts {
  explicit Parts(const std::vector<int64_t>& given)
      : numbers(given, 6),
        columns(numbers.next()),
        rows(numbers.next()),
        kept(numbers.next()),
        hasQ(numbers.next() != 0) {
    if (kept > rows || (kept > columns && kept < rows)) throw std::invalid_argument("rows of R");
  }
  LinearNumbers numbers;
  int64_t columns, rows, kept;
  bool hasQ;
  int64_t least() const { return std::min(columns, rows); }
  int64_t size() const { return std::max(columns, rows); }
  LapackProblem problem(LapackRow row) const { return {row, numbers.dtype, rows, columns, kept}; }
};

// A library's factors and Q, of which either may be Weft's own.
struct QrChoices : PreparedRoutine {
  std::shared_ptr<const LapackChoice> factors, q;
  std::string text() const override {
    const std::string all = factors->text();
    return q->lapack == nullptr ? all : all.empty() ? q->text() : all + ", " + q->text();
  }
};

// Where a matrix is factored: the factors, which Q replaces, their taus, Q of Weft's own, and what it takes
// to make it.
class Memory {
 public:
  Memory(const Parts& p, const QrChoices& choices) {
    const auto size = static_cast<size_t>(kElementBytes[static_cast<int>(p.numbers.dtype)]);
    const auto take = [&](int64_t count) {
      const size_t at = bytes_;
      bytes_ += (static_cast<size_t>(count) * size + kHostAlignment - 1) / kHostAlignment * kHostAlignment;
      return at;
    };
    factors_ = take(p.rows * std::max(p.columns, p.hasQ ? p.kept : 0));
    taus_ = take(p.least());
    q_ = p.hasQ ? take(p.rows * p.kept) : 0;
    reflectors_ = take(reflectorElements(p.rows, std::max(p.columns, p.kept)));
    behind_ = bytes_;
    const size_t products = productBytes(p.numbers.dtype, p.size(), kReflectors, kReflectors * p.size());
    bytes_ += std::max({choices.factors->bytes(), choices.q->bytes(), products});
  }
  size_t bytes() const { return bytes_; }
  template <typename T>
  T* factors(const LinearWork& work) const {
    return at<T>(work, factors_);
  }
  template <typename T>
  T* taus(const LinearWork& work) const {
    return at<T>(work, taus_);
  }
  template <typename T>
  T* q(const LinearWork& work) const {
    return at<T>(work, q_);
  }
  template <typename T>
  T* reflectors(const LinearWork& work) const {
    return at<T>(work, reflectors_);
  }
  LinearWork behind(const LinearWork& work) const {
    const Workspace rest{work.workspace.data + behind_, work.workspace.byteLength - behind_};
    return {work.pool, work.cancel, rest, work.threads};
  }

 private:
  template <typename T>
  T* at(const LinearWork& work, size_t place) const {
    return reinterpret_cast<T*>(work.workspace.data + place);
  }
  size_t factors_, taus_, q_, reflectors_, behind_, bytes_ = 0;
};

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool& pool) {
  const Parts p(numbers);
  auto choices = std::make_shared<QrChoices>();
  choices->factors = lapackChoice(p.problem(LapackRow::qr));
  // Weft's own where no Q is wanted: no function is named then, and no memory set aside.
  choices->q = p.hasQ ? lapackChoice(p.problem(LapackRow::qOfQr)) : std::make_shared<LapackChoice>();
  return withLinear(p.numbers.dtype, [&](auto zero) -> RoutineNeed {
    std::vector<size_t> results = {p.numbers.bytes(p.kept, p.columns, sizeof(zero))};
    if (p.hasQ) results.push_back(p.numbers.bytes(p.rows, p.kept, sizeof(zero)));
    return {{p.numbers.bytes(p.rows, p.columns, sizeof(zero))},
            results,
            matrixNeed(p.size(), p.numbers.count, Memory(p, *choices).bytes(), pool),
            p.numbers.count,
            choices};
  });
}

// Q of factors in place, or elsewhere; gives where it is.
template <typename T>
T* makeQ(const Parts& p, const QrChoices& choices, const Memory& memory, const LinearWork& work) {
  const LinearWork behind = memory.behind(work);
  T *const factors = memory.factors<T>(work), *const taus = memory.taus<T>(work);
  if (lapackQ(*choices.q, factors, taus, p.least(), behind)) return factors;
  const MatrixView<T> a = columnMajor(factors, p.rows, p.columns);
  const MatrixView<T> q = columnMajor(memory.q<T>(work), p.rows, p.kept);
  std::fill_n(q.data, p.rows * p.kept, T{});
  for (int64_t i = 0; i < p.kept; i++) q.at(i, i) = ofReal<T>(1);
  if (p.size() <= kSingleRows)
    makeSmallQ(a, taus, p.least(), q);
  else
    makeLargeQ<T>({a, 0, taus, p.least()}, q, memory.reflectors<T>(work), behind);
  return q.data;
}

void run(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Parts p(job.numbers);
  const auto& choices = static_cast<const QrChoices&>(*job.prepared);
  const Memory memory(p, choices);
  withLinear(p.numbers.dtype, [&](auto zero) {
    using T = decltype(zero);
    eachMatrix(job, units, p.size(), memory.bytes(), pool, cancel, [&](int64_t k, const LinearWork& work) {
      const MatrixView<T> a = columnMajor(memory.factors<T>(work), p.rows, p.columns);
      T* const taus = memory.taus<T>(work);
      const Finds found = turnMatrix(matrixAt<T>(job.operands, 0, k, p.rows * p.columns), a, work);
      const LinearWork behind = memory.behind(work);
      if (found != Finds::numbers || !lapackQr(*choices.factors, a.data, taus, behind))
        factorQr(a, taus, memory.reflectors<T>(work), behind);
      turnBack(a.part(0, 0, p.kept, p.columns), TurnedPart::upper,
               matrixAt<T>(job.results, 0, k, p.kept * p.columns), work);
      if (!p.hasQ || work.cancelled()) return;
      T* const q = makeQ<T>(p, choices, memory, work);
      turnBack(columnMajor(q, p.rows, p.kept), TurnedPart::all,
               matrixAt<T>(job.results, 1, k, p.rows * p.kept), work);
    });
  });
}

}  // namespace

const Routine kQrParts{needOf, run};

}  // namespace weft::cpu
