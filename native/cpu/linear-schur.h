// The Schur form of general matrices, A = Z T Zᴴ, in the steps that eigenvalues take: balanced, Hessenberg,
// triangular. T of a real matrix has a block of two rows for each pair of complex eigenvalues.
#pragma once
#include "cpu/linear-reflectors.h"

namespace weft::cpu {

// Scales rows and columns by powers of two until their lengths are alike (LAPACK's gebal, without its
// permutations): D⁻¹ A D. Eigenvectors of A are D times those of what it becomes.
template <typename T>
void balance(const MatrixView<T>& a, RealOf<T>* scales);

// Householder reflectors from both sides; they stay below the subdiagonal. `memory` has a column.
template <typename T>
void makeHessenberg(const MatrixView<T>& a, T* taus, T* memory, const LinearWork& work);

// Elements that `makeSchur` works in, and bytes of its products.
int64_t schurElements(int64_t n);
size_t schurProductBytes(DType dtype, int64_t n);

// Makes a Hessenberg matrix triangular by the shifted QR method: two shifts at once of a real one (Francis),
// one of a complex one, and several of large ones, whose last eigenvalues are found in windows (Braman,
// Byers, Mathias; LAPACK's laqr0). `z`, if it has rows, is turned alike; without it only eigenvalues are
// right, not the triangle. False: one does not converge.
template <typename T>
bool makeSchur(const MatrixView<T>& h, const MatrixView<T>& z, Complex<RealOf<T>>* values, T* memory,
               const LinearWork& work);

}  // namespace weft::cpu
