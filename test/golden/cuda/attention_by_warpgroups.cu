struct __align__(2) weft_half {
  unsigned short bits;
};

struct __align__(2) weft_bfloat {
  unsigned short bits;
};

__device__ __forceinline__ weft_half weft_to_half(float a) {
  weft_half r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(a));
  return r;
}
__device__ __forceinline__ weft_half weft_to_half(double a) {
  weft_half r;
  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(r.bits) : "d"(a));
  return r;
}

/* As one of two numbers: by itself it is converted at an eighth of that rate (sm_90). */
__device__ __forceinline__ weft_bfloat weft_to_bfloat(float a) {
  weft_bfloat r;
#if __CUDA_ARCH__ >= 800
  unsigned int pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(0.0f), "f"(a));
  r.bits = (unsigned short)pair;
#else
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r.bits) : "f"(a));
#endif
  return r;
}
/* Rounded to odd on the way, so that the second rounding is the only one. */
__device__ __forceinline__ weft_bfloat weft_to_bfloat(double a) {
  float f = __double2float_rz(a);
  if ((double)f != a && a == a) f = __int_as_float(__float_as_int(f) | 1);
  return weft_to_bfloat(f);
}

__device__ __forceinline__ float weft_infinity() { return __int_as_float(0x7f800000); }

struct __align__(16) weft_chunk {
  unsigned int v[4];
};

#if __CUDA_ARCH__ >= 800
/* Two numbers rounded to halves, the first one in the low half. */
__device__ __forceinline__ unsigned int weft_pair(float a, float b, weft_half) {
  unsigned int r;
  asm volatile("cvt.rn.f16x2.f32 %0, %2, %1;" : "=r"(r) : "f"(a), "f"(b));
  return r;
}
__device__ __forceinline__ unsigned int weft_pair(float a, float b, weft_bfloat) {
  unsigned int r;
  asm volatile("cvt.rn.bf16x2.f32 %0, %2, %1;" : "=r"(r) : "f"(a), "f"(b));
  return r;
}
#else
__device__ __forceinline__ unsigned int weft_pair(float a, float b, weft_half) {
  return weft_to_half(a).bits | (unsigned int)weft_to_half(b).bits << 16;
}
__device__ __forceinline__ unsigned int weft_pair(float a, float b, weft_bfloat) {
  return weft_to_bfloat(a).bits | (unsigned int)weft_to_bfloat(b).bits << 16;
}
#endif

/* The value of the lane whose number differs in a bit. */
__device__ __forceinline__ float weft_across(float a, int apart) {
  return __int_as_float((int)__shfl_xor_sync(0xffffffffu, (unsigned int)__float_as_int(a), apart));
}

/* 2 to the power of a, 0 below the normal numbers; its last bits are the device's own. */
__device__ __forceinline__ float weft_power_of_two(float a) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
  return r;
}

/* Describes a matrix of swizzled panels; `panel`: bytes of a panel, where rows are the terms of sums. */
__device__ __forceinline__ unsigned long long weft_matrix(unsigned int at, unsigned int panel) {
  return (unsigned long long)((at & 0x3ffff) >> 4) | (unsigned long long)(panel >> 4) << 16 | (unsigned long long)(1024 >> 4) << 32 | 1ULL << 62;
}

/* Where a chunk of a row of a panel lies, in bytes. */
__device__ __forceinline__ unsigned int weft_swizzled(unsigned int row, unsigned int chunk) {
  return row * 128 + ((chunk ^ (row & 7)) << 4);
}

/* Copies 16 bytes to shared memory, or zeros. */
__device__ __forceinline__ void weft_copy_row_part(unsigned int to, const void* from, bool is_there) {
  const unsigned int bytes = is_there ? 16u : 0u;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" : : "r"(to), "l"(from), "r"(bytes) : "memory");
}

__device__ __forceinline__ void weft_end_group() {
  asm volatile("cp.async.commit_group;" : : : "memory");
}
/* Waits for this thread's groups of copies but the last `count`, and shows them to products. */
template <int count>
__device__ __forceinline__ void weft_wait_groups() {
  asm volatile("cp.async.wait_group %0;" : : "n"(count) : "memory");
  asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}

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

