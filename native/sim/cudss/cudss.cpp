// The simulated cuDSS: checks of arguments, phases and streams as the real one documents them, memory from
// the program's own functions, and factors of dense matrices in the handle's stream. Queries of results wait
// for it.
#include <dlfcn.h>

#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "core/enter-library.h"
#include "cusolver/matrix.h"

using namespace weft::sim;

namespace {

constexpr int kOk = 0, kNoHandle = 1, kAllocationFailed = 2, kInvalid = 3, kNotSupported = 4,
              kExecutionFailed = 5;
constexpr int kDeterministic = 24;
constexpr int kInfo = 0, kFactorElements = 1, kReplacedPivots = 2, kMemoryEstimates = 12;
constexpr int kAnalysis = 3, kFactorization = 4, kSolution = 1008;
constexpr int kGeneral = 0, kSymmetricPositive = 3, kHermitianPositive = 4;
constexpr int kWhole = 0, kLower = 1;
constexpr int kInt32 = 10, kInt64 = 24;

struct MemoryHandler {
  void* context;
  int (*allocate)(void* context, void** address, size_t byteLength, Stream* stream);
  int (*free)(void* context, void* address, size_t byteLength, Stream* stream);
  char name[64];
};
struct Handle {
  Context* context = nullptr;
  Stream* stream = nullptr;
  MemoryHandler memory{};
};
struct Config {
  bool isDeterministic = false;
};

// Results of queued work.
struct Factors {
  Dense lu{0, 0};
  std::vector<int64_t> pivots;
  int info = 0, replaced = 0;
};
struct Taken {
  void* address;
  size_t byteLength;
};
struct Data {
  Context* context = nullptr;
  Handle* handle = nullptr;
  // The phases that have been asked for.
  bool isAnalysed = false, isFactored = false;
  int64_t n = 0, stored = 0;
  std::shared_ptr<Factors> factors;
  std::vector<Taken> blocks;
  // Right sides that there is memory for.
  int64_t sides = 0;
};
struct Matrix {
  bool isSparse = false;
  int64_t rows = 0, columns = 0, stored = 0;
  const void *starts = nullptr, *indices = nullptr;
  Address values = 0;
  int startsType = 0, indicesType = 0, type = 0, kind = 0;
};

Handles<Handle>& handles() {
  static Handles<Handle>& it = *new Handles<Handle>();
  return it;
}
Handles<Data>& datas() {
  static Handles<Data>& it = *new Handles<Data>();
  return it;
}

// Configurations and descriptors of matrices belong to no device.
template <typename T>
std::set<T*>& live() {
  static std::set<T*>& it = *new std::set<T*>();
  return it;
}
template <typename T>
T* make(T value) {
  const std::lock_guard lock(Simulator::get().mutex);
  Simulator::get().libraryObjects["cudssDescriptors"]++;
  return *live<T>().insert(new T(value)).first;
}
template <typename T>
int destroy(T* object, const char* name) {
  const std::lock_guard lock(Simulator::get().mutex);
  if (live<T>().erase(object) == 0) return Simulator::get().misuse(std::string(name) + " twice"), kInvalid;
  Simulator::get().libraryObjects["cudssDescriptors"]--;
  return delete object, kOk;
}
template <typename T>
bool isLive(T* object) {
  return live<T>().count(object) > 0;
}

template <typename Body>
int enterSolver(const char* name, Handle* given, const Body& body) {
  const auto find = [&](Simulator& simulator) { return simulator.object(handles(), given, "cuDSS handle"); };
  return enterWithHandle(name, {kNoHandle, kExecutionFailed}, find, body);
}

// Faults of calls without a handle.
int fault(const char* name) {
  return enterInContext(name, kNoHandle, [](Simulator&, Context&) { return kOk; });
}

Address addressOf(const void* pointer) { return reinterpret_cast<Address>(pointer); }
size_t bytesOfIndex(int type) { return type == kInt64 ? 8 : 4; }
int64_t readIndex(const void* array, int type, int64_t k) {
  return type == kInt64 ? static_cast<const int64_t*>(array)[k] : static_cast<const int32_t*>(array)[k];
}

// Rows in which every column stands once, of a triangle the lower one alone.
bool readSparse(const Matrix& given, Dense& full) {
  const bool isTriangle = given.kind != kGeneral;
  for (int64_t i = 0; i < given.rows; i++) {
    const int64_t first = readIndex(given.starts, given.startsType, i),
                  last = readIndex(given.starts, given.startsType, i + 1);
    if (first < 0 || last < first || last > given.stored) return false;
    std::set<int64_t> seen;
    for (int64_t k = first; k < last; k++) {
      const int64_t j = readIndex(given.indices, given.indicesType, k);
      if (j < 0 || j >= given.columns || !seen.insert(j).second || (isTriangle && j > i)) return false;
      const Number value = readNumber(reinterpret_cast<void*>(given.values), given.type, k);
      full.at(i, j) = value;
      if (isTriangle) full.at(j, i) = std::conj(value);
    }
  }
  return true;
}

void factor(const Matrix& given, Dense full, Factors& out) {
  out = {};
  if (given.kind != kGeneral) {
    Dense triangle = full;
    out.info = factorCholesky(triangle, false);
  }
  factorLu(full, out.pivots);
  // Pivots that are too small become larger, as the real one has it.
  double largest = 0;
  for (const Number& each : full.elements) largest = std::max(largest, std::abs(each));
  for (int64_t k = 0; k < full.rows; k++) {
    if (std::abs(full.at(k, k)) > 1e-13 * largest) continue;
    full.at(k, k) = std::max(1e-13 * largest, 1e-300);
    out.replaced++;
  }
  out.lu = std::move(full);
}

// The arrays of a sparse matrix, which every phase reads.
bool readsMatrix(Simulator& simulator, Context& context, const Matrix& a, Accesses& accesses,
                 const std::string& what) {
  const auto stored = static_cast<size_t>(a.stored);
  return simulator.read(context, addressOf(a.starts),
                        static_cast<size_t>(a.rows + 1) * bytesOfIndex(a.startsType), accesses, what) &&
         simulator.read(context, addressOf(a.indices), stored * bytesOfIndex(a.indicesType), accesses,
                        what) &&
         simulator.read(context, a.values, stored * bytesOfType(a.type), accesses, what);
}

// Not under the simulator's lock: the program's functions call the driver.
bool allocate(Data& data, size_t byteLength) {
  void* address = nullptr;
  const MemoryHandler& memory = data.handle->memory;
  if (memory.allocate(memory.context, &address, byteLength, data.handle->stream) != 0) return false;
  data.blocks.push_back({address, byteLength});
  return true;
}

void queueFactors(Simulator& simulator, Handle& handle, Data& data, const Matrix& a) {
  const auto factors = data.factors;
  const Taken work = data.blocks.back();
  simulator.queue(
      *handle.context, *handle.stream,
      {[&simulator, a, factors, work](Context& context, Accesses& accesses, const std::string& what) -> int {
        if (!readsMatrix(simulator, context, a, accesses, what) ||
            !simulator.write(context, addressOf(work.address), work.byteLength, accesses, what))
          return kIllegalAddress;
        Dense full(a.rows, a.rows);
        if (!readSparse(a, full)) {
          simulator.misuse(what + " has rows that are not those of a matrix");
          return kSuccess;
        }
        factor(a, std::move(full), *factors);
        return kSuccess;
      }});
}

void queueSolve(Simulator& simulator, Handle& handle, Data& data, const Matrix& a, const Matrix& x,
                const Matrix& b) {
  const auto factors = data.factors;
  simulator.queue(
      *handle.context, *handle.stream,
      {[&simulator, a, x, b, factors](Context& context, Accesses& accesses, const std::string& what) -> int {
        const size_t bytes = static_cast<size_t>(b.rows * b.columns) * bytesOfType(b.type);
        if (!readsMatrix(simulator, context, a, accesses, what) ||
            !simulator.read(context, b.values, bytes, accesses, what) ||
            !simulator.write(context, x.values, bytes, accesses, what))
          return kIllegalAddress;
        Dense right = readMatrix(reinterpret_cast<void*>(b.values), b.type, b.rows, b.columns);
        solveLu(factors->lu, factors->pivots, 0, right);
        writeMatrix(reinterpret_cast<void*>(x.values), x.type, right);
        return kSuccess;
      }});
}

}  // namespace

