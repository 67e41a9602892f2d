// mandelbrot_escape
/* An index below 2^31 (2^63) divided by a size, as a product with a precomputed multiplier. */
__device__ __forceinline__ unsigned int weft_divide(unsigned int n, unsigned int magic, unsigned int shift) {
  return (unsigned int)(((unsigned long long)n * magic) >> shift);
}
__device__ __forceinline__ unsigned long long weft_divide(unsigned long long n, unsigned long long magic, unsigned int shift) {
  return __umul64hi(n, magic) >> (shift - 64);
}

/* Consecutive elements that move as one. */
template <class T, int N>
struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) weft_pack {
  T v[N];
};

struct weft_loop_31f52d336142da43_states { float s0; float s1; int s2; };
__device__ __forceinline__ weft_loop_31f52d336142da43_states weft_loop_31f52d336142da43(float v0, float v1, int v2, int v3, float v4, float v5, float v6, float v7, int v8) {
  for (;;) {
    const bool v9 = (v2 < v3);
    const float v10 = (v0 * v0);
    const float v11 = (v1 * v1);
    const float v12 = (v10 + v11);
    const bool v13 = (v12 <= v4);
    const bool v14 = (v9 && v13);
    if (!v14) break;
    const float v15 = (v10 - v11);
    const float v16 = (v15 + v5);
    const float v17 = (v6 * v0);
    const float v18 = (v17 * v1);
    const float v19 = (v18 + v7);
    const int v20 = ((int)((unsigned int)v2 + (unsigned int)v8));
    const float n0 = v16;
    const float n1 = v19;
    const int n2 = v20;
    v0 = n0;
    v1 = n1;
    v2 = n2;
  }
  return {v0, v1, v2};
}

extern "C" __global__ void __launch_bounds__(128)
map_add_multiply_divide_subtract_repeat_map(unsigned int first_x, int n0, unsigned int n1, unsigned int n2, int n3, float c0, float c7, float c9, float c11, float c18, int c1, int c2, float c3, int c20, int* __restrict__ b0) {
  const int first = (int)(blockIdx.x + first_x) * 128 + (int)threadIdx.x * 1;
  const int i = first;
  if (i < n0) {
    const int x_q1 = (int)weft_divide((unsigned int)i, n1, n2);
    const int x1 = i - x_q1 * n3;
    weft_pack<int, 1> o0;
    const long long v4 = (long long)(unsigned int)(x1);
    const float v5 = (float)v4;
    const float v6 = (v5 + c0);
    const float v8 = (v6 * c7);
    const float v10 = (v8 / c9);
    const float v12 = (v10 - c11);
    const long long v13 = (long long)(unsigned int)(x_q1);
    const float v14 = (float)v13;
    const float v15 = (v14 + c0);
    const float v16 = (v15 * c7);
    const float v17 = (v16 / c9);
    const float v19 = (v17 - c18);
    const weft_loop_31f52d336142da43_states states21 = weft_loop_31f52d336142da43(c0, c0, c1, c2, c3, v12, c11, v19, c20);
    const int v21 = states21.s2;
    o0.v[0] = v21;
    b0[x_q1 * n3 + x1] = o0.v[0];
  }
}

// elementwise_kernel
/* Consecutive elements that move as one. */
template <class T, int N>
struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) weft_pack {
  T v[N];
};

extern "C" __global__ void __launch_bounds__(128)
map_subtract_multiply_greater_sqrt_where_map(unsigned int first_x, int n0, const float* __restrict__ b0, const float* __restrict__ b1, float c4, float* __restrict__ b2) {
  const int first = (int)(blockIdx.x + first_x) * 1024 + (int)threadIdx.x * 4;
  weft_pack<float, 4> l0[2];
  weft_pack<float, 4> l1[2];
  #pragma unroll
  for (int u = 0; u < 2; ++u) {
    const int i = first + u * 512;
    if (i < n0) {
      l0[u] = *reinterpret_cast<const weft_pack<float, 4>*>(b0 + (i));
      l1[u] = *reinterpret_cast<const weft_pack<float, 4>*>(b1 + (i));
    }
  }
  #pragma unroll
  for (int u = 0; u < 2; ++u) {
    const int i = first + u * 512;
    if (i < n0) {
      weft_pack<float, 4> o0;
      #pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float v2 = (l0[u].v[e] - l1[u].v[e]);
        const float v3 = (v2 * v2);
        const bool v5 = (v3 > c4);
        const float v6 = sqrtf(v3);
        const float v7 = (v5 ? v6 : v3);
        o0.v[e] = v7;
      }
      *reinterpret_cast<weft_pack<float, 4>*>(b2 + (i)) = o0;
    }
  }
}

