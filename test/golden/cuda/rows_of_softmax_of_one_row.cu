// split
// rows_of_softmax_of_one_row_0_reduce_partial: grid 1 × 5 × 1, block 256, arguments block.x 0x00000001 block.y 0x00001000 0x00004e21 b0 0x00004e20 scratch2
// rows_of_softmax_of_one_row_0_reduce_combine: grid 1 × 1 × 1, block 256, arguments block.x 0x00000001 0x00000005 scratch2 scratch0
// rows_of_softmax_of_one_row_1_reduce_partial: grid 1 × 5 × 1, block 256, arguments block.x 0x00000001 scratch0 block.y 0x00001000 0x00004e21 b0 0x00004e20 scratch3
// rows_of_softmax_of_one_row_1_reduce_combine: grid 1 × 1 × 1, block 256, arguments block.x 0x00000001 0x00000005 scratch3 scratch1
// rows_of_softmax_of_one_row_2_map: grid 40 × 1 × 1, block 128, arguments block.x 0x00004e20 b0 scratch0 scratch1 b1 0x00000027 0x00004e21
// scratch 0: 4 bytes
// scratch 1: 4 bytes
// scratch 2: 20 bytes
// scratch 3: 20 bytes

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

extern "C" __global__ void __launch_bounds__(256)
rows_of_softmax_of_one_row_0_reduce_partial(unsigned int first_x, int n0, unsigned int first_y, int n1, int n2, const float* __restrict__ b0, int n3, float* __restrict__ p0) {
  const int tr = (int)threadIdx.x;
  const int tp = 0;
  bool in[1];
  #pragma unroll
  for (int g = 0; g < 1; ++g) {
    const int p = (int)(blockIdx.x + first_x) * 1 + (g * 1 + tp);
    in[g] = p < n0;
  }
  float a1[4];
  #pragma unroll
  for (int q = 0; q < 4; ++q) {
    a1[q] = -__int_as_float(0x7f800000);
  }
  const int begin = (int)(blockIdx.y + first_y) * n1;
  const int end = (begin + n1 < n2 ? begin + n1 : n2);
  int r = begin + (int)tr * 4;
  for (; r + 3076 <= end; r += 4096) {
    weft_pack<float, 4> l0[4];
    #pragma unroll
    for (int u = 0; u < 4; ++u) {
      const int s = r + u * 1024;
      l0[u] = *reinterpret_cast<const weft_pack<float, 4>*>(b0 + (s));
    }
    #pragma unroll
    for (int u = 0; u < 4; ++u) {
      const int s = r + u * 1024;
      #pragma unroll
      for (int e = 0; e < 4; ++e) {
        #pragma unroll
        for (int g = 0; g < 1; ++g) {
          a1[g * 4 + e] = weft_maximum(a1[g * 4 + e], l0[u].v[e]);
        }
      }
    }
  }
  if (r < end) {
    weft_pack<float, 4> l0[4];
    #pragma unroll
    for (int u = 0; u < 4; ++u) {
      const int s = r + u * 1024;
      if (s + 4 <= end) {
        l0[u] = *reinterpret_cast<const weft_pack<float, 4>*>(b0 + (s));
      }
    }
    #pragma unroll
    for (int u = 0; u < 4; ++u) {
      const int s = r + u * 1024;
      if (s + 4 <= end) {
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          #pragma unroll
          for (int g = 0; g < 1; ++g) {
            a1[g * 4 + e] = weft_maximum(a1[g * 4 + e], l0[u].v[e]);
          }
        }
      }
    }
  }
  for (r = n3 + (int)tr; r < end; r += 256) {
    #pragma unroll
    for (int g = 0; g < 1; ++g) {
      const float v0 = b0[r];
      a1[g * 4] = weft_maximum(a1[g * 4], v0);
    }
  }
  #pragma unroll
  for (int g = 0; g < 1; ++g) {
    #pragma unroll
    for (int e = 1; e < 4; ++e) {
      a1[g * 4] = weft_maximum(a1[g * 4], a1[g * 4 + e]);
    }
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 16; lane >= 1; lane >>= 1) {
      a1[q] = weft_maximum(a1[q], weft_exchange(a1[q], lane));
    }
  }
  __shared__ float s_a1[8];
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
      a1[q] = weft_maximum(a1[q], weft_exchange(a1[q], lane));
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
rows_of_softmax_of_one_row_0_reduce_combine(unsigned int first_x, int n0, int n1, float* __restrict__ p0, float* __restrict__ b2) {
  const int tp = 0;
  const int tr = (int)threadIdx.x;
  const int p = (int)(blockIdx.x + first_x) * 1 + tp;
  const bool in = p < n0;
  float a1[1] = {-__int_as_float(0x7f800000)};
  #pragma unroll 4
  for (int s = tr; in && s < n1; s += 256) {
    a1[0] = weft_maximum(a1[0], p0[(int)s * n0 + p]);
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 16; lane >= 1; lane >>= 1) {
      a1[q] = weft_maximum(a1[q], weft_exchange(a1[q], lane));
    }
  }
  __shared__ float s_a1[8];
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
      a1[q] = weft_maximum(a1[q], s_a1[(q * 8 + w + 1) * 1 + tp]);
    }
  }
  if (tr == 0 && in) {
    b2[0] = a1[0];
  }
}