#define WEFT_SIM_DSS extern "C" __attribute__((visibility("default"))) int

WEFT_SIM_DSS cudssGetProperty(int property, int* value) {
  if (property < 0 || property > 2) return kInvalid;
  return *value = property == 0 ? 1 : 0, kOk;
}

WEFT_SIM_DSS cudssCreate(Handle** out) {
  return enterInContext("cudssCreate", kNoHandle, [&](Simulator&, Context& context) {
    Handle* handle = handles().make();
    handle->context = &context;
    handle->stream = context.defaultStream.get();
    context.cudssHandles++;
    return *out = handle, kOk;
  });
}

WEFT_SIM_DSS cudssDestroy(Handle* given) {
  return enterSolver("cudssDestroy", given, [&](Simulator& simulator, Handle& handle) {
    for (const auto& [at, data] : datas().live())
      if (data->handle == &handle) simulator.misuse(simulator.callName + " before its data are destroyed");
    handle.context->cudssHandles--;
    return handles().destroy(&handle), kOk;
  });
}

WEFT_SIM_DSS cudssSetStream(Handle* given, Stream* streamHandle) {
  return enterSolver("cudssSetStream", given, [&](Simulator& simulator, Handle& handle) {
    Stream* stream = streamHandle == nullptr ? handle.context->defaultStream.get()
                                             : simulator.object(simulator.streams, streamHandle, "stream");
    if (stream == nullptr || stream->context != handle.context) return kInvalid;
    handle.stream = stream;
    return kOk;
  });
}

