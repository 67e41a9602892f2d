/**
 * Prelude pieces of bulk copies between global and shared memory, from compute capability 9.0 on: one thread starts a copy
 * of neighbouring bytes, which takes no registers and no other instructions. Addresses and lengths are multiples of
 * 16 bytes. Barriers are those of `prelude-warpgroup.ts`.
 */
import { type Piece, piece } from './prelude-piece.js';

export const BULK_PIECES: readonly Piece[] = [
  piece(`
/* Arrives at a barrier whose phase ends when so many bytes have been copied as well. */
__device__ __forceinline__ void weft_barrier_expect(unsigned int barrier, unsigned int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" : : "r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void weft_bulk_load(unsigned int to, const void* from, unsigned int bytes, unsigned int barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" : : "r"(to), "l"(from), "r"(bytes), "r"(barrier) : "memory");
}`),
  piece(`
__device__ __forceinline__ void weft_bulk_store(void* to, unsigned int from, unsigned int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" : : "l"(to), "r"(from), "r"(bytes) : "memory");
  asm volatile("cp.async.bulk.commit_group;" : : : "memory");
}
/* Waits until this thread's stores have read shared memory. */
__device__ __forceinline__ void weft_bulk_read() {
  asm volatile("cp.async.bulk.wait_group.read 0;" : : : "memory");
}
/* Waits until this thread's stores have been written. */
__device__ __forceinline__ void weft_bulk_written() {
  asm volatile("cp.async.bulk.wait_group 0;" : : : "memory");
}`),
  piece(`
/* Shows bulk copies of other threads, which are ordered behind by a barrier, what this thread wrote to shared memory. */
__device__ __forceinline__ void weft_show_copies() {
  asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}`),
];