// reduction_kernel
/* Consecutive elements that move as one. */
template <class T, int N>
struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) weft_pack {
  T v[N];
};

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

extern "C" __global__ void __launch_bounds__(256)
reduce_multiply_sum_sqrt_reduce(unsigned int first_x, int n0, int n1, int n2, const float* __restrict__ b0, float* __restrict__ b1) {
  const int tr = (int)threadIdx.x % 128;
  const int tp = (int)threadIdx.x / 128;
  bool in[1];
  int x0[1];
  #pragma unroll
  for (int g = 0; g < 1; ++g) {
    const int p = (int)(blockIdx.x + first_x) * 2 + (g * 2 + tp);
    in[g] = p < n0;
    const int q = in[g] ? p : n1;
    x0[g] = q;
  }
  float a2[4];
  #pragma unroll
  for (int q = 0; q < 4; ++q) {
    a2[q] = 0.0f;
  }
  const int begin = 0;
  const int end = n2;
  int r = begin + (int)tr * 4;
  for (; r + 1540 <= end; r += 2048) {
    weft_pack<float, 4> l0[4][1];
    #pragma unroll
    for (int u = 0; u < 4; ++u) {
      const int s = r + u * 512;
      #pragma unroll
      for (int g = 0; g < 1; ++g) {
        l0[u][g] = *reinterpret_cast<const weft_pack<float, 4>*>(b0 + (x0[g] * n2 + s));
      }
    }
    #pragma unroll
    for (int u = 0; u < 4; ++u) {
      const int s = r + u * 512;
      #pragma unroll
      for (int e = 0; e < 4; ++e) {
        #pragma unroll
        for (int g = 0; g < 1; ++g) {
          const float v1 = (l0[u][g].v[e] * l0[u][g].v[e]);
          a2[g * 4 + e] = (a2[g * 4 + e] + v1);
        }
      }
    }
  }
  #pragma unroll
  for (int g = 0; g < 1; ++g) {
    #pragma unroll
    for (int e = 1; e < 4; ++e) {
      a2[g * 4] = (a2[g * 4] + a2[g * 4 + e]);
    }
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 16; lane >= 1; lane >>= 1) {
      a2[q] = (a2[q] + weft_exchange(a2[q], lane));
    }
  }
  __shared__ float s_a2[8];
  if (tr % 32 == 0) {
    #pragma unroll
    for (int q = 0; q < 1; ++q) {
      s_a2[(q * 4 + tr / 32) * 2 + tp] = a2[q];
    }
  }
  __syncthreads();
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    a2[q] = s_a2[(q * 4 + (int)threadIdx.x % 4) * 2 + tp];
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 2; lane >= 1; lane >>= 1) {
      a2[q] = (a2[q] + weft_exchange(a2[q], lane));
    }
  }
  if (tr == 0) {
    #pragma unroll
    for (int g = 0; g < 1; ++g) {
      if (in[g]) {
        const float v3 = sqrtf(a2[g]);
        b1[x0[g]] = v3;
      }
    }
  }
}

// numba_vectorize
/* Consecutive elements that move as one. */
template <class T, int N>
struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) weft_pack {
  T v[N];
};

extern "C" __global__ void __launch_bounds__(128)
map_subtract_multiply_add_divide_map(unsigned int first_x, int n0, const float* __restrict__ b0, const float* __restrict__ b1, float c0, float* __restrict__ b2) {
  const int first = (int)(blockIdx.x + first_x) * 1024 + (int)threadIdx.x * 4;
  weft_pack<float, 4> l1[2];
  weft_pack<float, 4> l2[2];
  #pragma unroll
  for (int u = 0; u < 2; ++u) {
    const int i = first + u * 512;
    if (i < n0) {
      l1[u] = *reinterpret_cast<const weft_pack<float, 4>*>(b0 + (i));
      l2[u] = *reinterpret_cast<const weft_pack<float, 4>*>(b1 + (i));
    }
  }
  #pragma unroll
  for (int u = 0; u < 2; ++u) {
    const int i = first + u * 512;
    if (i < n0) {
      weft_pack<float, 4> o0;
      #pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float v3 = (l1[u].v[e] - l2[u].v[e]);
        const float v4 = (c0 * v3);
        const float v5 = (l1[u].v[e] + l2[u].v[e]);
        const float v6 = (v4 / v5);
        o0.v[e] = v6;
      }
      *reinterpret_cast<weft_pack<float, 4>*>(b2 + (i)) = o0;
    }
  }
}

