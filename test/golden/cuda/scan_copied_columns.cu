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

__device__ __forceinline__ unsigned int weft_begin(unsigned int* count, unsigned int* begun) {
  if (threadIdx.x == 0) *begun = atomicAdd(count, 1u);
  __syncthreads();
  return *begun;
}
__device__ __forceinline__ weft_wide weft_over_levels(const weft_wide* parts, int column) {
  weft_wide sum = weft_identity();
  for (int k = 3; k >= 0; --k) sum = weft_combine(sum, parts[k * 64 + column]);
  return sum;
}
__device__ __forceinline__ weft_wide weft_look_back(weft_wide* parts, char* state, long long states, weft_wide whole, long long line, long long at, long long tiles, long long group, long long groups) {
  const int lane = (int)threadIdx.x % 64;
  const int level = (int)threadIdx.x / 64;
  const long long apart = groups * 64;
  unsigned long long* values = (unsigned long long*)(state + 256) + (line * states * groups + group) * 64 + lane * 1;
  if (level == 0) weft_write(values + at * apart, whole);
  weft_wide part = weft_identity();
  if (level == 0 || (tiles - 1) >> (5 * level) > 0) {
    long long first = 0, size = tiles;
    for (int k = 0; k < level; ++k) {
      first += size;
      size = (size + 31) / 32;
    }
    const long long own = at >> (5 * level);
    const int digit = (int)(own % 32);
    const int isLast = (at + 1) % (1ll << (5 * (level + 1))) == 0 ? 1 : 0;
    const unsigned long long* near = values + (first + own - digit) * apart;
    weft_wide last = part;
    for (int from_k = 0; from_k < digit + isLast; from_k += 8) {
      unsigned long long word[8][1];
      #pragma unroll
      for (int j = 0; j < 8; ++j)
        if (from_k + j < digit + isLast) {
          word[j][0] = weft_heard(near + (from_k + j) * apart + 0);
        }
      #pragma unroll
      for (int j = 0; j < 8; ++j) {
        const int k = from_k + j;
        if (k >= digit + isLast) break;
        while (word[j][0] == 0) {
          __nanosleep(20);
          word[j][0] = weft_heard(near + k * apart + 0);
        }
        const weft_wide theirs = weft_told(word[j][0]);
        last = weft_combine(last, theirs);
        if (k < digit) part = last;
      }
    }
    if (isLast != 0 && (tiles - 1) >> (5 * (level + 1)) > 0)
      weft_write(values + (first + size + (own >> 5)) * apart, last);
  }
  parts[level * 64 + lane] = part;
  __syncthreads();
  return weft_over_levels(parts, lane);
}
struct __align__(16) weft_shared {
  weft_element held[256][64];
  weft_wide sums[8][64];
  weft_wide parts[256];
  unsigned int begun;
};
struct __align__(8) weft_own {
  weft_element e[2];
};

extern "C" __global__ void __launch_bounds__(256, 3)
weft_scan(unsigned int first_x, const weft_element* in, weft_element* out, char* state, long long states, long long lines, long long tiles, long long n, long long inner, long long groups) {
  extern __shared__ weft_shared memory[];
  weft_shared& shared = memory[0];
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  const unsigned int block = weft_begin((unsigned int*)state, &shared.begun);
  const long long group = block % (unsigned int)groups;
  const long long row = block / (unsigned int)groups / (unsigned int)tiles;
  if (row >= lines) return;
  const long long at = block / (unsigned int)groups % (unsigned int)tiles;
  const int count = (int)(n - at * 256 < 256 ? n - at * 256 : 256);
  const long long left = inner - group * 64;
  const int columns = (int)(left < 64 ? left : 64);
  const long long base = (row * n + at * 256) * inner + group * 64;
  const bool is_aligned = ((unsigned long long)in | (unsigned long long)out) % 16 == 0;
  const int first = 32 * warp;
  if (is_aligned) {
    const int mine = first + lane / 16, column = 4 * (lane % 16);
    #pragma unroll
    for (int k = 0; k < 32; k += 2) {
      const bool is_there = mine + k < count && column < columns;
      const weft_element* from = is_there ? in + base + (mine + k) * inner + column : in;
      weft_copy_row_part((unsigned int)__cvta_generic_to_shared(&shared.held[mine + k][column]), from, is_there);
    }
    weft_end_group();
    weft_wait_groups<0>();
  } else {
    for (int i = first; i < first + 32; ++i)
      for (int c = lane; c < 64; c += 32)
        shared.held[i][c] = i < count && c < columns ? in[base + i * inner + c] : weft_round(weft_identity());
  }
  __syncwarp();
  weft_wide sum[2];
  #pragma unroll
  for (int e = 0; e < 2; ++e) sum[e] = weft_identity();
  #pragma unroll 8
  for (int i = first; i < first + 32; ++i) {
    const weft_own v = *(const weft_own*)&shared.held[i][2 * lane];
    #pragma unroll
    for (int e = 0; e < 2; ++e) sum[e] = weft_combine(sum[e], weft_widen(v.e[e]));
  }
  #pragma unroll
  for (int e = 0; e < 2; ++e) shared.sums[warp][2 * lane + e] = sum[e];
  __syncthreads();
  const int own = (int)threadIdx.x % 64;
  weft_wide whole = shared.sums[0][own];
  #pragma unroll
  for (int w = 1; w < 8; ++w) whole = weft_combine(whole, shared.sums[w][own]);
  weft_wide* parts = shared.parts;
  weft_look_back(parts, state, states, whole, row, at, tiles, group, groups);
  #pragma unroll
  for (int e = 0; e < 2; ++e) {
    const int column = 2 * lane + e;
    weft_wide ahead = weft_identity();
    #pragma unroll
    for (int w = 0; w < 7; ++w)
      if (w < warp) ahead = weft_combine(ahead, shared.sums[w][column]);
    sum[e] = weft_combine(weft_over_levels(parts, column), ahead);
  }
  weft_element* to = out + base + 2 * lane;
  if (is_aligned && count == 256 && columns == 64) {
    #pragma unroll 8
    for (int i = first; i < first + 32; ++i) {
      weft_own v = *(const weft_own*)&shared.held[i][2 * lane];
      #pragma unroll
      for (int e = 0; e < 2; ++e) v.e[e] = weft_round(sum[e] = weft_combine(sum[e], weft_widen(v.e[e])));
      *(weft_own*)(to + i * inner) = v;
    }
    return;
  }
  for (int i = first; i < first + 32 && i < count; ++i) {
    weft_own v = *(const weft_own*)&shared.held[i][2 * lane];
    #pragma unroll
    for (int e = 0; e < 2; ++e) v.e[e] = weft_round(sum[e] = weft_combine(sum[e], weft_widen(v.e[e])));
    for (int e = 0; e < 2 && 2 * lane + e < columns; ++e) to[i * inner + e] = v.e[e];
  }
}
