// A stand-in for the CUDA driver and cuBLAS, for tests of the runtime on machines without a GPU.
//
// Two devices whose memory is host memory. What is put into a stream is done as late as the rules allow, when
// something waits for it, so that a buffer that is reused or freed too early shows; pageable memory is read
// and written when the call says it is. Memory is poisoned, and an access outside what is allocated loses the
// context, as on a GPU. Kernels are the few below, found by name whatever the image says. WEFT_SIM_MEMORY is
// the bytes a device has.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#define WEFT_SIM_API extern "C" __attribute__((visibility("default"))) int

namespace {

using Address = uint64_t;
using Work = std::function<int()>;

constexpr int kSuccess = 0, kOutOfMemory = 2, kInvalidValue = 1, kInvalidContext = 201, kNotFound = 500,
              kNotReady = 600, kIllegalAddress = 700;
constexpr int kDevices = 2;
constexpr size_t kAlignment = 512;

struct Stream {
  std::deque<Work> queue;
  // Items ever queued and done.
  uint64_t queued = 0, done = 0;
};

struct Event {
  Stream* stream = nullptr;
  uint64_t position = 0;
};

struct Context {
  // The first failure; every later call returns it.
  int error = kSuccess;
  size_t used = 0;
  std::map<Address, size_t> blocks;
};

struct State {
  std::mutex mutex;
  Context contexts[kDevices];
  // Pinned host memory: start and size.
  std::map<uintptr_t, size_t> pinned;
};

State& state() {
  static State& it = *new State();
  return it;
}

size_t memoryLimit() {
  const char* text = std::getenv("WEFT_SIM_MEMORY");
  return text == nullptr ? size_t{1} << 30 : std::strtoull(text, nullptr, 10);
}

thread_local Context* current = nullptr;

std::unique_lock<std::mutex> enter() { return std::unique_lock(state().mutex); }

// Whether all bytes are in one block of the current context.
bool isAllocated(Address address, size_t bytes) {
  const auto after = current->blocks.upper_bound(address);
  if (after == current->blocks.begin()) return false;
  const auto& [start, size] = *std::prev(after);
  return address - start <= size && bytes <= size - (address - start);
}

bool isPinned(const void* host) {
  const auto address = reinterpret_cast<uintptr_t>(host);
  const auto after = state().pinned.upper_bound(address);
  if (after == state().pinned.begin()) return false;
  const auto& [start, size] = *std::prev(after);
  return address - start < size;
}

char* at(Address address) { return reinterpret_cast<char*>(address); }

int put(Stream* stream, Work work) {
  stream->queue.push_back(std::move(work));
  stream->queued++;
  return kSuccess;
}

// Does what is queued up to a position.
int advance(Stream* stream, uint64_t position) {
  while (stream->done < position && current->error == kSuccess) {
    const Work work = std::move(stream->queue.front());
    stream->queue.pop_front();
    stream->done++;
    current->error = work();
  }
  return current->error;
}

int copyIn(Address to, const void* from, size_t bytes) {
  if (!isAllocated(to, bytes)) return kIllegalAddress;
  std::memcpy(at(to), from, bytes);
  return kSuccess;
}

int copyOut(void* to, Address from, size_t bytes) {
  if (!isAllocated(from, bytes)) return kIllegalAddress;
  std::memcpy(to, at(from), bytes);
  return kSuccess;
}

template <typename T>
T read(const void* parameter) {
  T value;
  std::memcpy(&value, parameter, sizeof value);
  return value;
}

// scale(const float* x, float* y, float a, int n): y = a * x
int scale(Address x, Address y, float a, int n) {
  const size_t bytes = sizeof(float) * static_cast<size_t>(n);
  if (!isAllocated(x, bytes) || !isAllocated(y, bytes)) return kIllegalAddress;
  for (size_t i = 0; i < static_cast<size_t>(n); i++) {
    const float value = a * read<float>(at(x) + 4 * i);
    std::memcpy(at(y) + 4 * i, &value, sizeof value);
  }
  return kSuccess;
}

constexpr const char* kScale = "scale";
// Writes where nothing is.
constexpr const char* kFault = "fault";

}  // namespace

