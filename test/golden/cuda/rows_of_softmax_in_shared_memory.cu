// rows: mapping rows, threadsP 1, threadsR 64, width 4, chunks 2, sharedChunks 5, held true
// rows_of_softmax_in_shared_memory_rows: grid 5 × 1 × 1, block 64, arguments block.x 0x00000005 0x00000004 b0 0x000006a4 b1

/* Consecutive elements that move as one. */
template <class T, int N>
struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) weft_pack {
  T v[N];
};

/* NaN if either is NaN; -0 is less than 0. */
template <class T>
__device__ __forceinline__ T weft_maximum(T a, T b) {
  return a > b ? a : b;
}
__device__ __forceinline__ double weft_maximum(double a, double b) {
  const long long both = __double_as_longlong(a) & __double_as_longlong(b);
  return a > b || a != a ? a : a == b ? __longlong_as_double(both) : b;
}
__device__ __forceinline__ float weft_maximum(float a, float b) {
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}

/* The value that lane (lane ^ mask) holds. */
template <class T>
__device__ __forceinline__ T weft_exchange(T a, int mask) {
  union {
    T value;
    unsigned int words[(sizeof(T) + 3) / 4];
  } mine, other;
  mine.words[(sizeof(T) + 3) / 4 - 1] = 0;
  mine.value = a;
#pragma unroll
  for (int k = 0; k < (int)((sizeof(T) + 3) / 4); ++k) other.words[k] = __shfl_xor_sync(0xffffffffu, mine.words[k], mask);
  return other.value;
}

