// grid 15 × 1 × 1, block 256

/* Consecutive elements that move as one. */
template <class T, int N>
struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) weft_pack {
  T v[N];
};

extern "C" __global__ void __launch_bounds__(256, 2)
map_multiply_subtract_subtract_subtract_product_steps(unsigned int first_x, int n0, int n1, int n2, const float* __restrict__ b0, int n3, int n4, unsigned int steps, float c1, float c10, float* __restrict__ b1) {
  const int block = (int)(blockIdx.x + first_x);
  const int tile_y = block / n0;
  const int tile_x = block - tile_y * n0;
  const int lane = (int)threadIdx.x & 31;
  const int warp = (int)threadIdx.x >> 5;
  const int top = tile_y * 48 - 8;
  const int side = tile_x * 112 - 8;
  const int y0 = top + warp * 8;
  const int x0 = side + lane * 4;
  float s0[8][4];
  __shared__ weft_pack<float, 4> edge0[2][8][2][32];
  #pragma unroll
  for (int y = 0; y < 8; ++y) {
    weft_pack<float, 4> l = {};
    if ((unsigned int)(y0 + y) < (unsigned int)n2 && (unsigned int)x0 < (unsigned int)n1) l = *reinterpret_cast<const weft_pack<float, 4>*>(b0 + ((y0 + y) * n1 + x0));
    #pragma unroll
    for (int e = 0; e < 4; ++e) {
      s0[y][e] = l.v[e];
    }
  }
  if ((unsigned int)(n3 + top) < (unsigned int)n2 && (unsigned int)(n3 + (top + 63)) < (unsigned int)n2 && (unsigned int)(n4 + top) < (unsigned int)n2 && (unsigned int)(n4 + (top + 63)) < (unsigned int)n2 && (unsigned int)(n3 + side) < (unsigned int)n1 && (unsigned int)(n3 + (side + 127)) < (unsigned int)n1 && (unsigned int)(n4 + side) < (unsigned int)n1 && (unsigned int)(n4 + (side + 127)) < (unsigned int)n1) {
    #pragma unroll 1
    for (unsigned int step = 0; step < steps; ++step) {
      #pragma unroll
      for (int y = 0; y < 1; ++y) {
        weft_pack<float, 4> first, last;
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          first.v[e] = s0[y][e];
          last.v[e] = s0[7 + y][e];
        }
        edge0[step & 1][warp][y][lane] = first;
        edge0[step & 1][warp][1 + y][lane] = last;
      }
      __syncthreads();
      float v0[10][6];
      #pragma unroll
      for (int y = 0; y < 8; ++y) {
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          v0[1 + y][1 + e] = s0[y][e];
        }
      }
      #pragma unroll
      for (int y = 0; y < 1; ++y) {
        const weft_pack<float, 4> above = edge0[step & 1][warp > 0 ? warp - 1 : 0][1 + y][lane];
        const weft_pack<float, 4> below = edge0[step & 1][warp < 7 ? warp + 1 : warp][y][lane];
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          v0[y][1 + e] = above.v[e];
          v0[9 + y][1 + e] = below.v[e];
        }
      }
      #pragma unroll
      for (int y = 0; y < 8; ++y) {
        v0[1 + y][0] = __shfl_up_sync(0xffffffffu, v0[1 + y][4], 1);
        v0[1 + y][5] = __shfl_down_sync(0xffffffffu, v0[1 + y][1], 1);
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          const float v3 = fmaf(v0[1 + y][1 + e], c1, -v0[0 + y][1 + e]);
          const float v5 = (v3 - v0[2 + y][1 + e]);
          const float v7 = (v5 - v0[1 + y][0 + e]);
          const float v9 = (v7 - v0[1 + y][2 + e]);
          const float v11 = fmaf(-v9, c10, v0[1 + y][1 + e]);
          s0[y][e] = v11;
        }
      }
    }
  }
  else {
    #pragma unroll 1
    for (unsigned int step = 0; step < steps; ++step) {
      #pragma unroll
      for (int y = 0; y < 1; ++y) {
        weft_pack<float, 4> first, last;
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          first.v[e] = s0[y][e];
          last.v[e] = s0[7 + y][e];
        }
        edge0[step & 1][warp][y][lane] = first;
        edge0[step & 1][warp][1 + y][lane] = last;
      }
      __syncthreads();
      float v0[10][6];
      #pragma unroll
      for (int y = 0; y < 8; ++y) {
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          v0[1 + y][1 + e] = s0[y][e];
        }
      }
      #pragma unroll
      for (int y = 0; y < 1; ++y) {
        const weft_pack<float, 4> above = edge0[step & 1][warp > 0 ? warp - 1 : 0][1 + y][lane];
        const weft_pack<float, 4> below = edge0[step & 1][warp < 7 ? warp + 1 : warp][y][lane];
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          v0[y][1 + e] = above.v[e];
          v0[9 + y][1 + e] = below.v[e];
        }
      }
      #pragma unroll
      for (int y = 0; y < 8; ++y) {
        v0[1 + y][0] = __shfl_up_sync(0xffffffffu, v0[1 + y][4], 1);
        v0[1 + y][5] = __shfl_down_sync(0xffffffffu, v0[1 + y][1], 1);
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          const float v3 = fmaf(v0[1 + y][1 + e], c1, -((unsigned int)(n3 + (y0 + y)) < (unsigned int)n2 ? v0[0 + y][1 + e] : 0.0f));
          const float v5 = (v3 - ((unsigned int)(n4 + (y0 + y)) < (unsigned int)n2 ? v0[2 + y][1 + e] : 0.0f));
          const float v7 = (v5 - ((unsigned int)(n3 + (x0 + e)) < (unsigned int)n1 ? v0[1 + y][0 + e] : 0.0f));
          const float v9 = (v7 - ((unsigned int)(n4 + (x0 + e)) < (unsigned int)n1 ? v0[1 + y][2 + e] : 0.0f));
          const float v11 = fmaf(-v9, c10, v0[1 + y][1 + e]);
          s0[y][e] = v11;
        }
      }
    }
  }
  if (lane >= 2 && lane < 30) {
    #pragma unroll
    for (int y = 0; y < 8; ++y) {
      if (warp * 8 + y >= 8 && warp * 8 + y < 56 && y0 + y < n2) {
        if (x0 < n1) {
          weft_pack<float, 4> o;
          #pragma unroll
          for (int e = 0; e < 4; ++e) {
            o.v[e] = s0[y][e];
          }
          *reinterpret_cast<weft_pack<float, 4>*>(b1 + ((y0 + y) * n1 + x0)) = o;
        }
      }
    }
  }
}
