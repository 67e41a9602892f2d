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
/* Where a byte of what a warp hands round lies: threads that are a multiple of 32 bytes apart would meet in few banks. */
template <int bytes>
__device__ __forceinline__ unsigned int weft_turned_place(unsigned int byte) {
  return bytes % 32 == 0 ? byte + byte / 128 * 16 : byte;
}`),
  piece(`
/* Stores the packs of all threads of a warp, those of each one after the other, so that each store of the warp is of 512 bytes in a row, by shared memory of its own. S threads may have a piece of R packs, which they have by turns. */
template <int S = 1, int R = 0, class T, int W, int N>
__device__ __forceinline__ void weft_store_in_rows(weft_pack<T, W>* to, const weft_pack<T, W> (&packs)[N], weft_pack<unsigned int, 4>* turned) {
  typedef weft_pack<T, 16 / sizeof(T)> wide;
  constexpr int count = R == 0 ? S * N : R;
  constexpr int bytes = count * W * sizeof(T);
  constexpr int wides = 32 / S * bytes / 16;
  const int lane = threadIdx.x % 32;
  char* const own = reinterpret_cast<char*>(turned);
  __syncwarp();
  #pragma unroll
  for (int p = 0; p < N; ++p)
    if (p * S + S <= count || p * S + lane % S < count)
      *reinterpret_cast<weft_pack<T, W>*>(own + weft_turned_place<bytes>(lane / S * bytes + (p * S + lane % S) * (int)sizeof(weft_pack<T, W>))) = packs[p];
  __syncwarp();
  wide* const all = reinterpret_cast<wide*>(to - lane / S * count);
  #pragma unroll
  for (int p = 0; p < wides; p += 32)
    if (p + 32 <= wides || p + lane < wides)
      all[p + lane] = *reinterpret_cast<const wide*>(own + weft_turned_place<bytes>((p + lane) * 16));
}`),
  piece(`
/* Begins to load the packs of all threads of a warp, those of each one after the other: each load of the warp is of 512 bytes in a row. */
template <int S = 1, int R = 0, class T, int W, int N, int C>
__device__ __forceinline__ void weft_fetch_in_rows(const weft_pack<T, W>* from, const weft_pack<T, W> (&packs)[N], weft_pack<T, 16 / sizeof(T)> (&fetched)[C]) {
  constexpr int count = R == 0 ? S * N : R;
  constexpr int wides = 32 / S * count * W * sizeof(T) / 16;
  const int lane = threadIdx.x % 32;
  const weft_pack<T, 16 / sizeof(T)>* const all = reinterpret_cast<const weft_pack<T, 16 / sizeof(T)>*>(from - lane / S * count);
  #pragma unroll
  for (int p = 0; p < C; ++p)
    if (p * 32 + 32 <= wides || p * 32 + lane < wides) fetched[p] = all[p * 32 + lane];
}`),
  piece(`
/* Hands the packs that a warp has fetched to their threads. */
template <int S = 1, int R = 0, class T, int W, int N, int C>
__device__ __forceinline__ void weft_turn_rows(const weft_pack<T, 16 / sizeof(T)> (&fetched)[C], weft_pack<T, W> (&packs)[N], weft_pack<unsigned int, 4>* turned) {
  constexpr int count = R == 0 ? S * N : R;
  constexpr int bytes = count * W * sizeof(T);
  constexpr int wides = 32 / S * bytes / 16;
  const int lane = threadIdx.x % 32;
  char* const own = reinterpret_cast<char*>(turned);
  __syncwarp();
  #pragma unroll
  for (int p = 0; p < C; ++p)
    if (p * 32 + 32 <= wides || p * 32 + lane < wides)
      *reinterpret_cast<weft_pack<T, 16 / sizeof(T)>*>(own + weft_turned_place<bytes>((p * 32 + lane) * 16)) = fetched[p];
  __syncwarp();
  #pragma unroll
  for (int p = 0; p < N; ++p)
    if (p * S + S <= count || p * S + lane % S < count)
      packs[p] = *reinterpret_cast<const weft_pack<T, W>*>(own + weft_turned_place<bytes>(lane / S * bytes + (p * S + lane % S) * (int)sizeof(weft_pack<T, W>)));
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
