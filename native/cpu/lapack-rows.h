// The routines of linear algebra that a LAPACK does (lapack.h), a row each: from which size on, with how much
// memory, and the call.
//
// The choice depends on a matrix's size and dtype alone, and so do the threads of the library, so that a
// matrix has the same bits alone, in a stack and in tiles. A call gives false where the library cannot:
// Weft's own routine has the matrix then. That is so of matrices with infinities or NaN, of which libraries
// make what they like, and of values that do not converge.
#pragma once
#include <memory>

#include "cpu/lapack.h"
#include "cpu/linear.h"

namespace weft::cpu {

enum class LapackRow : uint8_t { lu, triangle, inverse, cholesky, qr, qOfQr, eigh, eig, svd, leastSquares };

// Of one matrix of a step.
struct LapackProblem {
  LapackRow row;
  DType dtype;
  int64_t rows, columns;
  // Columns of Q; of values, whether their vectors are wanted; right sides.
  int64_t wanted = 0;
};

// Chosen when a program is made: the library and its memory, of the size that it asked for then.
struct LapackChoice : PreparedRoutine {
  LapackProblem problem;
  // Null: Weft's own routine.
  const Lapack* lapack = nullptr;
  void* function = nullptr;
  // Numbers of the dtype that the library works in and that are set aside for it, real ones, integers.
  int64_t work = 0, copies = 0, reals = 0, integers = 0;

  // Of its memory.
  size_t bytes() const;
  // `dgetrf of OpenBLAS (/usr/lib/libopenblas.so.0)`, or nothing.
  std::string text() const override;
};

std::shared_ptr<const LapackChoice> lapackChoice(const LapackProblem& problem);

inline const LapackChoice& choiceOf(const RoutineJob& job) {
  return static_cast<const LapackChoice&>(*job.prepared);
}

// Matrices are in column-major order. In place, of finite numbers: LU factors, pivots counted from 1.
template <typename T>
bool lapackLu(const LapackChoice& choice, T* a, int64_t* pivots, const LinearWork& work);

// In place, of LU factors to the inverse of their matrix. False, and the factors as they were, also where a
// pivot is 0.
template <typename T>
bool lapackInverse(const LapackChoice& choice, T* lu, const int64_t* pivots, const LinearWork& work);

// In place: a triangle's factor; `status` as potrf gives it.
template <typename T>
bool lapackCholesky(const LapackChoice& choice, bool isUpper, T* a, int32_t& status, const LinearWork& work);

// b = op(a)⁻¹ b, b of so many columns. `op`: the matrix, its transpose, the conjugate of that.
template <typename T>
bool lapackTriangle(const LapackChoice& choice, bool isUpper, int64_t op, bool hasUnitDiagonal, const T* a,
                    T* b, int64_t columns, const LinearWork& work);

// In place, of finite numbers: R and reflectors, as of factorQr.
template <typename T>
bool lapackQr(const LapackChoice& choice, T* a, T* taus, const LinearWork& work);

// In place, of such factors: the first columns of Q.
template <typename T>
bool lapackQ(const LapackChoice& choice, T* factors, const T* taus, int64_t reflectors,
             const LinearWork& work);

// Values in ascending order; no vectors: null.
template <typename T>
bool lapackEigh(const LapackChoice& choice, bool isUpper, const T* a, RealOf<T>* values, T* vectors,
                const LinearWork& work);

// Of a real matrix's complex pair the columns are the real and the imaginary parts. `vectors` may be `a`;
// null: none.
template <typename T>
bool lapackEig(const LapackChoice& choice, const T* a, Complex<RealOf<T>>* values, T* vectors,
               const LinearWork& work);

// As many columns of U and rows of Vᴴ as there are singular values.
template <typename T>
bool lapackSvd(const LapackChoice& choice, const T* a, RealOf<T>* values, T* u, T* vh,
               const LinearWork& work);

// Singular values, how many of them are larger than `rcond` of the largest, and the solutions.
template <typename T>
bool lapackLeastSquares(const LapackChoice& choice, const T* a, const T* b, RealOf<T> rcond,
                        RealOf<T>* values, int64_t& rank, T* x, const LinearWork& work);

}  // namespace weft::cpu