#define WEFT_SIM_ENTER                  \
  const auto lock = enter();            \
  if (!current) return kInvalidContext; \
  if (current->error) return current->error

WEFT_SIM_API cuInit(unsigned) { return kSuccess; }
WEFT_SIM_API cuDriverGetVersion(int* version) { return *version = 13000, kSuccess; }
WEFT_SIM_API cuGetErrorName(int status, const char** name) {
  *name = status == kOutOfMemory      ? "CUDA_ERROR_OUT_OF_MEMORY"
          : status == kIllegalAddress ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : status == kInvalidContext ? "CUDA_ERROR_INVALID_CONTEXT"
          : status == kNotFound       ? "CUDA_ERROR_NOT_FOUND"
                                      : "CUDA_ERROR_UNKNOWN";
  return kSuccess;
}
WEFT_SIM_API cuGetErrorString(int, const char** text) { return *text = "a simulated status", kSuccess; }
WEFT_SIM_API cuDeviceGetCount(int* count) { return *count = kDevices, kSuccess; }
WEFT_SIM_API cuDeviceGet(int* device, int ordinal) { return *device = ordinal, kSuccess; }
WEFT_SIM_API cuDeviceGetName(char* name, int length, int) {
  return std::strncpy(name, "Simulated GPU", static_cast<size_t>(length)), kSuccess;
}
WEFT_SIM_API cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = memoryLimit(), kSuccess; }
WEFT_SIM_API cuDeviceGetAttribute(int* value, int attribute, int) {
  constexpr int kMajor = 75, kMinor = 76, kPools = 115;
  *value = attribute == kMajor ? 9 : attribute == kMinor ? 0 : attribute == kPools ? 1 : 1024;
  return kSuccess;
}
WEFT_SIM_API cuDevicePrimaryCtxRetain(Context** context, int device) {
  return *context = &state().contexts[device], kSuccess;
}
WEFT_SIM_API cuDevicePrimaryCtxRelease_v2(int) { return kSuccess; }
WEFT_SIM_API cuCtxSetCurrent(Context* context) { return current = context, kSuccess; }
WEFT_SIM_API cuMemGetInfo_v2(size_t* free, size_t* total) {
  WEFT_SIM_ENTER;
  *total = memoryLimit();
  *free = *total - current->used;
  return kSuccess;
}

WEFT_SIM_API cuStreamCreate(Stream** stream, unsigned) { return *stream = new Stream(), kSuccess; }
WEFT_SIM_API cuStreamSynchronize(Stream* stream) {
  WEFT_SIM_ENTER;
  return advance(stream, stream->queued);
}
WEFT_SIM_API cuEventCreate(Event** event, unsigned) { return *event = new Event(), kSuccess; }
WEFT_SIM_API cuEventDestroy_v2(Event* event) { return delete event, kSuccess; }
WEFT_SIM_API cuEventRecord(Event* event, Stream* stream) {
  WEFT_SIM_ENTER;
  *event = {stream, stream->queued};
  return kSuccess;
}
WEFT_SIM_API cuEventQuery(Event* event) {
  WEFT_SIM_ENTER;
  return event->stream == nullptr || event->stream->done >= event->position ? kSuccess : kNotReady;
}
WEFT_SIM_API cuEventSynchronize(Event* event) {
  WEFT_SIM_ENTER;
  return event->stream == nullptr ? kSuccess : advance(event->stream, event->position);
}