extern "C" __global__ void __launch_bounds__(64)
rows_of_softmax_in_shared_memory_rows(unsigned int first_x, int n0, int n1, const float* __restrict__ b0, int n2, float* __restrict__ b1) {
  extern __shared__ weft_pack<unsigned int, 4> weft_row[];
  const int tr = (int)threadIdx.x;
  const int tp = 0;
  const int p = (int)(blockIdx.x + first_x) * 1 + tp;
  const bool in = p < n0;
  const int row = in ? p : n1;
  float a1[4];
  #pragma unroll
  for (int e = 0; e < 4; ++e) {
    a1[e] = -__int_as_float(0x7f800000);
  }
  weft_pack<float, 4> l0[2];
  #pragma unroll
  for (int k = 0; k < 2; ++k) {
    const int r = (k * 64 + tr) * 4;
    l0[k] = *reinterpret_cast<const weft_pack<float, 4>*>(b0 + (row * n2 + r));
  }
  {
    weft_pack<float, 4> l0[4];
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int r = ((2 + k) * 64 + tr) * 4;
      l0[k] = *reinterpret_cast<const weft_pack<float, 4>*>(b0 + (row * n2 + r));
    }
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int r = ((2 + k) * 64 + tr) * 4;
      reinterpret_cast<weft_pack<float, 4>*>(weft_row + 0)[(0 + k) * 64 + (int)threadIdx.x] = l0[k];
    }
  }
  {
    weft_pack<float, 4> l0[1];
    {
      const int r = ((6 + 0) * 64 + tr) * 4;
      if (r < n2) {
        l0[0] = *reinterpret_cast<const weft_pack<float, 4>*>(b0 + (row * n2 + r));
      }
    }
    {
      const int r = ((6 + 0) * 64 + tr) * 4;
      if (r < n2) {
        reinterpret_cast<weft_pack<float, 4>*>(weft_row + 0)[(4 + 0) * 64 + (int)threadIdx.x] = l0[0];
      }
    }
  }
  #pragma unroll
  for (int k = 0; k < 2; ++k) {
    const int r = (k * 64 + tr) * 4;
    #pragma unroll
    for (int e = 0; e < 4; ++e) {
      a1[e] = weft_maximum(a1[e], l0[k].v[e]);
    }
  }
  #pragma unroll 2
  for (int k = 0; k < 4; ++k) {
    const int r = ((2 + k) * 64 + tr) * 4;
    const weft_pack<float, 4> l0 = reinterpret_cast<weft_pack<float, 4>*>(weft_row + 0)[(k) * 64 + (int)threadIdx.x];
    #pragma unroll
    for (int e = 0; e < 4; ++e) {
      a1[e] = weft_maximum(a1[e], l0.v[e]);
    }
  }
  {
    const int r = ((2 + 4) * 64 + tr) * 4;
    if (r < n2) {
      const weft_pack<float, 4> l0 = reinterpret_cast<weft_pack<float, 4>*>(weft_row + 0)[(4) * 64 + (int)threadIdx.x];
      #pragma unroll
      for (int e = 0; e < 4; ++e) {
        a1[e] = weft_maximum(a1[e], l0.v[e]);
      }
    }
  }
  #pragma unroll
  for (int e = 1; e < 4; ++e) {
    a1[0] = weft_maximum(a1[0], a1[e]);
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 16; lane >= 1; lane >>= 1) {
      a1[q] = weft_maximum(a1[q], weft_exchange(a1[q], lane));
    }
  }
  __shared__ float s_a1[2];
  if (tr % 32 == 0) {
    #pragma unroll
    for (int q = 0; q < 1; ++q) {
      s_a1[(q * 2 + tr / 32) * 1 + tp] = a1[q];
    }
  }
  __syncthreads();
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    a1[q] = s_a1[(q * 2 + (int)threadIdx.x % 2) * 1 + tp];
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 1; lane >= 1; lane >>= 1) {
      a1[q] = weft_maximum(a1[q], weft_exchange(a1[q], lane));
    }
  }
  const float v1 = a1[0];
  float a4[4];
  #pragma unroll
  for (int e = 0; e < 4; ++e) {
    a4[e] = 0.0f;
  }
  weft_pack<float, 4> h3[2];
  #pragma unroll
  for (int k = 0; k < 2; ++k) {
    const int r = (k * 64 + tr) * 4;
    #pragma unroll
    for (int e = 0; e < 4; ++e) {
      const float v2 = (l0[k].v[e] - v1);
      const float v3 = expf(v2);
      h3[k].v[e] = v3;
      a4[e] = (a4[e] + v3);
    }
  }
  #pragma unroll 2
  for (int k = 0; k < 4; ++k) {
    const int r = ((2 + k) * 64 + tr) * 4;
    const weft_pack<float, 4> l0 = reinterpret_cast<weft_pack<float, 4>*>(weft_row + 0)[(k) * 64 + (int)threadIdx.x];
    weft_pack<float, 4> h3;
    #pragma unroll
    for (int e = 0; e < 4; ++e) {
      const float v2 = (l0.v[e] - v1);
      const float v3 = expf(v2);
      h3.v[e] = v3;
      a4[e] = (a4[e] + v3);
    }
    reinterpret_cast<weft_pack<float, 4>*>(weft_row + 0)[(k) * 64 + (int)threadIdx.x] = h3;
  }
  {
    const int r = ((2 + 4) * 64 + tr) * 4;
    if (r < n2) {
      const weft_pack<float, 4> l0 = reinterpret_cast<weft_pack<float, 4>*>(weft_row + 0)[(4) * 64 + (int)threadIdx.x];
      weft_pack<float, 4> h3;
      #pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float v2 = (l0.v[e] - v1);
        const float v3 = expf(v2);
        h3.v[e] = v3;
        a4[e] = (a4[e] + v3);
      }
      reinterpret_cast<weft_pack<float, 4>*>(weft_row + 0)[(4) * 64 + (int)threadIdx.x] = h3;
    }
  }
  #pragma unroll
  for (int e = 1; e < 4; ++e) {
    a4[0] = (a4[0] + a4[e]);
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 16; lane >= 1; lane >>= 1) {
      a4[q] = (a4[q] + weft_exchange(a4[q], lane));
    }
  }
  __shared__ float s_a4[2];
  if (tr % 32 == 0) {
    #pragma unroll
    for (int q = 0; q < 1; ++q) {
      s_a4[(q * 2 + tr / 32) * 1 + tp] = a4[q];
    }
  }
  __syncthreads();
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    a4[q] = s_a4[(q * 2 + (int)threadIdx.x % 2) * 1 + tp];
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 1; lane >= 1; lane >>= 1) {
      a4[q] = (a4[q] + weft_exchange(a4[q], lane));
    }
  }
  const float v4 = a4[0];
  #pragma unroll
  for (int k = 0; k < 2; ++k) {
    const int r = (k * 64 + tr) * 4;
    weft_pack<float, 4> o0;
    #pragma unroll
    for (int e = 0; e < 4; ++e) {
      const float v5 = (h3[k].v[e] / v4);
      o0.v[e] = v5;
    }
    if (in) {
      *reinterpret_cast<weft_pack<float, 4>*>(b1 + (row * n2 + r)) = o0;
    }
  }
  #pragma unroll 2
  for (int k = 0; k < 4; ++k) {
    const int r = ((2 + k) * 64 + tr) * 4;
    const weft_pack<float, 4> h3 = reinterpret_cast<weft_pack<float, 4>*>(weft_row + 0)[(k) * 64 + (int)threadIdx.x];
    weft_pack<float, 4> o0;
    #pragma unroll
    for (int e = 0; e < 4; ++e) {
      const float v5 = (h3.v[e] / v4);
      o0.v[e] = v5;
    }
    if (in) {
      *reinterpret_cast<weft_pack<float, 4>*>(b1 + (row * n2 + r)) = o0;
    }
  }
  {
    const int r = ((2 + 4) * 64 + tr) * 4;
    if (r < n2) {
      const weft_pack<float, 4> h3 = reinterpret_cast<weft_pack<float, 4>*>(weft_row + 0)[(4) * 64 + (int)threadIdx.x];
      weft_pack<float, 4> o0;
      #pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float v5 = (h3.v[e] / v4);
        o0.v[e] = v5;
      }
      if (in) {
        *reinterpret_cast<weft_pack<float, 4>*>(b1 + (row * n2 + r)) = o0;
      }
    }
  }
  if (tr % 32 == 0) {
  }
  __syncthreads();
}
