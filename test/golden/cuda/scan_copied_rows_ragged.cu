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
}

/* Arrives at a barrier whose phase ends when so many bytes have been copied as well. */
__device__ __forceinline__ void weft_barrier_expect(unsigned int barrier, unsigned int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" : : "r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void weft_bulk_load(unsigned int to, const void* from, unsigned int bytes, unsigned int barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" : : "r"(to), "l"(from), "r"(bytes), "r"(barrier) : "memory");
}

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
}

/* Shows bulk copies of other threads, which are ordered behind by a barrier, what this thread wrote to shared memory. */
__device__ __forceinline__ void weft_show_copies() {
  asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}

typedef float weft_element;
typedef double weft_wide;
__device__ __forceinline__ weft_wide weft_widen(weft_element a) { return (weft_wide)a; }
__device__ __forceinline__ weft_element weft_round(weft_wide a) { return (weft_element)a; }
__device__ __forceinline__ weft_wide weft_identity() { return (weft_wide)(-0.0); }
__device__ __forceinline__ weft_wide weft_combine(weft_wide a, weft_wide b) {
  return a + b;
}
__device__ __forceinline__ weft_wide weft_up(weft_wide a, unsigned int lanes) {
  return __shfl_up_sync(0xffffffffu, a, lanes);
}
__device__ __forceinline__ weft_wide weft_of_lane(weft_wide a, int lane) { return __shfl_sync(0xffffffffu, a, lane); }
__device__ __forceinline__ unsigned long long weft_heard(const unsigned long long* at) {
  return *(const volatile unsigned long long*)at;
}
__device__ __forceinline__ unsigned long long weft_word(double a) {
  const unsigned long long word = 0xfff49e3779b97f4aull ^ (unsigned long long)__double_as_longlong(a);
  return word == 0 ? 1ull : word;
}
__device__ __forceinline__ unsigned long long weft_word(unsigned int a) { return 1ull << 32 | a; }
__device__ __forceinline__ double weft_double(unsigned long long word) { return __longlong_as_double((long long)(0xfff49e3779b97f4aull ^ word)); }
__device__ __forceinline__ void weft_write(volatile unsigned long long* at, weft_wide a) { *at = weft_word(a); }
__device__ __forceinline__ weft_wide weft_told(unsigned long long word) { return weft_double(word); }
struct __align__(16) weft_elements {
  weft_element e[4];
};
/* Chunk k of a lane lies at weft_turned(k, lane) of its chunks, or the other way round. */
__device__ __forceinline__ unsigned int weft_turned(unsigned int k, unsigned int lane) { return k ^ (lane / 2 & 3); }
__device__ __forceinline__ void weft_exchange(weft_elements (&v)[4], unsigned int lane) {
  #pragma unroll
  for (unsigned int far = 1; far < 4; far *= 2) {
    const bool moves = (lane / 2 & far) != 0;
    #pragma unroll
    for (unsigned int k = 0; k < 4; ++k) {
      if ((k & far) != 0) continue;
      #pragma unroll
      for (int e = 0; e < 4; ++e) {
        const weft_element a = v[k].e[e], b = v[k | far].e[e];
        v[k].e[e] = moves ? b : a;
        v[k | far].e[e] = moves ? a : b;
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(64, 8)
weft_scan(unsigned int first_x, const weft_element* in, weft_element* out, long long rows, int n) {
  __shared__ weft_elements held[1024];
  __shared__ weft_wide sums[8];
  __shared__ unsigned long long full;
  const long long row = (long long)blockIdx.x + first_x;
  if (row >= rows) return;
  const weft_elements* from = (const weft_elements*)(in + row * n);
  weft_elements* to = (weft_elements*)(out + row * n);
  const unsigned int count = (unsigned int)n / 4, barrier = (unsigned int)__cvta_generic_to_shared(&full);
  const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const bool is_aligned = ((unsigned long long)in | (unsigned long long)out) % 16 == 0;
  if (is_aligned) {
    if (threadIdx.x == 0) {
      weft_barrier_begin(barrier, 1);
      weft_show_copies();
      weft_barrier_expect(barrier, 16 * count);
      weft_bulk_load((unsigned int)__cvta_generic_to_shared(held), from, 16 * count, barrier);
    }
    __syncthreads();
    weft_barrier_wait(barrier, 0);
  } else {
    for (int i = (int)threadIdx.x; i < n; i += 64) held[i / 4].e[i % 4] = in[row * n + i];
    __syncthreads();
  }
  const unsigned int mine = 512 * warp + 4 * lane;
  weft_wide total[4];
  #pragma unroll
  for (unsigned int p = 0; p < 4; ++p) {
    weft_elements v[4];
    #pragma unroll
    for (unsigned int k = 0; k < 4; ++k) {
      const unsigned int chunk = mine + 128 * p + weft_turned(k, lane);
      if (chunk < count) v[k] = held[chunk];
      else {
        #pragma unroll
        for (int e = 0; e < 4; ++e) v[k].e[e] = weft_round(weft_identity());
      }
    }
    weft_exchange(v, lane);
    total[p] = weft_identity();
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      #pragma unroll
      for (int e = 0; e < 4; ++e) {
        total[p] = weft_combine(total[p], weft_widen(v[k].e[e]));
      }
    }
  }
  #pragma unroll
  for (unsigned int lanes = 1; lanes < 32; lanes *= 2) {
    #pragma unroll
    for (int p = 0; p < 4; ++p) {
      const weft_wide lower = weft_up(total[p], lanes);
      if (lane >= lanes) total[p] = weft_combine(lower, total[p]);
    }
  }
  if (lane == 31) {
    #pragma unroll
    for (int p = 0; p < 4; ++p) sums[4 * warp + p] = total[p];
  }
  __syncthreads();
  weft_wide ahead = weft_identity();
  #pragma unroll
  for (unsigned int w = 0; w < 4; ++w)
    if (w < 4 * warp) ahead = weft_combine(ahead, sums[w]);
  #pragma unroll
  for (unsigned int p = 0; p < 4; ++p) {
    weft_elements v[4];
    #pragma unroll
    for (unsigned int k = 0; k < 4; ++k) {
      const unsigned int chunk = mine + 128 * p + weft_turned(k, lane);
      if (chunk < count) v[k] = held[chunk];
      else {
        #pragma unroll
        for (int e = 0; e < 4; ++e) v[k].e[e] = weft_round(weft_identity());
      }
    }
    weft_exchange(v, lane);
    const weft_wide lower = weft_up(total[p], 1);
    weft_wide sum = lane == 0 ? ahead : weft_combine(ahead, lower);
    ahead = weft_combine(ahead, sums[4 * warp + p]);
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      #pragma unroll
      for (int e = 0; e < 4; ++e) {
        v[k].e[e] = weft_round(sum = weft_combine(sum, weft_widen(v[k].e[e])));
      }
    }
    weft_exchange(v, lane);
    #pragma unroll
    for (unsigned int k = 0; k < 4; ++k) {
      const unsigned int chunk = mine + 128 * p + weft_turned(k, lane);
      if (chunk < count) held[chunk] = v[k];
    }
  }
  if (is_aligned) {
    weft_show_copies();
    __syncthreads();
    if (threadIdx.x > 0) return;
    weft_bulk_store(to, (unsigned int)__cvta_generic_to_shared(held), 16 * count);
    weft_bulk_read();
  } else {
    __syncthreads();
    for (int i = (int)threadIdx.x; i < n; i += 64) out[row * n + i] = held[i / 4].e[i % 4];
  }
}