WEFT_SIM_API cuModuleLoadData(void** module, const void*) { return *module = &state(), kSuccess; }
WEFT_SIM_API cuModuleUnload(void*) { return kSuccess; }
WEFT_SIM_API cuModuleGetFunction(const char** function, void*, const char* name) {
  WEFT_SIM_ENTER;
  for (const char* known : {kScale, kFault}) {
    if (std::strcmp(known, name) == 0) return *function = known, kSuccess;
  }
  return kNotFound;
}
WEFT_SIM_API cuFuncSetAttribute(const char*, int, int) { return kSuccess; }
WEFT_SIM_API cuLaunchKernel(const char* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                            unsigned, Stream* stream, void** parameters, void**) {
  WEFT_SIM_ENTER;
  if (function == kFault) return put(stream, [] { return kIllegalAddress; });
  return put(stream,
             [x = read<Address>(parameters[0]), y = read<Address>(parameters[1]),
              a = read<float>(parameters[2]), n = read<int>(parameters[3])] { return scale(x, y, a, n); });
}

WEFT_SIM_API cuMemPoolCreate(void** pool, const void*) { return *pool = &state(), kSuccess; }
WEFT_SIM_API cuMemPoolSetAttribute(void*, int, void*) { return kSuccess; }
WEFT_SIM_API cuMemPoolGetAttribute(void*, int, void* value) {
  WEFT_SIM_ENTER;
  const uint64_t used = current->used;
  return std::memcpy(value, &used, sizeof used), kSuccess;
}
WEFT_SIM_API cuMemPoolTrimTo(void*, size_t) {
  WEFT_SIM_ENTER;
  return kSuccess;
}
WEFT_SIM_API cuMemAllocFromPoolAsync(Address* address, size_t bytes, void*, Stream* stream) {
  WEFT_SIM_ENTER;
  // Memory freed earlier in the stream may be used again.
  if (const int status = advance(stream, stream->queued)) return status;
  if (bytes > memoryLimit() - current->used) return kOutOfMemory;
  void* memory = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  std::memset(memory, 0xff, bytes);
  *address = reinterpret_cast<Address>(memory);
  current->blocks[*address] = bytes;
  current->used += bytes;
  return kSuccess;
}
WEFT_SIM_API cuMemFreeAsync(Address address, Stream* stream) {
  WEFT_SIM_ENTER;
  return put(stream, [address] {
    const auto block = current->blocks.find(address);
    if (block == current->blocks.end()) return kInvalidValue;
    current->used -= block->second;
    current->blocks.erase(block);
    std::free(at(address));
    return kSuccess;
  });
}
WEFT_SIM_API cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
  WEFT_SIM_ENTER;
  *memory = std::malloc(bytes);
  state().pinned[reinterpret_cast<uintptr_t>(*memory)] = bytes;
  return kSuccess;
}
WEFT_SIM_API cuMemFreeHost(void* memory) {
  const auto lock = enter();
  state().pinned.erase(reinterpret_cast<uintptr_t>(memory));
  return std::free(memory), kSuccess;
}
WEFT_SIM_API cuPointerGetAttribute(void* value, int, Address address) {
  const auto lock = enter();
  constexpr unsigned kHost = 1;
  if (!isPinned(at(address))) return kInvalidValue;
  return std::memcpy(value, &kHost, sizeof kHost), kSuccess;
}

WEFT_SIM_API cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes, Stream* stream) {
  WEFT_SIM_ENTER;
  if (isPinned(from)) return put(stream, [=] { return copyIn(to, from, bytes); });
  // Pageable memory has been read when the call returns.
  return put(stream, [to, data = std::string(static_cast<const char*>(from), bytes)] {
    return copyIn(to, data.data(), data.size());
  });
}
WEFT_SIM_API cuMemcpyDtoHAsync_v2(void* to, Address from, size_t bytes, Stream* stream) {
  WEFT_SIM_ENTER;
  put(stream, [=] { return copyOut(to, from, bytes); });
  // Pageable memory has been written when the call returns.
  return isPinned(to) ? kSuccess : advance(stream, stream->queued);
}
WEFT_SIM_API cuMemsetD2D8Async(Address to, size_t pitch, unsigned char value, size_t width, size_t height,
                               Stream* stream) {
  WEFT_SIM_ENTER;
  return put(stream, [=] {
    for (size_t row = 0; row < height; row++) {
      if (!isAllocated(to + row * pitch, width)) return kIllegalAddress;
      std::memset(at(to + row * pitch), value, width);
    }
    return kSuccess;
  });
}
WEFT_SIM_API cuMemsetD8Async(Address to, unsigned char value, size_t bytes, Stream* stream) {
  return cuMemsetD2D8Async(to, bytes, value, bytes, 1, stream);
}

