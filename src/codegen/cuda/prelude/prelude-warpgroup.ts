/**
 * Prelude pieces for warpgroups, of compute capability 9.0 alone (`wgmma.ts` has their products): matrices in shared
 * memory, asynchronous copies of rows to there, and barriers between threads that copy and threads that compute.
 *
 * A matrix is panels of 64 columns; a row of a panel is 128 bytes, whose 16-byte chunks are exchanged by the three low
 * bits of the row's number ("128-byte swizzle"), so that 8 chunks of a column lie in different banks. Panels begin at
 * multiples of 1024 bytes.
 */
import { type Piece, piece } from './prelude-piece.js';

export const WARPGROUP_PIECES: readonly Piece[] = [
  piece(`
/* Describes a matrix of swizzled panels; \`panel\`: bytes of a panel, where rows are the terms of sums. */
__device__ __forceinline__ unsigned long long weft_matrix(unsigned int at, unsigned int panel) {
  return (unsigned long long)((at & 0x3ffff) >> 4) | (unsigned long long)(panel >> 4) << 16 | (unsigned long long)(1024 >> 4) << 32 | 1ULL << 62;
}`),
  piece(`
/* Where a chunk of a row of a panel lies, in bytes. */
__device__ __forceinline__ unsigned int weft_swizzled(unsigned int row, unsigned int chunk) {
  return row * 128 + ((chunk ^ (row & 7)) << 4);
}`),
  piece(`
/* Copies 16 bytes to shared memory, or zeros. */
__device__ __forceinline__ void weft_copy_row_part(unsigned int to, const void* from, bool is_there) {
  const unsigned int bytes = is_there ? 16u : 0u;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" : : "r"(to), "l"(from), "r"(bytes) : "memory");
}`),
  piece(`
__device__ __forceinline__ void weft_end_group() {
  asm volatile("cp.async.commit_group;" : : : "memory");
}
/* Waits for this thread's groups of copies but the last \`count\`, and shows them to products. */
template <int count>
__device__ __forceinline__ void weft_wait_groups() {
  asm volatile("cp.async.wait_group %0;" : : "n"(count) : "memory");
  asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}`),
  piece(`
/* A barrier in shared memory, whose phase ends when so many threads have arrived. */
__device__ __forceinline__ void weft_barrier_begin(unsigned int barrier, unsigned int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(barrier), "r"(count) : "memory");
}
__device__ __forceinline__ void weft_barrier_arrive(unsigned int barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" : : "r"(barrier) : "memory");
}
/* Waits until the phase of a parity has ended. */
__device__ __forceinline__ void weft_barrier_wait(unsigned int barrier, unsigned int parity) {
  asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again; }" : : "r"(barrier), "r"(parity) : "memory");
}`),
  piece(`
/* Waits for the other threads of a warpgroup, by a barrier of a number from 1 to 15. */
__device__ __forceinline__ void weft_group_wait(int name) {
  asm volatile("bar.sync %0, 128;" : : "r"(name) : "memory");
}`),
  piece(`
/* Products begin after what was written to registers, and end in their order. */
__device__ __forceinline__ void weft_products_begin() {
  asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
}
__device__ __forceinline__ void weft_products_group() {
  asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
}
/* Waits for all groups of products but the last \`count\`. */
template <int count>
__device__ __forceinline__ void weft_products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(count) : "memory");
}`),
  piece(`
/* Keeps the compiler from moving the use of registers over what stands here. */
template <int count>
__device__ __forceinline__ void weft_keep(float (&c)[count]) {
#pragma unroll
  for (int i = 0; i < count; i++) asm volatile("" : "+f"(c[i]) : : "memory");
}`),
  piece(`
/* The most registers that threads of a warpgroup have from here on: fewer than before, or more. */
template <int count>
__device__ __forceinline__ void weft_fewer_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(count));
}
template <int count>
__device__ __forceinline__ void weft_more_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(count));
}`),
];