extern "C" __global__ void __launch_bounds__(256)
rows_of_softmax_of_one_row_1_reduce_partial(unsigned int first_x, int n0, const float* __restrict__ b2, unsigned int first_y, int n1, int n2, const float* __restrict__ b0, int n3, float* __restrict__ p0) {
  const int tr = (int)threadIdx.x;
  const int tp = 0;
  bool in[1];
  #pragma unroll
  for (int g = 0; g < 1; ++g) {
    const int p = (int)(blockIdx.x + first_x) * 1 + (g * 1 + tp);
    in[g] = p < n0;
  }
  float h1[1][1];
  #pragma unroll
  for (int g = 0; g < 1; ++g) {
    #pragma unroll
    for (int e = 0; e < 1; ++e) {
      const float v1 = b2[0];
      h1[g][e] = v1;
    }
  }
  float a4[4];
  #pragma unroll
  for (int q = 0; q < 4; ++q) {
    a4[q] = 0.0f;
  }
  const int begin = (int)(blockIdx.y + first_y) * n1;
  const int end = (begin + n1 < n2 ? begin + n1 : n2);
  int r = begin + (int)tr * 4;
  for (; r + 3076 <= end; r += 4096) {
    weft_pack<float, 4> l0[4];
    #pragma unroll
    for (int u = 0; u < 4; ++u) {
      const int s = r + u * 1024;
      l0[u] = *reinterpret_cast<const weft_pack<float, 4>*>(b0 + (s));
    }
    #pragma unroll
    for (int u = 0; u < 4; ++u) {
      const int s = r + u * 1024;
      #pragma unroll
      for (int e = 0; e < 4; ++e) {
        #pragma unroll
        for (int g = 0; g < 1; ++g) {
          const float v2 = (l0[u].v[e] - h1[g][0]);
          const float v3 = expf(v2);
          a4[g * 4 + e] = (a4[g * 4 + e] + v3);
        }
      }
    }
  }
  if (r < end) {
    weft_pack<float, 4> l0[4];
    #pragma unroll
    for (int u = 0; u < 4; ++u) {
      const int s = r + u * 1024;
      if (s + 4 <= end) {
        l0[u] = *reinterpret_cast<const weft_pack<float, 4>*>(b0 + (s));
      }
    }
    #pragma unroll
    for (int u = 0; u < 4; ++u) {
      const int s = r + u * 1024;
      if (s + 4 <= end) {
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          #pragma unroll
          for (int g = 0; g < 1; ++g) {
            const float v2 = (l0[u].v[e] - h1[g][0]);
            const float v3 = expf(v2);
            a4[g * 4 + e] = (a4[g * 4 + e] + v3);
          }
        }
      }
    }
  }
  for (r = n3 + (int)tr; r < end; r += 256) {
    #pragma unroll
    for (int g = 0; g < 1; ++g) {
      const float v0 = b0[r];
      const float v2 = (v0 - h1[g][0]);
      const float v3 = expf(v2);
      a4[g * 4] = (a4[g * 4] + v3);
    }
  }
  #pragma unroll
  for (int g = 0; g < 1; ++g) {
    #pragma unroll
    for (int e = 1; e < 4; ++e) {
      a4[g * 4] = (a4[g * 4] + a4[g * 4 + e]);
    }
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 16; lane >= 1; lane >>= 1) {
      a4[q] = (a4[q] + weft_exchange(a4[q], lane));
    }
  }
  __shared__ float s_a4[8];
  if (tr % 32 == 0) {
    #pragma unroll
    for (int q = 0; q < 1; ++q) {
      s_a4[(q * 8 + tr / 32) * 1 + tp] = a4[q];
    }
  }
  __syncthreads();
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    a4[q] = s_a4[(q * 8 + (int)threadIdx.x % 8) * 1 + tp];
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 4; lane >= 1; lane >>= 1) {
      a4[q] = (a4[q] + weft_exchange(a4[q], lane));
    }
  }
  if (tr == 0) {
    #pragma unroll
    for (int g = 0; g < 1; ++g) {
      if (in[g]) {
        #pragma unroll
        for (int e = 0; e < 1; ++e) {
          const int p = (int)(blockIdx.x + first_x) * 1 + (g * 1 + tp) * 1 + e;
          p0[(int)(blockIdx.y + first_y) * n0 + p] = a4[g * 1 + e];
        }
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(256)
rows_of_softmax_of_one_row_1_reduce_combine(unsigned int first_x, int n0, int n1, float* __restrict__ p0, float* __restrict__ b3) {
  const int tp = 0;
  const int tr = (int)threadIdx.x;
  const int p = (int)(blockIdx.x + first_x) * 1 + tp;
  const bool in = p < n0;
  float a4[1] = {0.0f};
  #pragma unroll 4
  for (int s = tr; in && s < n1; s += 256) {
    a4[0] = (a4[0] + p0[(int)s * n0 + p]);
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 16; lane >= 1; lane >>= 1) {
      a4[q] = (a4[q] + weft_exchange(a4[q], lane));
    }
  }
  __shared__ float s_a4[8];
  if ((int)threadIdx.x % 32 < 1) {
    #pragma unroll
    for (int q = 0; q < 1; ++q) {
      s_a4[(q * 8 + (int)threadIdx.x / 32) * 1 + tp] = a4[q];
    }
  }
  __syncthreads();
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    a4[q] = s_a4[q * 8 + tp];
    #pragma unroll
    for (int w = 0; w < 7; ++w) {
      a4[q] = (a4[q] + s_a4[(q * 8 + w + 1) * 1 + tp]);
    }
  }
  if (tr == 0 && in) {
    b3[0] = a4[0];
  }
}

extern "C" __global__ void __launch_bounds__(128)
rows_of_softmax_of_one_row_2_map(unsigned int first_x, int n0, const float* __restrict__ b0, const float* __restrict__ b2, const float* __restrict__ b3, float* __restrict__ b1, int n1, int n2) {
  const int first = (int)(blockIdx.x + first_x) * 512 + (int)threadIdx.x * 4;
  weft_pack<float, 4> l0;
  float l1;
  float l4;
  const int i = first;
  if (i < n0) {
    l0 = *reinterpret_cast<const weft_pack<float, 4>*>(b0 + (i));
    l1 = b2[0];
    l4 = b3[0];
    weft_pack<float, 4> o0;
    #pragma unroll
    for (int e = 0; e < 4; ++e) {
      const float v2 = (l0.v[e] - l1);
      const float v3 = expf(v2);
      const float v5 = (v3 / l4);
      o0.v[e] = v5;
    }
    *reinterpret_cast<weft_pack<float, 4>*>(b1 + (i)) = o0;
  }
  const int rest = n0 + (int)threadIdx.x;
  if ((int)(blockIdx.x + first_x) == n1 && rest < n2) {
    const float v0 = b0[rest];
    const float v1 = b2[0];
    const float v2 = (v0 - v1);
    const float v3 = expf(v2);
    const float v4 = b3[0];
    const float v5 = (v3 / v4);
    b1[rest] = v5;
  }
}
