// Conditional nodes under compute-sanitizer, without Weft: a while node of a CUDA graph whose body is
// a reduction of one block with a barrier, and a kernel that decides. `while` repeats one loop, `many` makes
// a graph for each of sixty loops of other sizes, `plain` launches the same reduction by itself.
//
//     nvcc -std=c++17 -arch=sm_90 -rdc=true -lcudadevrt -o nodes test/devices/conditional-nodes.cu
//     compute-sanitizer --tool synccheck ./nodes while
#include <cuda_runtime.h>

#include <climits>
#include <cstdio>
#include <string>

#define CHECK(call)                                               \
  do {                                                            \
    const cudaError_t status = call;                              \
    if (status != cudaSuccess) {                                  \
      std::printf("%s: %s\n", #call, cudaGetErrorString(status)); \
      return 1;                                                   \
    }                                                             \
  } while (0)

__global__ void __launch_bounds__(256) addAndCompare(int* x, int n, int limit, unsigned char* goesOn) {
  __shared__ int ofWarp[8];
  int most = INT_MIN;
  for (int i = threadIdx.x; i < n; i += 256) most = max(most, ++x[i]);
  for (int lane = 16; lane >= 1; lane >>= 1) most = max(most, __shfl_xor_sync(0xffffffffu, most, lane));
  if (threadIdx.x % 32 == 0) ofWarp[threadIdx.x / 32] = most;
  __syncthreads();
  most = ofWarp[threadIdx.x % 8];
  for (int lane = 4; lane >= 1; lane >>= 1) most = max(most, __shfl_xor_sync(0xffffffffu, most, lane));
  if (threadIdx.x == 0) *goesOn = most < limit;
}

__global__ void decide(cudaGraphConditionalHandle handle, const unsigned char* goesOn) {
  cudaGraphSetConditional(handle, *goesOn);
}

static unsigned below(unsigned n) {
  static unsigned state = 17;
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % n;
}

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "while";
  const bool many = mode == "many";
  int n = 2000, limit = 50, wrong = 0;
  int* x;
  unsigned char* goesOn;
  cudaStream_t stream;
  CHECK(cudaMalloc(&x, n * sizeof(int)));
  CHECK(cudaMalloc(&goesOn, 1));
  CHECK(cudaStreamCreate(&stream));
  const int graphs = many ? 60 : 1, launches = many ? 1 : 20;
  for (int k = 0; k < graphs; k++) {
    if (many) {
      n = 1 + below(3000);
      limit = 1 + below(k % 4 == 0 ? 600 : 20);
      void* held;  // never freed, so that later loops are elsewhere
      CHECK(cudaFree(x));
      CHECK(cudaMalloc(&x, n * sizeof(int)));
      CHECK(cudaMalloc(&held, 4 + below(80'000)));
    }
    cudaGraphExec_t loop = nullptr;
    if (mode != "plain") {
      cudaGraph_t graph;
      cudaGraphConditionalHandle handle;
      CHECK(cudaGraphCreate(&graph, 0));
      CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
      cudaGraphNodeParams node = {};
      node.type = cudaGraphNodeTypeConditional;
      node.conditional.handle = handle;
      node.conditional.type = cudaGraphCondTypeWhile;
      node.conditional.size = 1;
      cudaGraphNode_t whileNode, step, decision;
      CHECK(cudaGraphAddNode(&whileNode, graph, nullptr, nullptr, 0, &node));
      const cudaGraph_t body = node.conditional.phGraph_out[0];
      void* stepArguments[] = {&x, &n, &limit, &goesOn};
      cudaKernelNodeParams kernel = {};
      kernel.func = reinterpret_cast<void*>(addAndCompare);
      kernel.gridDim = dim3(1);
      kernel.blockDim = dim3(256);
      kernel.kernelParams = stepArguments;
      CHECK(cudaGraphAddKernelNode(&step, body, nullptr, 0, &kernel));
      void* decisionArguments[] = {&handle, &goesOn};
      kernel.func = reinterpret_cast<void*>(decide);
      kernel.blockDim = dim3(1);
      kernel.kernelParams = decisionArguments;
      CHECK(cudaGraphAddKernelNode(&decision, body, &step, 1, &kernel));
      CHECK(cudaGraphInstantiate(&loop, graph, 0));
    }
    for (int launch = 0; launch < launches; launch++) {
      CHECK(cudaMemsetAsync(x, 0, n * sizeof(int), stream));
      if (loop != nullptr) {
        CHECK(cudaGraphLaunch(loop, stream));
      } else {
        for (int step = 0; step < limit; step++) addAndCompare<<<1, 256, 0, stream>>>(x, n, limit, goesOn);
      }
      int last;
      CHECK(cudaMemcpyAsync(&last, x + n - 1, sizeof last, cudaMemcpyDeviceToHost, stream));
      CHECK(cudaStreamSynchronize(stream));
      wrong += last != limit;
    }
  }
  std::printf("%s: %d loops, %d wrong\n", mode.c_str(), graphs * launches, wrong);
  return wrong > 0;
}
