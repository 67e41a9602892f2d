/**
 * The device functions that generated code may call. A piece is written in front of a kernel only if the
 * kernel, or a piece that it needs, names it. NVRTC has no headers, so halves are converted by PTX
 * instructions.
 *
 * Inline PTX stands in one form, `asm("instruction operands;" : "=c"(result) : "c"(argument) …)`, one to a
 * line, which the simulated NVRTC of the tests can read. Those of warpgroups alone do not, and never come there.
 */
import { BULK_PIECES } from './prelude-bulk.js';
import { COMPLEX_PIECES } from './prelude-complex.js';
import { FAST_PIECES } from './prelude-fast-paths.js';
import { NUMBER_PIECES } from './prelude-numbers.js';
import { type Piece, piece } from './prelude-piece.js';
import { RANDOM_PIECES } from './prelude-random.js';
import { REDUCTION_PIECES } from './prelude-reductions.js';
import { TENSOR_PIECES } from './prelude-tensor.js';
import { WARPGROUP_PIECES } from './prelude-warpgroup.js';
import { SPECIAL_PIECES } from './special-pieces.js';

const BASE: readonly Piece[] = [
  piece(`
/* An index below 2^31 (2^63) divided by a size, as a product with a precomputed multiplier. */
__device__ __forceinline__ unsigned int weft_divide(unsigned int n, unsigned int magic, unsigned int shift) {
  return (unsigned int)(((unsigned long long)n * magic) >> shift);
}
__device__ __forceinline__ unsigned long long weft_divide(unsigned long long n, unsigned long long magic, unsigned int shift) {
  return __umul64hi(n, magic) >> (shift - 64);
}`),
  piece(`
/* Consecutive elements that move as one. */
template <class T, int N>
struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) weft_pack {
  T v[N];
};`),
  piece(`
/* 16 bytes that are read once, past the first-level cache. */
template <class P>
__device__ __forceinline__ P weft_load_once(const P* from) {
#if __CUDA_ARCH__ >= 800
  const int4 words = __ldcg(reinterpret_cast<const int4*>(from));
  return *reinterpret_cast<const P*>(&words);
#else
  return *from;
#endif
}`),
  piece(`
/* Stores the packs of all threads of a warp, those of each one after the other, so that each store of the warp is of packs in a row. */
template <class P, int N>
__device__ __forceinline__ void weft_store_in_rows(P* to, const P (&packs)[N], P* turned) {
  const int lane = threadIdx.x % 32;
  P* const own = turned + (threadIdx.x - lane) * N;
  __syncwarp();
  #pragma unroll
  for (int p = 0; p < N; ++p) own[lane * N + p] = packs[p];
  __syncwarp();
  #pragma unroll
  for (int p = 0; p < N; ++p) (to - lane * N)[p * 32 + lane] = own[p * 32 + lane];
}`),
  piece(`
/* How far an index outside of 0 ... n - 1, by n at most, moves to where it is folded back. */
template <class I>
__device__ __forceinline__ I weft_fold_nearest(I c, I n) {
  return (c < 0 ? (I)0 : c < n ? c : n - 1) - c;
}
template <class I>
__device__ __forceinline__ I weft_fold_reflect(I c, I n) {
  const I left = c < 0 ? -1 - c : c;
  return (left < n ? left : 2 * n - 1 - left) - c;
}
template <class I>
__device__ __forceinline__ I weft_fold_mirror(I c, I n) {
  const I left = c < 0 ? -c : c;
  return (left < n ? left : 2 * n - 2 - left) - c;
}
template <class I>
__device__ __forceinline__ I weft_fold_wrap(I c, I n) {
  return c < 0 ? n : c < n ? (I)0 : -n;
}`),
];

const REAL_PIECES: readonly Piece[] = [
  ...BASE,
  ...NUMBER_PIECES,
  ...FAST_PIECES,
  ...RANDOM_PIECES,
  ...SPECIAL_PIECES,
  ...REDUCTION_PIECES,
  ...TENSOR_PIECES,
  ...WARPGROUP_PIECES,
  ...BULK_PIECES,
];
const ALL_PIECES: readonly Piece[] = [
  ...BASE,
  ...NUMBER_PIECES,
  ...FAST_PIECES,
  ...RANDOM_PIECES,
  ...SPECIAL_PIECES,
  ...COMPLEX_PIECES,
  ...REDUCTION_PIECES,
  ...TENSOR_PIECES,
  ...WARPGROUP_PIECES,
  ...BULK_PIECES,
];

/**
 * The pieces that a text needs, in order. Overloads for complex numbers come only with a complex type in the
 * text.
 */
export function preludeFor(text: string): string {
  const pieces = /\bweft_c(64|128)\b/.test(text) ? ALL_PIECES : REAL_PIECES;
  const needed = new Set<Piece>();
  const queue = [text];
  while (queue.length > 0) {
    const names = new Set([...queue.pop()!.matchAll(/\bweft_\w+/g)].map(([name]) => name));
    for (const candidate of pieces) {
      if (needed.has(candidate) || !candidate.defines.some((name) => names.has(name))) continue;
      needed.add(candidate);
      queue.push(candidate.text);
    }
  }
  return pieces
    .filter((candidate) => needed.has(candidate))
    .map((candidate) => `${candidate.text}\n\n`)
    .join('');
}
