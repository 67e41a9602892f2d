__device__ __forceinline__ float weft_infinity() { return __int_as_float(0x7f800000); }

struct __align__(16) weft_chunk {
  unsigned int v[4];
};

#if __CUDA_ARCH__ >= 800
/* Copies a chunk to shared memory, or zeros; it is there once a wait is over. */
__device__ __forceinline__ void weft_copy_chunk(weft_chunk* to, const void* from, bool is_there) {
  const unsigned int at = (unsigned int)__cvta_generic_to_shared(to), bytes = is_there ? 16u : 0u;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" : : "r"(at), "l"(from), "r"(bytes) : "memory");
}
/* Waits for all copies of this thread. */
__device__ __forceinline__ void weft_wait_copies() {
  asm volatile("cp.async.wait_all;" : : : "memory");
}
#else
__device__ __forceinline__ void weft_copy_chunk(weft_chunk* to, const void* from, bool is_there) {
  if (is_there)
    *to = *(const weft_chunk*)from;
  else
    *to = weft_chunk{};
}
__device__ __forceinline__ void weft_wait_copies() {}
#endif

#if __CUDA_ARCH__ >= 800
/* Copies a number to shared memory, or zero; it is there once a wait is over. */
__device__ __forceinline__ void weft_copy_number(float* to, const float* from, bool is_there) {
  const unsigned int at = (unsigned int)__cvta_generic_to_shared(to), bytes = is_there ? 4u : 0u;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" : : "r"(at), "l"(from), "r"(bytes) : "memory");
}
#else
__device__ __forceinline__ void weft_copy_number(float* to, const float* from, bool is_there) {
  *to = is_there ? *from : 0.0f;
}
#endif

/* The value of a lane. */
__device__ __forceinline__ float weft_of_lane(float a, int lane) {
  return __int_as_float((int)__shfl_sync(0xffffffffu, (unsigned int)__float_as_int(a), lane));
}

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

