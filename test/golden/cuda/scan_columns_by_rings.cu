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
struct __align__(8) weft_own {
  weft_element e[2];
};
struct __align__(128) weft_ring {
  weft_element held[3][256][64];
  weft_wide sums[3][8][64];
  weft_wide before[3][64];
  unsigned long long taken[3], full[3], combined[3], carried[3], scanned[3];
  unsigned int stripe[3], at[3];
};
#define NO_STRIPE 0xffffffffu
#define SHARED(x) ((unsigned int)__cvta_generic_to_shared(&ring.x[slot]))
struct weft_rows {
  long long base;
  int count, columns;
};
__device__ __forceinline__ weft_rows weft_rows_of(unsigned int stripe, unsigned int at, unsigned int groups, long long n, long long inner, int first) {
  const long long row = (long long)at * 256 + first, column = (long long)(stripe % groups) * 64;
  const long long rows = n - row, columns = inner - column;
  return weft_rows{(stripe / groups * n + row) * inner + column, (int)(rows < 256 ? rows : 256), (int)(columns < 64 ? columns : 64)};
}
template <int level>
__device__ __forceinline__ void weft_take(weft_wide (&part)[2][4], const unsigned long long* told, unsigned int from, unsigned int to) {
  for (; from < to; from += 8) {
    unsigned long long word[8][2];
    #pragma unroll
    for (int j = 0; j < 8; ++j) {
      if (from + j >= to) break;
      #pragma unroll
      for (int e = 0; e < 2; ++e) word[j][e] = weft_heard(told + (long long)(from + j) * 64 + 32 * e);
    }
    #pragma unroll
    for (int j = 0; j < 8; ++j) {
      if (from + j >= to) break;
      const unsigned int done = from + j + 1;
      #pragma unroll
      for (int e = 0; e < 2; ++e) {
        while (word[j][e] == 0) {
          __nanosleep(20);
          word[j][e] = weft_heard(told + (long long)(from + j) * 64 + 32 * e);
        }
        part[e][level] = weft_combine(part[e][level], weft_told(word[j][e]));
        if constexpr (level + 1 < 4)
          if (done % 32 == 0) {
            part[e][level + 1] = weft_combine(part[e][level + 1], part[e][level + 0]);
            part[e][level + 0] = weft_identity();
          }
        if constexpr (level + 2 < 4)
          if (done % 1024 == 0) {
            part[e][level + 2] = weft_combine(part[e][level + 2], part[e][level + 1]);
            part[e][level + 1] = weft_identity();
          }
        if constexpr (level + 3 < 4)
          if (done % 32768 == 0) {
            part[e][level + 3] = weft_combine(part[e][level + 3], part[e][level + 2]);
            part[e][level + 2] = weft_identity();
          }
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(608, 1)
weft_scan(const weft_element* in, weft_element* out, const __grid_constant__ weft_tensor_map in_map, const __grid_constant__ weft_tensor_map out_map, char* state, long long n, long long inner, unsigned int states, unsigned int tiles, unsigned int groups, unsigned int stripes, unsigned int sharing) {
  extern __shared__ weft_ring shared[];
  weft_ring& ring = shared[0];
  const unsigned int lane = threadIdx.x % 32;
  int warp = (int)threadIdx.x / 32;
  unsigned long long* values = (unsigned long long*)(state + 256);
  const bool is_aligned = ((unsigned long long)in | (unsigned long long)out) % 16 == 0;
  if (threadIdx.x < 3) {
    const unsigned int slot = threadIdx.x;
    weft_barrier_begin(SHARED(taken), 1);
    weft_barrier_begin(SHARED(full), 1);
    weft_barrier_begin(SHARED(combined), 8);
    weft_barrier_begin(SHARED(carried), 2);
    weft_barrier_begin(SHARED(scanned), 8);
    weft_show_copies();
  }
  __syncthreads();
  if (warp == 0) {
    if (lane > 0) return;
    unsigned int* counts = (unsigned int*)(values + (long long)stripes * states * 64);
    unsigned int stripe = NO_STRIPE, at = 0;
    for (unsigned int i = 0;; ++i) {
      const unsigned int slot = i % 3;
      if (i >= 3) {
        const unsigned int last = ring.stripe[slot];
        if (last == NO_STRIPE) break;
        weft_barrier_wait(SHARED(scanned), (i / 3 - 1) & 1);
        if (is_aligned) weft_tensor_store(&out_map, SHARED(held), (int)(last % groups * 64), (int)(ring.at[slot] * 256u), (int)(last / groups));
      }
      if (stripe != NO_STRIPE) at = atomicAdd(counts + stripe, 1u);
      while (stripe == NO_STRIPE || at >= tiles) {
        const unsigned int run = atomicAdd((unsigned int*)state, 1u);
        stripe = run < stripes * sharing ? run / sharing : NO_STRIPE;
        if (stripe == NO_STRIPE) break;
        at = atomicAdd(counts + stripe, 1u);
      }
      if (i >= 3) weft_bulk_read();
      ring.stripe[slot] = stripe;
      ring.at[slot] = at;
      weft_barrier_arrive(SHARED(taken));
      if (stripe != NO_STRIPE && is_aligned) {
        weft_barrier_expect(SHARED(full), 65536);
        weft_tensor_load(SHARED(held), &in_map, (int)(stripe % groups * 64), (int)(at * 256u), (int)(stripe / groups), SHARED(full));
      } else {
        weft_barrier_arrive(SHARED(full));
      }
    }
    weft_bulk_written();
    return;
  }
  if (warp == 1) {
    for (unsigned int i = 0;; ++i) {
      const unsigned int slot = i % 3, parity = i / 3 & 1;
      weft_barrier_wait(SHARED(taken), parity);
      const unsigned int stripe = ring.stripe[slot];
      if (stripe == NO_STRIPE) return;
      unsigned long long* told = values + ((long long)stripe * states + ring.at[slot]) * 64;
      weft_barrier_wait(SHARED(combined), parity);
      #pragma unroll
      for (unsigned int column = lane; column < 64; column += 32) {
        weft_wide whole = ring.sums[slot][0][column];
        #pragma unroll
        for (int w = 1; w < 8; ++w) whole = weft_combine(whole, ring.sums[slot][w][column]);
        weft_write(told + column, whole);
      }
      __syncwarp();
      if (lane == 0) weft_barrier_arrive(SHARED(carried));
    }
  }
  if (warp == 2) {
    weft_wide part[2][4];
    unsigned int of = NO_STRIPE, next = 0;
    for (unsigned int i = 0;; ++i) {
      const unsigned int slot = i % 3;
      weft_barrier_wait(SHARED(taken), i / 3 & 1);
      const unsigned int stripe = ring.stripe[slot], at = ring.at[slot];
      if (stripe == NO_STRIPE) return;
      if (stripe != of) {
        of = stripe;
        next = 0;
        #pragma unroll
        for (int e = 0; e < 2; ++e) {
          #pragma unroll
          for (int k = 0; k < 4; ++k) part[e][k] = weft_identity();
        }
      }
      unsigned long long* told = values + (long long)stripe * states * 64 + lane;
      unsigned long long* groups_told = told + (long long)tiles * 64;
      const bool is_far = at - next >= 32;
      if (is_far) {
        #pragma unroll
        for (int e = 0; e < 2; ++e) part[e][0] = weft_identity();
      }
      weft_take<0>(part, told, is_far ? at / 32 * 32 : next, at);
      if (at % 32 == 31 && at + 1 < tiles) {
        #pragma unroll
        for (int e = 0; e < 2; ++e) {
          unsigned long long word;
          while ((word = weft_heard(told + (long long)at * 64 + 32 * e)) == 0) __nanosleep(20);
          weft_write(groups_told + (long long)(at / 32) * 64 + 32 * e, weft_combine(part[e][0], weft_told(word)));
        }
      }
      if (is_far) weft_take<1>(part, groups_told, next / 32, at / 32);
      next = at;
      #pragma unroll
      for (int e = 0; e < 2; ++e) {
        weft_wide sum = weft_identity();
        #pragma unroll
        for (int k = 3; k >= 0; --k) sum = weft_combine(sum, part[e][k]);
        ring.before[slot][32 * e + lane] = sum;
      }
      __syncwarp();
      if (lane == 0) weft_barrier_arrive(SHARED(carried));
    }
  }
  const bool scans = warp >= 11;
  warp = (warp - 3) % 8;
  const int first = 32 * warp;
  for (unsigned int i = 0;; ++i) {
    const unsigned int slot = i % 3, parity = i / 3 & 1;
    weft_barrier_wait(SHARED(full), parity);
    const unsigned int stripe = ring.stripe[slot], at = ring.at[slot];
    if (stripe == NO_STRIPE) return;
    weft_element(*held)[64] = ring.held[slot] + first;
    const weft_rows rows = weft_rows_of(stripe, at, groups, n, inner, first);
    if (!scans) {
      if (!is_aligned) {
        for (int k = 0; k < 32; ++k)
          for (int c = (int)lane; c < 64; c += 32)
            held[k][c] = k < rows.count && c < rows.columns ? in[rows.base + k * inner + c] : weft_round(weft_identity());
        __syncwarp();
      }
      weft_wide sum[2];
      #pragma unroll
      for (int e = 0; e < 2; ++e) sum[e] = weft_identity();
      #pragma unroll 16
      for (int k = 0; k < 32; ++k) {
        const weft_own v = *(const weft_own*)&held[k][2 * lane];
        #pragma unroll
        for (int e = 0; e < 2; ++e) sum[e] = weft_combine(sum[e], weft_widen(v.e[e]));
      }
      #pragma unroll
      for (int e = 0; e < 2; ++e) ring.sums[slot][warp][2 * lane + e] = sum[e];
      __syncwarp();
      if (lane == 0) weft_barrier_arrive(SHARED(combined));
      continue;
    }
    weft_barrier_wait(SHARED(combined), parity);
    weft_wide sum[2];
    #pragma unroll
    for (int e = 0; e < 2; ++e) sum[e] = weft_identity();
    #pragma unroll
    for (int w = 0; w < 7; ++w) {
      if (w >= warp) break;
      #pragma unroll
      for (int e = 0; e < 2; ++e) sum[e] = weft_combine(sum[e], ring.sums[slot][w][2 * lane + e]);
    }
    weft_barrier_wait(SHARED(carried), parity);
    #pragma unroll
    for (int e = 0; e < 2; ++e) sum[e] = weft_combine(ring.before[slot][2 * lane + e], sum[e]);
    #pragma unroll 16
    for (int k = 0; k < 32; ++k) {
      weft_own v = *(const weft_own*)&held[k][2 * lane];
      #pragma unroll
      for (int e = 0; e < 2; ++e) v.e[e] = weft_round(sum[e] = weft_combine(sum[e], weft_widen(v.e[e])));
      *(weft_own*)&held[k][2 * lane] = v;
    }
    if (is_aligned) {
      weft_show_copies();
      __syncwarp();
    } else {
      __syncwarp();
      for (int k = 0; k < 32 && k < rows.count; ++k)
        for (int c = (int)lane; c < rows.columns; c += 32) out[rows.base + k * inner + c] = held[k][c];
      __syncwarp();
    }
    if (lane == 0) weft_barrier_arrive(SHARED(scanned));
  }
}
