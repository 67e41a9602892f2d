// Householder reflectors H = I - tau v vᴴ, v[0] = 1, and blocks of them, as LAPACK's: Q = H0 H1 …, with tau
// as `larfg` gives it, so that what a matrix is reduced to is real where it can be.
#pragma once
#include "cpu/linear.h"

namespace weft::cpu {

// Reflectors of a block.
inline constexpr int64_t kReflectors = 32;

// Makes of x, n elements, (beta, v[1] …) with Hᴴ x = (beta, 0 …), beta real; gives tau.
template <typename T>
T makeReflector(int64_t n, T* x);

// The matrix of reflectors that lie below the diagonal of columns: column k of `a` has v_k from row k +
// `below` on.
template <typename T>
struct Reflectors {
  MatrixView<T> a;
  int64_t below;
  const T* taus;
  int64_t count;
};

// Elements that `applyReflectors` works in, beside products.
int64_t reflectorElements(int64_t rows, int64_t columns);

// c = Q c (or Qᴴ c): rows of c are those of the reflectors' columns. `memory` has `reflectorElements` of c.
template <typename T>
void applyReflectors(const Reflectors<T>& q, bool isAdjoint, const MatrixView<T>& c, T* memory,
                     const LinearWork& work);

// QR factors in place: R on and above the diagonal, reflectors below it.
template <typename T>
void factorQr(const MatrixView<T>& a, T* taus, T* memory, const LinearWork& work);

}  // namespace weft::cpu