WEFT_SIM_DSS cudssSetDeviceMemHandler(Handle* given, const MemoryHandler* memory) {
  return enterSolver("cudssSetDeviceMemHandler", given, [&](Simulator&, Handle& handle) {
    if (memory == nullptr || memory->allocate == nullptr || memory->free == nullptr) return kInvalid;
    handle.memory = *memory;
    return kOk;
  });
}

WEFT_SIM_DSS cudssSetThreadingLayer(Handle* given, const char* file) {
  return enterSolver("cudssSetThreadingLayer", given, [&](Simulator&, Handle&) {
    void* layer = file == nullptr ? nullptr : dlopen(file, RTLD_NOW);
    return layer != nullptr && dlsym(layer, "cudssThreadingInterface") != nullptr ? kOk : kInvalid;
  });
}

WEFT_SIM_DSS cudssConfigCreate(Config** out) {
  if (const int status = fault("cudssConfigCreate")) return status;
  return *out = make(Config()), kOk;
}
WEFT_SIM_DSS cudssConfigDestroy(Config* config) { return destroy(config, "cudssConfigDestroy"); }

WEFT_SIM_DSS cudssConfigSet(Config* config, int parameter, const void* value, size_t byteLength) {
  return enterInContext("cudssConfigSet", kNoHandle, [&](Simulator&, Context&) {
    if (!isLive(config) || value == nullptr || byteLength != sizeof(int)) return kInvalid;
    const int number = *static_cast<const int*>(value);
    if (parameter != kDeterministic) return kInvalid;
    return config->isDeterministic = number != 0, kOk;
  });
}

WEFT_SIM_DSS cudssDataCreate(Handle* given, Data** out) {
  return enterSolver("cudssDataCreate", given, [&](Simulator&, Handle& handle) {
    Data* data = datas().make();
    data->context = handle.context;
    data->handle = &handle;
    data->factors = std::make_shared<Factors>();
    handle.context->cudssFactors++;
    return *out = data, kOk;
  });
}

WEFT_SIM_DSS cudssDataDestroy(Handle* given, Data* data) {
  std::vector<Taken> blocks;
  const int status = enterSolver("cudssDataDestroy", given, [&](Simulator& simulator, Handle& handle) {
    if (simulator.object(datas(), data, "cuDSS data") == nullptr || data->handle != &handle) return kInvalid;
    blocks = data->blocks;
    handle.context->cudssFactors--;
    return datas().destroy(data), kOk;
  });
  for (const Taken& block : blocks)
    if (given->memory.free(given->memory.context, block.address, block.byteLength, given->stream) != 0)
      return kExecutionFailed;
  return status;
}

WEFT_SIM_DSS cudssDataGet(Handle* given, Data* data, int parameter, void* value, size_t byteLength,
                          size_t* written) {
  return enterSolver("cudssDataGet", given, [&](Simulator& simulator, Handle& handle) {
    if (simulator.object(datas(), data, "cuDSS data") == nullptr || value == nullptr) return kInvalid;
    const auto give = [&](const auto& result) {
      if (byteLength != sizeof result) return kInvalid;
      *written = byteLength;
      return std::memcpy(value, &result, byteLength), kOk;
    };
    if (parameter == kMemoryEstimates) {
      if (!data->isAnalysed) return kInvalid;
      const auto bytes = static_cast<int64_t>(16 * data->n * data->n);
      const int64_t estimates[16] = {bytes, 2 * bytes};
      return give(estimates);
    }
    if (!data->isFactored) return kInvalid;
    if (handle.stream->capture != nullptr)
      simulator.misuse(simulator.callName + " while a stream is captured");
    if (handle.stream->last) simulator.scheduler.wait(handle.stream->last);
    if (handle.context->error != 0) return kExecutionFailed;
    if (parameter == kInfo) return give(data->factors->info);
    if (parameter == kReplacedPivots) return give(data->factors->replaced);
    return parameter == kFactorElements ? give(data->n * data->n) : kInvalid;
  });
}

