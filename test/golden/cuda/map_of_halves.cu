// map: width 8, unroll 1, threads 128
// map_of_halves_map: grid 2 × 1 × 1, block 128, arguments block.x 0x000007d0 b0 b1 b2 b3 b4

/* Consecutive elements that move as one. */
template <class T, int N>
struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) weft_pack {
  T v[N];
};

struct __align__(2) weft_half {
  unsigned short bits;
};

struct __align__(2) weft_bfloat {
  unsigned short bits;
};

__device__ __forceinline__ float weft_to_float(weft_half a) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(a.bits));
  return r;
}

__device__ __forceinline__ float weft_to_float(weft_bfloat a) {
  return __int_as_float((int)((unsigned int)a.bits << 16));
}

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

extern "C" __global__ void __launch_bounds__(128)
map_of_halves_map(unsigned int first_x, int n0, const weft_half* __restrict__ b0, const weft_bfloat* __restrict__ b1, weft_half* __restrict__ b2, weft_bfloat* __restrict__ b3, unsigned char* __restrict__ b4) {
  const int first = (int)(blockIdx.x + first_x) * 1024 + (int)threadIdx.x * 8;
  weft_pack<weft_half, 8> l0;
  weft_pack<weft_bfloat, 8> l1;
  const int i = first;
  if (i < n0) {
    l0 = *reinterpret_cast<const weft_pack<weft_half, 8>*>(b0 + (i));
    l1 = *reinterpret_cast<const weft_pack<weft_bfloat, 8>*>(b1 + (i));
    weft_pack<weft_half, 8> o0;
    weft_pack<weft_bfloat, 8> o1;
    weft_pack<unsigned char, 8> o2;
    #pragma unroll
    for (int e = 0; e < 8; ++e) {
      const float v2 = weft_to_float(l0.v[e]);
      const float v3 = weft_to_float(l1.v[e]);
      const float v4 = (v2 + v3);
      const weft_half v5 = weft_to_half(v4);
      const weft_bfloat v6 = weft_to_bfloat(v4);
      const float v7 = weft_to_float(l0.v[e]);
      const float v8 = weft_to_float(l1.v[e]);
      const bool v9 = (v7 < v8);
      o0.v[e] = v5;
      o1.v[e] = v6;
      o2.v[e] = (unsigned char)v9;
    }
    *reinterpret_cast<weft_pack<weft_half, 8>*>(b2 + (i)) = o0;
    *reinterpret_cast<weft_pack<weft_bfloat, 8>*>(b3 + (i)) = o1;
    *reinterpret_cast<weft_pack<unsigned char, 8>*>(b4 + (i)) = o2;
  }
}