struct __align__(16) weft_four {
  float v[4];
};
struct __align__(16) weft_some {
  float v[4];
};
__device__ __forceinline__ void weft_copy_q(float* to, const float* __restrict__ from, int first, int first_number, int count) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int row = warp % 4 * 8 + (lane & 7), column = warp / 4 * 4 + (lane >> 3);
  const float* const place = from + (long long)(first + column) * 128 + first_number + row;
  to += row * 128 + column;
  if (first + 128 <= count) {
#pragma unroll 
    for (int i = 0; i < 128; i += 4) {
      const bool is_there = true;
      weft_copy_number(to + i, place + i * 128, is_there);
    }
  } else {
#pragma unroll 1
    for (int i = 0; i < 128; i += 4) {
      const bool is_there = first + column + i < count && true;
      weft_copy_number(to + i, is_there ? place + i * 128 : from, is_there);
    }
  }
}
__device__ __forceinline__ void weft_copy_k(float* to, const float* __restrict__ from, int first, int first_number, int count) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int row = warp % 4 * 8 + (lane & 7), column = warp / 4 * 4 + (lane >> 3);
  const float* const place = from + (long long)(first + column) * 128 + first_number + row;
  to += row * 68 + column;
  if (first + 64 <= count) {
#pragma unroll 
    for (int i = 0; i < 64; i += 4) {
      const bool is_there = true;
      weft_copy_number(to + i, place + i * 128, is_there);
    }
  } else {
#pragma unroll 1
    for (int i = 0; i < 64; i += 4) {
      const bool is_there = first + column + i < count && true;
      weft_copy_number(to + i, is_there ? place + i * 128 : from, is_there);
    }
  }
}
__device__ __forceinline__ void weft_copy_v(float* to, const float* __restrict__ from, int first, int count) {
  if (first + 16 <= count) {
    const int row = threadIdx.x / 32, column = threadIdx.x % 32 * 4;
    const float* const place = from + (long long)(first + row) * 128 + column;
#pragma unroll
    for (int i = 0; i < 16; i += 4) weft_copy_chunk((weft_chunk*)to + i * 32 + (int)threadIdx.x, place + i * 128, true);
  } else {
#pragma unroll 1
    for (int k = threadIdx.x; k < 512; k += 128) {
      const int row = k / 32, column = k % 32 * 4;
      const bool is_there = first + row < count && column < 128;
      weft_copy_chunk((weft_chunk*)to + k, from + (is_there ? (long long)(first + row) * 128 + column : 0), is_there);
    }
  }
}
__device__ __forceinline__ float weft_largest(float (&a)[8], int lane) {
  {
    const bool is_upper = (lane & 8) != 0;
#pragma unroll
    for (int r = 0; r < 4; r++) {
      const float mine = is_upper ? a[r + 4] : a[r], other = is_upper ? a[r] : a[r + 4];
      a[r] = fmaxf(mine, weft_across(other, 8));
    }
  }
  {
    const bool is_upper = (lane & 4) != 0;
#pragma unroll
    for (int r = 0; r < 2; r++) {
      const float mine = is_upper ? a[r + 2] : a[r], other = is_upper ? a[r] : a[r + 2];
      a[r] = fmaxf(mine, weft_across(other, 4));
    }
  }
  {
    const bool is_upper = (lane & 2) != 0;
#pragma unroll
    for (int r = 0; r < 1; r++) {
      const float mine = is_upper ? a[r + 1] : a[r], other = is_upper ? a[r] : a[r + 1];
      a[r] = fmaxf(mine, weft_across(other, 2));
    }
  }
  return a[0];
}
__device__ __forceinline__ float weft_sum(float (&a)[8], int lane) {
  {
    const bool is_upper = (lane & 8) != 0;
#pragma unroll
    for (int r = 0; r < 4; r++) {
      const float mine = is_upper ? a[r + 4] : a[r], other = is_upper ? a[r] : a[r + 4];
      a[r] = mine + weft_across(other, 8);
    }
  }
  {
    const bool is_upper = (lane & 4) != 0;
#pragma unroll
    for (int r = 0; r < 2; r++) {
      const float mine = is_upper ? a[r + 2] : a[r], other = is_upper ? a[r] : a[r + 2];
      a[r] = mine + weft_across(other, 4);
    }
  }
  {
    const bool is_upper = (lane & 2) != 0;
#pragma unroll
    for (int r = 0; r < 1; r++) {
      const float mine = is_upper ? a[r + 1] : a[r], other = is_upper ? a[r] : a[r + 1];
      a[r] = mine + weft_across(other, 2);
    }
  }
  return a[0];
}
extern "C" __global__ void __launch_bounds__(128, 2)
weft_attention(unsigned int first_x, const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ v, float* __restrict__ out,
    int m, int n, int batch_blocks, int repeats, int offset, float scale) {
  extern __shared__ weft_chunk shared[];
  float* const shared_q = (float*)shared;
  float* const shared_p = shared_q + 16384;
  float* const slices = shared_p + 8192;
  const unsigned int block = first_x + blockIdx.x;
  const long long batch = block / batch_blocks, other = batch / repeats;
  const int first_row = (int)(block - (unsigned int)batch * batch_blocks) * 128;
  if (first_row >= m) return;
  q += batch * m * 128;
  k += other * n * 128;
  v += other * n * 128;
  out += batch * m * 128;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int x = lane >> 1 & 7, y = (lane & 1) | lane >> 4 << 1;
  const int own_row = first_row + warp * 32 + y * 4;
  float sums[8][16] = {};
  // Of the row that this thread has of those of its place.
  float most = -weft_infinity(), total = 0.0f;
  const int tiles = (n + 63) / 64;
#pragma unroll 1
  for (int part = 0; part < 4; part++)
    weft_copy_q(shared_q + part * 4096, q, first_row, part * 32, m);
  weft_copy_k(slices, k, 0, 0, n);
  int slice = 0;
#pragma unroll 1
  for (int tile = 0; tile < tiles; tile++) {
    const int first_column = tile * 64;
    {
      float s[8][8] = {};
#pragma unroll 1
      for (int part = 0; part < 4; part++) {
        weft_wait_copies();
        __syncthreads();
        const float* const slice_k = slices + slice * 2176 + x * 4;
        const float* const slice_q = shared_q + part * 4096 + warp * 32 + y * 4;
        slice ^= 1;
        if (part + 1 < 4) weft_copy_k(slices + slice * 2176, k, first_column, (part + 1) * 32, n);
        else weft_copy_v(slices + slice * 2176, v, first_column, n);
#pragma unroll 16
      for (int step = 0; step < 32; step++) {
        weft_four a[2];
        weft_four b[2];
#pragma unroll
        for (int r = 0; r < 2; r++) a[r] = *(const weft_four*)(slice_q + step * 128 + r * 16);
#pragma unroll
        for (int c = 0; c < 2; c++) b[c] = *(const weft_four*)(slice_k + step * 68 + c * 32);
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
          for (int j = 0; j < 8; j++) {
            const int c = i, r = i & 1 ? 7 - j : j;
            s[r][c] = fmaf(a[r / 4].v[r % 4], b[c / 4].v[c % 4], s[r][c]);
          }
      }
      }
    if (first_column + 64 > n) {
#pragma unroll
      for (int r = 0; r < 8; r++)
#pragma unroll
        for (int c = 0; c < 8; c++) {
            const int row = own_row + r / 4 * 16 + r % 4, column = first_column + c / 4 * 32 + x * 4 + c % 4;
            s[r][c] = column >= n ? -weft_infinity() : s[r][c];
          }
    }
      float each[8];
#pragma unroll
      for (int r = 0; r < 8; r++) {
        each[r] = s[r][0];
#pragma unroll
        for (int c = 1; c < 8; c++) each[r] = fmaxf(each[r], s[r][c]);
      }
      const float next = fmaxf(most, weft_largest(each, lane) * scale);
      // A row of which nothing is there yet: no difference of infinities.
      const float base = next == -weft_infinity() ? 0.0f : next;
      const float factor = weft_power_of_two(most - base);
      most = next;
#pragma unroll
      for (int r = 0; r < 8; r++) {
        const float row_base = weft_of_lane(base, (lane & 17) | r * 2);
        each[r] = 0.0f;
#pragma unroll
        for (int c = 0; c < 8; c++) {
          s[r][c] = weft_power_of_two(fmaf(s[r][c], scale, -row_base));
          each[r] += s[r][c];
        }
      }
      total = total * factor + weft_sum(each, lane);
#pragma unroll
      for (int c = 0; c < 8; c++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
          weft_four powers;
#pragma unroll
          for (int e = 0; e < 4; e++) powers.v[e] = s[i * 4 + e][c];
          *(weft_four*)(shared_p + (c / 4 * 32 + x * 4 + c % 4) * 128 + ((warp * 8 + i * 4 + y) ^ (x & 3) << 1) * 4) = powers;
        }
      if (__ballot_sync(0xffffffffu, factor != 1.0f) != 0) {
#pragma unroll
        for (int r = 0; r < 8; r++) {
          const float row_factor = weft_of_lane(factor, (lane & 17) | r * 2);
#pragma unroll
          for (int c = 0; c < 16; c++) sums[r][c] *= row_factor;
        }
      }
    }
#pragma unroll 1
    for (int part = 0; part < 4; part++) {
      weft_wait_copies();
      // Exponentials are those of the warp itself.
      __syncthreads();
      const float* const slice_v = slices + slice * 2176 + x * 4;
      const float* const slice_p = shared_p + part * 2048;
      slice ^= 1;
      if (part + 1 < 4) weft_copy_v(slices + slice * 2176, v, first_column + (part + 1) * 16, n);
      else if (tile + 1 < tiles) weft_copy_k(slices + slice * 2176, k, first_column + 64, 0, n);
#pragma unroll 8
      for (int step = 0; step < 16; step++) {
        weft_four a[2];
        weft_four b[4];
#pragma unroll
        for (int r = 0; r < 2; r++) a[r] = *(const weft_four*)(slice_p + step * 128 + ((warp * 8 + r * 4 + y) ^ (step / 4 & 3) << 1) * 4);
#pragma unroll
        for (int c = 0; c < 4; c++) b[c] = *(const weft_four*)(slice_v + step * 128 + c * 32);
#pragma unroll
        for (int i = 0; i < 16; i++)
#pragma unroll
          for (int j = 0; j < 8; j++) {
            const int c = i < 8 ? 2 * i : 2 * (15 - i) + 1, r = i & 1 ? 7 - j : j;
            sums[r][c] = fmaf(a[r / 4].v[r % 4], b[c / 4].v[c % 4], sums[r][c]);
          }
      }
    }
  }
  weft_wait_copies();
#pragma unroll
  for (int r = 0; r < 8; r++) {
    const float inverse = 1.0f / weft_of_lane(total, (lane & 17) | r * 2);
    const int row = own_row + r / 4 * 16 + r % 4;
    if (row >= m) continue;
#pragma unroll
    for (int c = 0; c < 4; c++) {
      const int column = (c * 8 + x) * 4;
      weft_some result;
#pragma unroll
      for (int e = 0; e < 4; e++) result.v[e] = sums[r][c * 4 + e] * inverse;
      if (column < 128) *(weft_some*)(out + (long long)row * 128 + column) = result;
    }
  }
}
