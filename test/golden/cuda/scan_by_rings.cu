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
__device__ __forceinline__ unsigned int weft_turned(unsigned int k, unsigned int lane) { return k ^ (lane / 1 & 7); }
__device__ __forceinline__ void weft_exchange(weft_elements (&v)[8], unsigned int lane) {
  #pragma unroll
  for (unsigned int far = 1; far < 8; far *= 2) {
    const bool moves = (lane / 1 & far) != 0;
    #pragma unroll
    for (unsigned int k = 0; k < 8; ++k) {
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
struct weft_ring {
  weft_elements held[6][2048];
  weft_wide own[6][256];
  weft_wide before[6];
  weft_wide totals[8][33];
  unsigned long long taken[6], full[6], combined[6], carried[6], scanned[6];
  unsigned int number[6];
};
#define NO_TILE 0xffffffffu
#define SHARED(x) ((unsigned int)__cvta_generic_to_shared(&ring.x[slot]))
struct weft_tile {
  long long base;
  int count;
  bool is_whole;
};
__device__ __forceinline__ weft_tile weft_tile_of(unsigned int number, const weft_element* in, const weft_element* out, long long tiles, long long n) {
  const long long row = number / (unsigned int)tiles, at = (long long)(number % (unsigned int)tiles) * 8192;
  const long long base = row * n + at;
  const int count = (int)(n - at < 8192 ? n - at : 8192);
  const bool is_aligned = ((unsigned long long)(in + base) | (unsigned long long)(out + base)) % 16 == 0;
  return weft_tile{base, count, is_aligned && count == 8192};
}
__device__ __forceinline__ void weft_own_chunks(weft_elements (&v)[8], const weft_elements* held, unsigned int lane, weft_tile tile, const weft_element* in, int mine) {
  if (tile.is_whole) {
    #pragma unroll
    for (unsigned int k = 0; k < 8; ++k) v[k] = held[weft_turned(k, lane)];
    weft_exchange(v, lane);
    return;
  }
  #pragma unroll
  for (int k = 0; k < 8; ++k) {
    #pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int i = 32 * mine + k * 4 + e;
      v[k].e[e] = i < tile.count ? in[tile.base + i] : weft_round(weft_identity());
    }
  }
}

extern "C" __global__ void __launch_bounds__(608, 1)
weft_scan(unsigned int first_x, const weft_element* in, weft_element* out, char* state, long long states, long long lines, long long tiles, long long n) {
  extern __shared__ weft_elements shared[];
  weft_ring& ring = *(weft_ring*)shared;
  const unsigned int lane = threadIdx.x % 32;
  int warp = (int)threadIdx.x / 32;
  const unsigned int all = (unsigned int)(lines * tiles);
  unsigned long long* values = (unsigned long long*)(state + 256);
  if (threadIdx.x < 6) {
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
    for (unsigned int i = 0;; ++i) {
      const unsigned int slot = i % 6;
      bool stores = false;
      if (i >= 6) {
        if (ring.number[slot] == NO_TILE) break;
        const weft_tile last = weft_tile_of(ring.number[slot], in, out, tiles, n);
        weft_barrier_wait(SHARED(scanned), (i / 6 - 1) & 1);
        stores = last.is_whole;
        if (stores) weft_bulk_store(out + last.base, SHARED(held), 32768);
      }
      const unsigned int number = atomicAdd((unsigned int*)state, 1u);
      if (stores) weft_bulk_read();
      ring.number[slot] = number < all ? number : NO_TILE;
      weft_barrier_arrive(SHARED(taken));
      const weft_tile tile = weft_tile_of(number, in, out, tiles, n);
      if (number < all && tile.is_whole) {
        weft_barrier_expect(SHARED(full), 32768);
        weft_bulk_load(SHARED(held), in + tile.base, 32768, SHARED(full));
      } else {
        weft_barrier_arrive(SHARED(full));
      }
    }
    weft_bulk_written();
    return;
  }
  if (warp == 1) {
    for (unsigned int i = 0;; ++i) {
      const unsigned int slot = i % 6, parity = i / 6 & 1;
      weft_barrier_wait(SHARED(taken), parity);
      const unsigned int number = ring.number[slot];
      if (number == NO_TILE) return;
      weft_barrier_wait(SHARED(combined), parity);
      weft_wide whole = ring.own[slot][31];
      #pragma unroll
      for (int w = 1; w < 8; ++w) whole = weft_combine(whole, ring.own[slot][32 * w + 31]);
      if (lane == 0) weft_write(values + number / (unsigned int)tiles * states + number % (unsigned int)tiles, whole);
      __syncwarp();
      if (lane == 0) weft_barrier_arrive(SHARED(carried));
    }
  }
  if (warp == 2) {
    weft_wide part = weft_identity();
    unsigned int line = 0, group = 0;
    for (unsigned int i = 0;; ++i) {
      const unsigned int slot = i % 6;
      weft_barrier_wait(SHARED(taken), i / 6 & 1);
      const unsigned int number = ring.number[slot];
      if (number == NO_TILE) return;
      const unsigned int at = number % (unsigned int)tiles;
      if (number / (unsigned int)tiles != line) {
        line = number / (unsigned int)tiles;
        group = 0;
        part = weft_identity();
      }
      const unsigned long long* told = values + line * states;
      for (bool is_near = false; !is_near;) {
        unsigned long long word[8];
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
          const unsigned int k = 32 * (group + j) + lane;
          word[j] = k < at ? weft_heard(told + k) : 1ull;
        }
        for (bool is_missing = true; is_missing;) {
          is_missing = false;
          #pragma unroll
          for (int j = 0; j < 8; ++j) {
            if (word[j] != 0) continue;
            is_missing = true;
            word[j] = weft_heard(told + 32 * (group + j) + lane);
          }
        }
        #pragma unroll
        for (int j = 0; j < 8; ++j)
          ring.totals[j][lane] = 32 * (group + j) + lane < at ? weft_told(word[j]) : weft_identity();
        __syncwarp();
        weft_wide sum = weft_identity();
        if (lane < 8) {
          #pragma unroll
          for (int k = 0; k < 32; ++k) sum = weft_combine(sum, ring.totals[lane][k]);
        }
        __syncwarp();
        const unsigned int whole = at / 32 - group < 8u ? at / 32 - group : 8u;
        for (unsigned int j = 0; j < whole; ++j) {
          const weft_wide total = weft_of_lane(sum, (int)j);
          if (lane == 1) part = weft_combine(part, total);
          unsigned int level = 1;
          for (unsigned int groups = group + j + 1; groups % 32 == 0; groups /= 32, ++level) {
            const weft_wide over = weft_of_lane(part, (int)level);
            if (lane == level) part = weft_identity();
            if (lane == level + 1) part = weft_combine(part, over);
          }
        }
        group += whole;
        const weft_wide rest = weft_of_lane(sum, (int)(whole % 8));
        if (lane == 0) part = rest;
        is_near = whole < 8;
      }
      weft_wide sum = weft_identity();
      #pragma unroll
      for (int level = 7; level >= 0; --level) sum = weft_combine(sum, weft_of_lane(part, level));
      if (lane > 0) continue;
      ring.before[slot] = sum;
      weft_barrier_arrive(SHARED(carried));
    }
  }
  const bool scans = warp >= 11;
  warp = (warp - 3) % 8;
  const int mine = 32 * warp + (int)lane;
  for (unsigned int i = 0;; ++i) {
    const unsigned int slot = i % 6, parity = i / 6 & 1;
    weft_barrier_wait(SHARED(full), parity);
    if (ring.number[slot] == NO_TILE) return;
    const weft_tile tile = weft_tile_of(ring.number[slot], in, out, tiles, n);
    weft_elements* held = &ring.held[slot][8 * mine];
    weft_elements v[8];
    weft_own_chunks(v, held, lane, tile, in, mine);
    if (!scans) {
      weft_wide total = weft_identity();
      #pragma unroll
      for (int k = 0; k < 8; ++k) {
        #pragma unroll
        for (int e = 0; e < 4; ++e) total = weft_combine(total, weft_widen(v[k].e[e]));
      }
      #pragma unroll
      for (unsigned int lanes = 1; lanes < 32; lanes *= 2) {
        const weft_wide lower = weft_up(total, lanes);
        if (lane >= lanes) total = weft_combine(lower, total);
      }
      ring.own[slot][mine] = total;
      __syncwarp();
      if (lane == 0) weft_barrier_arrive(SHARED(combined));
      continue;
    }
    weft_barrier_wait(SHARED(combined), parity);
    weft_wide ahead = weft_identity();
    #pragma unroll
    for (int w = 0; w < 7; ++w)
      if (w < warp) ahead = weft_combine(ahead, ring.own[slot][32 * w + 31]);
    const weft_wide lower = ring.own[slot][lane == 0 ? mine : mine - 1];
    weft_barrier_wait(SHARED(carried), parity);
    const weft_wide carry = weft_combine(ring.before[slot], ahead);
    weft_wide sum = lane == 0 ? carry : weft_combine(carry, lower);
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
      #pragma unroll
      for (int e = 0; e < 4; ++e) {
        sum = weft_combine(sum, weft_widen(v[k].e[e]));
        v[k].e[e] = weft_round(sum);
      }
    }
    if (tile.is_whole) {
      weft_exchange(v, lane);
      #pragma unroll
      for (unsigned int k = 0; k < 8; ++k) held[weft_turned(k, lane)] = v[k];
      weft_show_copies();
    } else {
      #pragma unroll
      for (int k = 0; k < 8; ++k) {
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int i = 32 * mine + k * 4 + e;
          if (i < tile.count) out[tile.base + i] = v[k].e[e];
        }
      }
    }
    __syncwarp();
    if (lane == 0) weft_barrier_arrive(SHARED(scanned));
  }
}