// numba_reduce
/* Consecutive elements that move as one. */
template <class T, int N>
struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) weft_pack {
  T v[N];
};

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

extern "C" __global__ void __launch_bounds__(256)
reduce_sum_reduce_partial(unsigned int first_x, int n0, unsigned int first_y, int n1, int n2, const double* __restrict__ b0, double* __restrict__ p0) {
  const int tr = (int)threadIdx.x;
  const int tp = 0;
  bool in[1];
  #pragma unroll
  for (int g = 0; g < 1; ++g) {
    const int p = (int)(blockIdx.x + first_x) * 1 + (g * 1 + tp);
    in[g] = p < n0;
  }
  double a1[2];
  #pragma unroll
  for (int q = 0; q < 2; ++q) {
    a1[q] = 0.0;
  }
  const int begin = (int)(blockIdx.y + first_y) * n1;
  const int end = (begin + n1 < n2 ? begin + n1 : n2);
  int r = begin + (int)tr * 2;
  for (; r + 1538 <= end; r += 2048) {
    weft_pack<double, 2> l0[4];
    #pragma unroll
    for (int u = 0; u < 4; ++u) {
      const int s = r + u * 512;
      l0[u] = *reinterpret_cast<const weft_pack<double, 2>*>(b0 + (s));
    }
    #pragma unroll
    for (int u = 0; u < 4; ++u) {
      const int s = r + u * 512;
      #pragma unroll
      for (int e = 0; e < 2; ++e) {
        #pragma unroll
        for (int g = 0; g < 1; ++g) {
          a1[g * 2 + e] = (a1[g * 2 + e] + l0[u].v[e]);
        }
      }
    }
  }
  #pragma unroll
  for (int g = 0; g < 1; ++g) {
    #pragma unroll
    for (int e = 1; e < 2; ++e) {
      a1[g * 2] = (a1[g * 2] + a1[g * 2 + e]);
    }
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 16; lane >= 1; lane >>= 1) {
      a1[q] = (a1[q] + weft_exchange(a1[q], lane));
    }
  }
  __shared__ double s_a1[8];
  if (tr % 32 == 0) {
    #pragma unroll
    for (int q = 0; q < 1; ++q) {
      s_a1[(q * 8 + tr / 32) * 1 + tp] = a1[q];
    }
  }
  __syncthreads();
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    a1[q] = s_a1[(q * 8 + (int)threadIdx.x % 8) * 1 + tp];
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 4; lane >= 1; lane >>= 1) {
      a1[q] = (a1[q] + weft_exchange(a1[q], lane));
    }
  }
  if (tr == 0) {
    #pragma unroll
    for (int g = 0; g < 1; ++g) {
      if (in[g]) {
        #pragma unroll
        for (int e = 0; e < 1; ++e) {
          const int p = (int)(blockIdx.x + first_x) * 1 + (g * 1 + tp) * 1 + e;
          p0[(int)(blockIdx.y + first_y) * n0 + p] = a1[g * 1 + e];
        }
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(256)
reduce_sum_reduce_combine(unsigned int first_x, int n0, int n1, double* __restrict__ p0, double* __restrict__ b1) {
  const int tp = 0;
  const int tr = (int)threadIdx.x;
  const int p = (int)(blockIdx.x + first_x) * 1 + tp;
  const bool in = p < n0;
  double a1[1] = {0.0};
  #pragma unroll 4
  for (int s = tr; in && s < n1; s += 256) {
    a1[0] = (a1[0] + p0[(int)s * n0 + p]);
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 16; lane >= 1; lane >>= 1) {
      a1[q] = (a1[q] + weft_exchange(a1[q], lane));
    }
  }
  __shared__ double s_a1[8];
  if ((int)threadIdx.x % 32 < 1) {
    #pragma unroll
    for (int q = 0; q < 1; ++q) {
      s_a1[(q * 8 + (int)threadIdx.x / 32) * 1 + tp] = a1[q];
    }
  }
  __syncthreads();
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    a1[q] = s_a1[q * 8 + tp];
    #pragma unroll
    for (int w = 0; w < 7; ++w) {
      a1[q] = (a1[q] + s_a1[(q * 8 + w + 1) * 1 + tp]);
    }
  }
  if (tr == 0 && in) {
    b1[0] = a1[0];
  }
}

