/**
 * Prelude pieces of bulk copies between global and shared memory, from compute capability 9.0 on: one thread starts a copy
 * of neighbouring bytes, which takes no registers and no other instructions. Addresses and lengths are multiples of
 * 16 bytes. Barriers are those of `prelude-warpgroup.ts`. And pieces of pairs of blocks, which came with them.
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
/* Which of a pair of blocks, a cluster, this one is. */
__device__ __forceinline__ unsigned int weft_pair_rank() {
  unsigned int rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
/* Waits for the threads of both blocks, and shows each what the other has written to its shared memory. */
__device__ __forceinline__ void weft_pair_barrier() {
  asm volatile("barrier.cluster.arrive;" : : : "memory");
  asm volatile("barrier.cluster.wait;" : : : "memory");
}
/* An entry of a table of which each of a pair of blocks has a part: the second one from \`second\` on, \`half\` places before. */
template <class T>
__device__ __forceinline__ T weft_of_pair(const T* table, unsigned int entry, unsigned int second, unsigned int half) {
  const unsigned int rank = entry >= second ? 1u : 0u;
  const T* const own = table + (entry - (rank != 0u ? half : 0u));
  if (sizeof(T) == 4 || sizeof(T) == 8) {
    unsigned int there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"((unsigned int)__cvta_generic_to_shared(own)), "r"(rank));
    if (sizeof(T) == 4) {
      unsigned int word;
      asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(word) : "r"(there));
      return *reinterpret_cast<const T*>(&word);
    }
    unsigned long long word;
    asm volatile("ld.shared::cluster.u64 %0, [%1];" : "=l"(word) : "r"(there));
    return *reinterpret_cast<const T*>(&word);
  }
  const T* there;
  asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(own), "r"(rank));
  return *there;
}`),
  piece(`
/* How an array lies in memory, and the box of it that a copy is of; the driver encodes it. */
struct __align__(64) weft_tensor_map {
  unsigned long long words[16];
};
/* Copies the box whose first element is there; elements beyond an end are zeros. */
__device__ __forceinline__ void weft_tensor_load(unsigned int to, const weft_tensor_map* map, int x, int y, int z, unsigned int barrier) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" : : "r"(to), "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier) : "memory");
}
__device__ __forceinline__ void weft_tensor_store(const weft_tensor_map* map, unsigned int from, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" : : "l"(map), "r"(x), "r"(y), "r"(z), "r"(from) : "memory");
  asm volatile("cp.async.bulk.commit_group;" : : : "memory");
}`),
  piece(`
/* Shows bulk copies of other threads, which are ordered behind by a barrier, what this thread wrote to shared memory. */
__device__ __forceinline__ void weft_show_copies() {
  asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}`),
];
