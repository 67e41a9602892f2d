// Real tridiagonal matrices: what Hermitian ones are reduced to, their eigenvalues, and their eigenvectors.
#pragma once
#include "cpu/linear-reflectors.h"
#include "cpu/linear-rotations.h"

namespace weft::cpu {

// Elements that `makeTridiagonal` works in.
int64_t tridiagonalElements(int64_t n);

// Reduces a Hermitian matrix, of which the lower triangle is read, to diagonal d and e below it; reflectors
// stay below that.
template <typename T>
void makeTridiagonal(const MatrixView<T>& a, RealOf<T>* d, RealOf<T>* e, T* taus, T* memory,
                     const LinearWork& work);

// Diagonal d and subdiagonal e, which has room for n, to eigenvalues d, by the implicit QL method with
// Wilkinson's shift (EISPACK's tql2); rotations go to columns. False where one does not converge.
template <typename R>
bool makeDiagonal(int64_t n, R* d, R* e, Rotations<R>& rotations);

// The same without eigenvectors or square roots (Pal, Walker and Kahan; LAPACK's sterf).
template <typename R>
bool tridiagonalValues(int64_t n, R* d, R* e);

// Real elements that `tridiagonalVectors` works in, beside products.
int64_t divideElements(int64_t n);

// Eigenvalues d, in no order, and eigenvectors, the columns of z, by dividing in halves (Cuppen; Gu and
// Eisenstat). False where one does not converge.
template <typename R>
bool tridiagonalVectors(int64_t n, R* d, R* e, const MatrixView<R>& z, R* memory, const LinearWork& work);

}  // namespace weft::cpu
