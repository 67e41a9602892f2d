// table: width 4, threads 64, blocks 3, held [129], halves [0]
// table_of_500_float32_by_1_129_held_table: grid 3 × 1 × 1, block 64, arguments b1 0x00000020 0x00000080 0x00000081 block.x 0x00001388 b0 0x00000300 0x000001f4 b2 0x00000002 0x0000138b

/* Consecutive elements that move as one. */
template <class T, int N>
struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) weft_pack {
  T v[N];
};

/* 16 bytes that are read once, past the first-level cache. */
template <class P>
__device__ __forceinline__ P weft_load_once(const P* from) {
#if __CUDA_ARCH__ >= 800
  const int4 words = __ldcg(reinterpret_cast<const int4*>(from));
  return *reinterpret_cast<const P*>(&words);
#else
  return *from;
#endif
}

/* Has the divisor's sign; 0 for an integer divisor of 0. */
template <class T>
__device__ __forceinline__ T weft_remainder(T a, T b) {
  const bool plain = b != (T)0 && !((T)-1 < (T)0 && b == (T)-1);
  const T r = (T)(a % (plain ? b : (T)1));
  return !plain ? (T)0 : r != (T)0 && (r < (T)0) != (b < (T)0) ? (T)(r + b) : r;
}
__device__ __forceinline__ float weft_remainder(float a, float b) {
  const float r = fmodf(a, b);
  if (r == 0.0f) return copysignf(0.0f, b);
  return (b < 0.0f) != (r < 0.0f) ? r + b : r;
}
__device__ __forceinline__ double weft_remainder(double a, double b) {
  const double r = fmod(a, b);
  if (r == 0.0) return copysign(0.0, b);
  return (b < 0.0) != (r < 0.0) ? r + b : r;
}

extern "C" __global__ void __launch_bounds__(64)
table_of_500_float32_by_1_129_held_table(const float* __restrict__ b1, int n0, int n1, int n2, unsigned int first_x, int n3, const int* __restrict__ b0, int n4, int c1, float* __restrict__ b2, int n5, int n6) {
  extern __shared__ weft_pack<unsigned int, 4> weft_tables[];
  float* const t0 = reinterpret_cast<float*>(weft_tables);
  #pragma unroll 4
  for (int i = (int)threadIdx.x; i < n0; i += 64) {
    reinterpret_cast<weft_pack<float, 4>*>(t0)[i] = reinterpret_cast<const weft_pack<float, 4>*>(b1)[i];
  }
  #pragma unroll 4
  for (int i = n1 + (int)threadIdx.x; i < n2; i += 64) {
    t0[i] = (b1)[i];
  }
  __syncthreads();
  int first = (int)(blockIdx.x + first_x) * 256 + (int)threadIdx.x * 4;
  weft_pack<int, 4> l0[2];
  if (first < n3) {
    l0[0] = weft_load_once(reinterpret_cast<const weft_pack<int, 4>*>(b0 + (first)));
  }
  #pragma unroll 1
  while (first < n3) {
    const int next = first + n4;
    if (next < n3) {
      l0[1] = weft_load_once(reinterpret_cast<const weft_pack<int, 4>*>(b0 + (next)));
    }
    {
      weft_pack<float, 4> o0;
      #pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int v2 = weft_remainder(l0[0].v[e], c1);
        const long long v3 = (long long)v2;
        const float v4 = (v3 < n2 ? t0[(unsigned int)v3] : b1[0 + (int)v3]);
        o0.v[e] = v4;
      }
      *reinterpret_cast<weft_pack<float, 4>*>(b2 + (first)) = o0;
    }
    l0[0] = l0[1];
    first = next;
  }
  const int rest = n3 + (int)threadIdx.x;
  if ((int)(blockIdx.x + first_x) == n5 && rest < n6) {
    const int v0 = b0[rest];
    const int v2 = weft_remainder(v0, c1);
    const long long v3 = (long long)v2;
    const float v4 = (v3 < n2 ? t0[(unsigned int)v3] : b1[0 + (int)v3]);
    b2[rest] = v4;
  }
}