// cuBLAS: float32 only.

namespace {

struct Handle {
  Stream* stream = nullptr;
};

struct ColumnMajor {
  const void* data;
  bool transposed;
  int leading;
  long long stride;
};

float element(const ColumnMajor& matrix, int batch, int row, int column) {
  const int64_t i = matrix.transposed ? column : row;
  const int64_t j = matrix.transposed ? row : column;
  return read<float>(static_cast<const char*>(matrix.data) +
                     4 * (batch * matrix.stride + i + j * matrix.leading));
}

}  // namespace

WEFT_SIM_API cublasCreate_v2(Handle** handle) { return *handle = new Handle(), kSuccess; }
WEFT_SIM_API cublasDestroy_v2(Handle* handle) { return delete handle, kSuccess; }
WEFT_SIM_API cublasGetProperty(int property, int* value) { return *value = property == 0 ? 13 : 0, kSuccess; }
WEFT_SIM_API cublasSetStream_v2(Handle* handle, Stream* stream) { return handle->stream = stream, kSuccess; }
WEFT_SIM_API cublasSetWorkspace_v2(Handle*, void*, size_t) { return kSuccess; }
WEFT_SIM_API cublasSetMathMode(Handle*, int) { return kSuccess; }
WEFT_SIM_API cublasGemmStridedBatchedEx(Handle* handle, int transposeA, int transposeB, int m, int n, int k,
                                        const void* alpha, const void* a, int, int leadingA,
                                        long long strideA, const void* b, int, int leadingB,
                                        long long strideB, const void*, void* c, int, int leadingC,
                                        long long strideC, int batch, int, int) {
  WEFT_SIM_ENTER;
  constexpr int kInvalid = 7;  // CUBLAS_STATUS_INVALID_VALUE
  if (leadingA < std::max(1, transposeA ? k : m) || leadingB < std::max(1, transposeB ? n : k) ||
      leadingC < std::max(1, m)) {
    return kInvalid;
  }
  const ColumnMajor left{a, transposeA != 0, leadingA, strideA};
  const ColumnMajor right{b, transposeB != 0, leadingB, strideB};
  return put(handle->stream, [=, factor = read<float>(alpha)] {
    for (int64_t item = 0; item < batch; item++) {
      for (int j = 0; j < n; j++) {
        for (int i = 0; i < m; i++) {
          float sum = 0;
          for (int p = 0; p < k; p++) {
            sum += element(left, static_cast<int>(item), i, p) * element(right, static_cast<int>(item), p, j);
          }
          sum *= factor;
          std::memcpy(static_cast<char*>(c) + 4 * (item * strideC + i + static_cast<int64_t>(j) * leadingC),
                      &sum, sizeof sum);
        }
      }
    }
    return kSuccess;
  });
}
WEFT_SIM_API cublasGemmEx(Handle* handle, int transposeA, int transposeB, int m, int n, int k,
                          const void* alpha, const void* a, int typeA, int leadingA, const void* b, int typeB,
                          int leadingB, const void* beta, void* c, int typeC, int leadingC, int computeType,
                          int algorithm) {
  return cublasGemmStridedBatchedEx(handle, transposeA, transposeB, m, n, k, alpha, a, typeA, leadingA, 0, b,
                                    typeB, leadingB, 0, beta, c, typeC, leadingC, 0, 1, computeType,
                                    algorithm);
}
