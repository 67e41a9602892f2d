// Singular values and vectors of real upper bidiagonal matrices: d, and e above it, which has room for n.
#pragma once
#include "cpu/linear.h"

namespace weft::cpu {

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
