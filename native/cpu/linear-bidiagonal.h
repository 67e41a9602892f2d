// Upper bidiagonal matrices, real: d, and e above it, which has room for n. The reduction of matrices to
// them, and their singular values and vectors.
#pragma once
#include "cpu/linear.h"

namespace weft::cpu {

// Columns that are reduced together.
inline constexpr int64_t kBidiagonalPanel = 32;

// The bidiagonal matrix, and the factors of the reflectors.
template <typename T>
struct BidiagonalOf {
  RealOf<T>*d, *e;
  T *tausOfQ, *tausOfP;
};

// Elements that `makeBidiagonal` works in, beside products.
inline int64_t bidiagonalFormElements(int64_t rows, int64_t columns) {
  return 2 * kBidiagonalPanel * (rows + columns);
}

// A = Q B Pᴴ of at least as many rows as columns. Reflectors of Q stay below the diagonal of a, those of P
// come below that of p, a square matrix; the diagonals are written over.
template <typename T>
void makeBidiagonal(const MatrixView<T>& a, const MatrixView<T>& p, const BidiagonalOf<T>& to, T* memory,
                    const LinearWork& work);

// To singular values d, in no order, by the implicit QR method (Golub and Kahan; LINPACK's dsvdc). False
// where one does not converge.
template <typename R>
bool bidiagonalValues(int64_t n, R* d, R* e, const LinearWork& work);

// Real elements that `bidiagonalVectors` works in, beside products.
int64_t bidiagonalElements(int64_t n);

// The same with singular vectors, the columns of u and v, by dividing in halves (Gu and Eisenstat).
template <typename R>
bool bidiagonalVectors(int64_t n, R* d, R* e, const MatrixView<R>& u, const MatrixView<R>& v, R* memory,
                       const LinearWork& work);

}  // namespace weft::cpu