/* Waits for the other threads of a warpgroup, by a barrier of a number from 1 to 15. */
__device__ __forceinline__ void weft_group_wait(int name) {
  asm volatile("bar.sync %0, 128;" : : "r"(name) : "memory");
}

/* Products begin after what was written to registers, and end in their order. */
__device__ __forceinline__ void weft_products_begin() {
  asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
}
__device__ __forceinline__ void weft_products_group() {
  asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
}
/* Waits for all groups of products but the last `count`. */
template <int count>
__device__ __forceinline__ void weft_products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(count) : "memory");
}

/* Keeps the compiler from moving the use of registers over what stands here. */
template <int count>
__device__ __forceinline__ void weft_keep(float (&c)[count]) {
#pragma unroll
  for (int i = 0; i < count; i++) asm volatile("" : "+f"(c[i]) : : "memory");
}

/* The most registers that threads of a warpgroup have from here on: fewer than before, or more. */
template <int count>
__device__ __forceinline__ void weft_fewer_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(count));
}
template <int count>
__device__ __forceinline__ void weft_more_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(count));
}

typedef weft_bfloat weft_element;
__device__ __forceinline__ void weft_copy_q(unsigned int to, const weft_element* __restrict__ from, int first, int count) {
  const int row = (threadIdx.x & 127) >> 3, chunk = threadIdx.x & 7;
  const weft_element* const at = from + (long long)(first + row) * 128 + chunk * 8;
  if (first + 64 <= count) {
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
      for (int panel = 0; panel < 2; panel++) weft_copy_row_part(to + weft_swizzled(row, chunk) + i * 2048 + panel * 8192, at + i * 2048 + panel * 64, true);
  } else {
#pragma unroll 1
    for (int i = 0; i < 4; i++)
#pragma unroll
      for (int panel = 0; panel < 2; panel++) {
        const bool is_there = first + row + i * 16 < count;
        weft_copy_row_part(to + weft_swizzled(row, chunk) + i * 2048 + panel * 8192, is_there ? at + i * 2048 + panel * 64 : from, is_there);
      }
  }
  weft_end_group();
}
__device__ __forceinline__ void weft_copy_k(unsigned int to, const weft_element* __restrict__ from, int first, int count) {
  const int row = (threadIdx.x & 127) >> 3, chunk = threadIdx.x & 7;
  const weft_element* const at = from + (long long)(first + row) * 128 + chunk * 8;
  if (first + 160 <= count) {
#pragma unroll
    for (int i = 0; i < 10; i++)
#pragma unroll
      for (int panel = 0; panel < 2; panel++) weft_copy_row_part(to + weft_swizzled(row, chunk) + i * 2048 + panel * 20480, at + i * 2048 + panel * 64, true);
  } else {
#pragma unroll 1
    for (int i = 0; i < 10; i++)
#pragma unroll
      for (int panel = 0; panel < 2; panel++) {
        const bool is_there = first + row + i * 16 < count;
        weft_copy_row_part(to + weft_swizzled(row, chunk) + i * 2048 + panel * 20480, is_there ? at + i * 2048 + panel * 64 : from, is_there);
      }
  }
  weft_end_group();
}
__device__ __forceinline__ void weft_copy_v(unsigned int to, const weft_element* __restrict__ from, int first, int count) {
  const int row = (threadIdx.x & 127) >> 3, chunk = threadIdx.x & 7;
  const weft_element* const at = from + (long long)(first + row) * 128 + chunk * 8;
  if (first + 160 <= count) {
#pragma unroll
    for (int i = 0; i < 10; i++)
#pragma unroll
      for (int panel = 0; panel < 2; panel++) weft_copy_row_part(to + weft_swizzled(row, chunk) + i * 2048 + panel * 20480, at + i * 2048 + panel * 64, true);
  } else {
#pragma unroll 1
    for (int i = 0; i < 10; i++)
#pragma unroll
      for (int panel = 0; panel < 2; panel++) {
        const bool is_there = first + row + i * 16 < count;
        weft_copy_row_part(to + weft_swizzled(row, chunk) + i * 2048 + panel * 20480, is_there ? at + i * 2048 + panel * 64 : from, is_there);
      }
  }
  weft_end_group();
}
__device__ __forceinline__ void weft_add_scores(float (&c)[80], unsigned long long a, unsigned long long b, bool adds) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %82, 0; wgmma.mma_async.sync.aligned.m64n160k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79}, %80, %81, p, 1, 1, 0, 0; }" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]), "+f"(c[8]), "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]), "+f"(c[14]), "+f"(c[15]), "+f"(c[16]), "+f"(c[17]), "+f"(c[18]), "+f"(c[19]), "+f"(c[20]), "+f"(c[21]), "+f"(c[22]), "+f"(c[23]), "+f"(c[24]), "+f"(c[25]), "+f"(c[26]), "+f"(c[27]), "+f"(c[28]), "+f"(c[29]), "+f"(c[30]), "+f"(c[31]), "+f"(c[32]), "+f"(c[33]), "+f"(c[34]), "+f"(c[35]), "+f"(c[36]), "+f"(c[37]), "+f"(c[38]), "+f"(c[39]), "+f"(c[40]), "+f"(c[41]), "+f"(c[42]), "+f"(c[43]), "+f"(c[44]), "+f"(c[45]), "+f"(c[46]), "+f"(c[47]), "+f"(c[48]), "+f"(c[49]), "+f"(c[50]), "+f"(c[51]), "+f"(c[52]), "+f"(c[53]), "+f"(c[54]), "+f"(c[55]), "+f"(c[56]), "+f"(c[57]), "+f"(c[58]), "+f"(c[59]), "+f"(c[60]), "+f"(c[61]), "+f"(c[62]), "+f"(c[63]), "+f"(c[64]), "+f"(c[65]), "+f"(c[66]), "+f"(c[67]), "+f"(c[68]), "+f"(c[69]), "+f"(c[70]), "+f"(c[71]), "+f"(c[72]), "+f"(c[73]), "+f"(c[74]), "+f"(c[75]), "+f"(c[76]), "+f"(c[77]), "+f"(c[78]), "+f"(c[79]) : "l"(a), "l"(b), "r"((int)adds));
}
__device__ __forceinline__ void weft_add_values(float (&c)[64], const unsigned int (&a)[4], unsigned long long b, bool adds) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %69, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, {%64, %65, %66, %67}, %68, p, 1, 1, 1; }" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]), "+f"(c[8]), "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]), "+f"(c[14]), "+f"(c[15]), "+f"(c[16]), "+f"(c[17]), "+f"(c[18]), "+f"(c[19]), "+f"(c[20]), "+f"(c[21]), "+f"(c[22]), "+f"(c[23]), "+f"(c[24]), "+f"(c[25]), "+f"(c[26]), "+f"(c[27]), "+f"(c[28]), "+f"(c[29]), "+f"(c[30]), "+f"(c[31]), "+f"(c[32]), "+f"(c[33]), "+f"(c[34]), "+f"(c[35]), "+f"(c[36]), "+f"(c[37]), "+f"(c[38]), "+f"(c[39]), "+f"(c[40]), "+f"(c[41]), "+f"(c[42]), "+f"(c[43]), "+f"(c[44]), "+f"(c[45]), "+f"(c[46]), "+f"(c[47]), "+f"(c[48]), "+f"(c[49]), "+f"(c[50]), "+f"(c[51]), "+f"(c[52]), "+f"(c[53]), "+f"(c[54]), "+f"(c[55]), "+f"(c[56]), "+f"(c[57]), "+f"(c[58]), "+f"(c[59]), "+f"(c[60]), "+f"(c[61]), "+f"(c[62]), "+f"(c[63]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)adds));
}
/* Begins the scores of a tile. */
__device__ __forceinline__ void weft_begin_scores(float (&s)[80], unsigned long long q, unsigned long long k) {
#pragma unroll
  for (int i = 0; i < 8; i++) weft_add_scores(s, q + ((i >> 2) * 8192 + (i & 3) * 32 >> 4), k + ((i >> 2) * 20480 + (i & 3) * 32 >> 4), i > 0);
  weft_products_group();
}
/* Begins to add the exponentials' product with a tile of V. */
__device__ __forceinline__ void weft_begin_values(float (&sums)[64], const unsigned int (&p)[10][4], unsigned long long v) {
#pragma unroll
  for (int i = 0; i < 10; i++) weft_add_values(sums, p[i], v + (i * 2048 >> 4), true);
  weft_products_group();
}
struct weft_rows {
  float most[2], total[2], factor[2];
};
__device__ __forceinline__ void weft_exponentials(float (&s)[80], weft_rows& rows, float scale) {
#pragma unroll
  for (int h = 0; h < 2; h++) {
    float largest = s[2 * h], other = s[2 * h + 1];
#pragma unroll
    for (int c = 1; c < 20; c++) {
      largest = fmaxf(largest, s[4 * c + 2 * h]);
      other = fmaxf(other, s[4 * c + 2 * h + 1]);
    }
    largest = fmaxf(largest, other);
    largest = fmaxf(largest, weft_across(largest, 1));
    largest = fmaxf(largest, weft_across(largest, 2));
    const float next = fmaxf(rows.most[h], largest * scale);
    // A row of which nothing is there yet: no difference of infinities.
    const float base = next == -weft_infinity() ? 0.0f : next;
    rows.factor[h] = weft_power_of_two(rows.most[h] - base);
    rows.most[h] = next;
    float even = 0.0f, odd = 0.0f;
#pragma unroll
    for (int c = 0; c < 20; c++) {
      float &a = s[4 * c + 2 * h], &b = s[4 * c + 2 * h + 1];
      a = weft_power_of_two(fmaf(a, scale, -base));
      b = weft_power_of_two(fmaf(b, scale, -base));
      even += a;
      odd += b;
    }
    rows.total[h] = rows.total[h] * rows.factor[h] + (even + odd);
  }
}
__device__ __forceinline__ void weft_round(unsigned int (&p)[10][4], const float (&s)[80]) {
#pragma unroll
  for (int i = 0; i < 40; i++) p[i >> 2][i & 3] = weft_pair(s[2 * i], s[2 * i + 1], weft_element());
}
extern "C" __global__ void __launch_bounds__(384, 1)
weft_attention(unsigned int first_x, const weft_element* __restrict__ q, const weft_element* __restrict__ k, const weft_element* __restrict__ v, weft_element* __restrict__ out,
    int m, int n, int batch_blocks, int repeats, int offset, float scale) {
  extern __shared__ weft_chunk shared[];
  const unsigned int queries = ((unsigned int)__cvta_generic_to_shared(shared) + 1023) & ~1023u;
  const unsigned int keys = queries + 32768, values = queries + 114688;
  const unsigned int keys_full = queries + 196608, values_full = keys_full + 16;
  const unsigned int keys_free = keys_full + 32, values_free = keys_full + 48;
  const unsigned int block = first_x + gridDim.x - 1 - blockIdx.x;
  const long long batch = block / batch_blocks, other = batch / repeats;
  const int first_row = (int)(block - (unsigned int)batch * batch_blocks) * 128;
  if (first_row >= m) return;
  q += batch * m * 128;
  k += other * n * 128;
  v += other * n * 128;
  out += batch * m * 128;
  const long long tiles_end = (long long)(first_row + 128 < m ? first_row + 128 : m) + offset;
  const int tiles = ((tiles_end < 0 ? 0 : tiles_end < n ? (int)tiles_end : n) + 159) / 160;
  const int group = __shfl_sync(0xffffffffu, (int)threadIdx.x >> 7, 0);
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < 2; stage++) {
      weft_barrier_begin(keys_full + stage * 8, 128);
      weft_barrier_begin(values_full + stage * 8, 128);
      weft_barrier_begin(keys_free + stage * 8, 8);
      weft_barrier_begin(values_free + stage * 8, 8);
    }
  }
  __syncthreads();
  if (group == 2) {
    weft_fewer_registers<40>();
    if (tiles == 0) return;
    // The barrier of the copies before, which are awaited while the next ones are on their way.
    unsigned int before = 0, stage = 0, phase = 1, stage_v = 0, phase_v = 1;
#pragma unroll 1
    for (int tile = 0; tile <= tiles; tile++) {
      if (tile < tiles) {
        weft_barrier_wait(keys_free + stage * 8, phase);
        weft_copy_k(keys + stage * 40960, k, tile * 160, n);
        weft_wait_groups<1>();
        if (tile > 0) weft_barrier_arrive(before);
        before = keys_full + stage * 8;
        if (++stage == 2) stage = 0, phase ^= 1;
      }
      if (tile > 0) {
        weft_barrier_wait(values_free + stage_v * 8, phase_v);
        weft_copy_v(values + stage_v * 40960, v, (tile - 1) * 160, n);
        weft_wait_groups<1>();
        weft_barrier_arrive(before);
        before = values_full + stage_v * 8;
        if (++stage_v == 2) stage_v = 0, phase_v ^= 1;
      }
    }
    weft_wait_groups<0>();
    weft_barrier_arrive(before);
    return;
  }
  weft_more_registers<232>();
  weft_copy_q(queries + group * 16384, q, first_row + group * 64, m);
  weft_wait_groups<0>();
  weft_group_wait(1 + group);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, t = lane & 3;
  const int own_row = first_row + warp * 16 + g;
  const int group_row = first_row + group * 64;
  const long long group_tiles_end = (long long)(group_row + 64 < m ? group_row + 64 : m) + offset;
  const int group_tiles = ((group_tiles_end < 0 ? 0 : group_tiles_end < n ? (int)group_tiles_end : n) + 159) / 160;
  const long long all = group_row + 1 + (long long)offset;
  const int own = group_row < m ? group_tiles : 0, whole = (int)(all < 0 ? 0 : all < n ? all : n) / 160;
  const unsigned long long matrix_q = weft_matrix(queries + group * 16384, 16);
  float s[80], sums[64] = {};
  unsigned int p[10][4];
  weft_rows rows = {{-weft_infinity(), -weft_infinity()}, {}, {}};
  // Of the next tile of K and the next of V: its place in the ring, and the parity of the phase that brings it.
  unsigned int stage = 0, phase = 0, stage_v = 0, phase_v = 0;
  if (own > 0) {
    const int first_column = 0;
    weft_barrier_wait(keys_full, 0);
    weft_products_begin();
    weft_begin_scores(s, matrix_q, weft_matrix(keys, 16));
    weft_products_wait<0>();
    weft_keep(s);
    if (lane == 0) weft_barrier_arrive(keys_free);
    if (first_column + 160 > n || first_column + 159 > first_row + offset) {
#pragma unroll
      for (int i = 0; i < 80; i++) {
            const int row = own_row + (i >> 1 & 1) * 8, column = first_column + (i >> 2) * 8 + t * 2 + (i & 1);
            s[i] = column >= n || column > row + (long long)offset ? -weft_infinity() : s[i];
          }
    }
    weft_exponentials(s, rows, scale);
    weft_round(p, s);
    if (++stage == 2) stage = 0, phase ^= 1;
    int tile = 1;
#pragma unroll 1
    for (; tile < whole; tile++) {
      const int first_column = tile * 160;
      weft_barrier_wait(keys_full + stage * 8, phase);
      weft_keep(s);
      weft_keep(sums);
      weft_products_begin();
      weft_begin_scores(s, matrix_q, weft_matrix(keys + stage * 40960, 16));
      weft_barrier_wait(values_full + stage_v * 8, phase_v);
      weft_begin_values(sums, p, weft_matrix(values + stage_v * 40960, 20480));
      weft_products_wait<1>();
      weft_keep(s);
      if (lane == 0) weft_barrier_arrive(keys_free + stage * 8);
      weft_exponentials(s, rows, scale);
      weft_keep(s);
      // Has ended: the loop keeps the wait for products behind exponentials.
      weft_barrier_wait(values_full + stage_v * 8, phase_v);
      weft_products_wait<0>();
      weft_keep(sums);
      if (lane == 0) weft_barrier_arrive(values_free + stage_v * 8);
      if (__any_sync(0xffffffffu, rows.factor[0] != 1.0f || rows.factor[1] != 1.0f)) {
#pragma unroll
        for (int i = 0; i < 64; i++) sums[i] *= rows.factor[i >> 1 & 1];
      }
      weft_keep(sums);
      weft_round(p, s);
      if (++stage == 2) stage = 0, phase ^= 1;
      if (++stage_v == 2) stage_v = 0, phase_v ^= 1;
    }
#pragma unroll 1
    for (; tile < own; tile++) {
      const int first_column = tile * 160;
      weft_barrier_wait(keys_full + stage * 8, phase);
      weft_keep(s);
      weft_keep(sums);
      weft_products_begin();
      weft_begin_scores(s, matrix_q, weft_matrix(keys + stage * 40960, 16));
      weft_barrier_wait(values_full + stage_v * 8, phase_v);
      weft_begin_values(sums, p, weft_matrix(values + stage_v * 40960, 20480));
      weft_products_wait<1>();
      weft_keep(s);
      if (lane == 0) weft_barrier_arrive(keys_free + stage * 8);
    if (first_column + 160 > n || first_column + 159 > first_row + offset) {
#pragma unroll
      for (int i = 0; i < 80; i++) {
            const int row = own_row + (i >> 1 & 1) * 8, column = first_column + (i >> 2) * 8 + t * 2 + (i & 1);
            s[i] = column >= n || column > row + (long long)offset ? -weft_infinity() : s[i];
          }
    }
      weft_exponentials(s, rows, scale);
      weft_keep(s);
      // Has ended: the loop keeps the wait for products behind exponentials.
      weft_barrier_wait(values_full + stage_v * 8, phase_v);
      weft_products_wait<0>();
      weft_keep(sums);
      if (lane == 0) weft_barrier_arrive(values_free + stage_v * 8);
      if (__any_sync(0xffffffffu, rows.factor[0] != 1.0f || rows.factor[1] != 1.0f)) {
#pragma unroll
        for (int i = 0; i < 64; i++) sums[i] *= rows.factor[i >> 1 & 1];
      }
      weft_keep(sums);
      weft_round(p, s);
      if (++stage == 2) stage = 0, phase ^= 1;
      if (++stage_v == 2) stage_v = 0, phase_v ^= 1;
    }
    weft_barrier_wait(values_full + stage_v * 8, phase_v);
    weft_keep(sums);
    weft_products_begin();
    weft_begin_values(sums, p, weft_matrix(values + stage_v * 40960, 20480));
    weft_products_wait<0>();
    weft_keep(sums);
    if (lane == 0) weft_barrier_arrive(values_free + stage_v * 8);
    if (++stage_v == 2) stage_v = 0, phase_v ^= 1;
  }
#pragma unroll
  for (int h = 0; h < 2; h++) {
    float sum = rows.total[h];
    sum += weft_across(sum, 1);
    sum += weft_across(sum, 2);
    const float inverse = 1.0f / sum;
    const int row = own_row + h * 8;
    if (row >= m) continue;
#pragma unroll
    for (int c = 0; c < 16; c++)
      *(unsigned int*)(out + (long long)row * 128 + c * 8 + t * 2) = weft_pair(sums[4 * c + 2 * h] * inverse, sums[4 * c + 2 * h + 1] * inverse, weft_element());
  }
#pragma unroll 1
  for (int tile = own; tile < tiles; tile++) {
    weft_barrier_wait(keys_full + stage * 8, phase);
    weft_barrier_wait(values_full + stage_v * 8, phase_v);
    __syncwarp();
    if (lane == 0) {
      weft_barrier_arrive(keys_free + stage * 8);
      weft_barrier_arrive(values_free + stage_v * 8);
    }
    if (++stage == 2) stage = 0, phase ^= 1;
    if (++stage_v == 2) stage_v = 0, phase_v ^= 1;
  }
}