WEFT_SIM_DSS cudssMatrixCreateCsr(Matrix** out, int64_t rows, int64_t columns, int64_t stored,
                                  const void* starts, const void* ends, const void* indices,
                                  const void* values, int startsType, int indicesType, int valuesType,
                                  int kind, int view, int base) {
  if (const int status = fault("cudssMatrixCreateCsr")) return status;
  const auto isIndex = [](int type) { return type == kInt32 || type == kInt64; };
  const bool isComplex = valuesType == kComplex32 || valuesType == kComplex64;
  if (rows < 1 || columns != rows || stored < 1 || starts == nullptr || ends != nullptr ||
      indices == nullptr || values == nullptr || !isIndex(startsType) || !isIndex(indicesType) ||
      !isLinearType(valuesType) || base != 0)
    return kInvalid;
  if (kind != kGeneral && kind != (isComplex ? kHermitianPositive : kSymmetricPositive)) return kNotSupported;
  if (view != (kind == kGeneral ? kWhole : kLower)) return kNotSupported;
  Matrix matrix;
  matrix.isSparse = true;
  matrix.rows = rows;
  matrix.columns = columns;
  matrix.stored = stored;
  matrix.starts = starts;
  matrix.indices = indices;
  matrix.values = addressOf(values);
  matrix.startsType = startsType;
  matrix.indicesType = indicesType;
  matrix.type = valuesType;
  matrix.kind = kind;
  return *out = make(matrix), kOk;
}

WEFT_SIM_DSS cudssMatrixCreateDn(Matrix** out, int64_t rows, int64_t columns, int64_t leading,
                                 const void* values, int type, int layout) {
  if (const int status = fault("cudssMatrixCreateDn")) return status;
  if (rows < 1 || columns < 1 || leading != rows || values == nullptr || !isLinearType(type) || layout != 0)
    return kInvalid;
  Matrix matrix;
  matrix.rows = rows;
  matrix.columns = columns;
  matrix.values = addressOf(values);
  matrix.type = type;
  return *out = make(matrix), kOk;
}

WEFT_SIM_DSS cudssMatrixSetValues(Matrix* matrix, const void* values) {
  return enterInContext("cudssMatrixSetValues", kNoHandle, [&](Simulator&, Context&) {
    if (!isLive(matrix) || values == nullptr) return kInvalid;
    matrix->values = addressOf(values);
    return kOk;
  });
}

WEFT_SIM_DSS cudssMatrixDestroy(Matrix* matrix) { return destroy(matrix, "cudssMatrixDestroy"); }

WEFT_SIM_DSS cudssExecute(Handle* given, int phase, Config* config, Data* data, Matrix* a, Matrix* x,
                          Matrix* b) {
  // Of the memory that the phase takes before it is queued.
  size_t needed = 0;
  const int status = enterSolver("cudssExecute", given, [&](Simulator& simulator, Handle& handle) {
    if (simulator.object(datas(), data, "cuDSS data") == nullptr || data->handle != &handle) return kInvalid;
    if (!isLive(config) || !isLive(a) || !isLive(x) || !isLive(b)) return kInvalid;
    if (!a->isSparse || x->isSparse || b->isSparse || x->rows != a->rows || b->rows != a->rows ||
        x->columns != b->columns || x->type != a->type || b->type != a->type)
      return kInvalid;
    // As the real one in its deterministic mode.
    if (b->columns > 1) return kNotSupported;
    // Factors whose bits differ from run to run, and memory that no budget counts.
    if (!config->isDeterministic) simulator.misuse(simulator.callName + " is not deterministic");
    if (handle.memory.allocate == nullptr) simulator.misuse(simulator.callName + " takes memory of its own");
    if (handle.stream->capture != nullptr)
      simulator.misuse(simulator.callName + " while a stream is captured");
    const auto square = static_cast<size_t>(a->rows * a->rows) * 16;
    if (phase == kAnalysis) {
      data->n = a->rows;
      data->stored = a->stored;
      needed = 1024;
    } else if (phase == kFactorization) {
      if (!data->isAnalysed || data->n != a->rows || data->stored != a->stored) return kInvalid;
      needed = data->isFactored ? 0 : square;
    } else if (phase == kSolution) {
      if (!data->isFactored) return kInvalid;
      if (b->columns > data->sides) needed = static_cast<size_t>(a->rows * b->columns) * bytesOfType(a->type);
    } else {
      return kNotSupported;
    }
    return kOk;
  });
  if (status != kOk) return status;
  if (needed > 0 && !allocate(*data, needed)) return kAllocationFailed;
  const std::lock_guard lock(Simulator::get().mutex);
  Simulator& simulator = Simulator::get();
  if (phase == kAnalysis) {
    data->isAnalysed = true;
  } else if (phase == kFactorization) {
    data->isFactored = true;
    queueFactors(simulator, *given, *data, *a);
  } else {
    data->sides = std::max(data->sides, b->columns);
    queueSolve(simulator, *given, *data, *a, *x, *b);
  }
  return kOk;
}
