// The objects behind the driver's handles, and Handles, which knows the live ones from the destroyed.
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "core/config.h"
#include "core/launch.h"
#include "core/memory.h"
#include "core/races.h"

namespace weft::sim {

struct Context;
struct Graph;
struct Stream;

// A piece of queued work.
struct Operation {
  // "launch", "copy", "set", "product", "mark", "memory".
  std::string kind;
  // Its name in reports: "cuLaunchKernel #12 (rows_softmax)".
  std::string what;
  Stream* stream = nullptr;
  // Does it, and notes which memory it touched. A status other than success loses the context.
  std::function<int(Accesses&)> body;
  // Of other streams, done before this may run.
  std::vector<std::shared_ptr<Operation>> after;
  // The operations ordered before it, and itself.
  Clock clock;
  bool done = false;
  // When it was.
  std::chrono::steady_clock::time_point doneAt;
};

struct Stream {
  Context* context = nullptr;
  // Over all contexts; its place in clocks.
  size_t number = 0;
  // Ordered with the context's default stream.
  bool blocking = false;
  std::deque<std::shared_ptr<Operation>> queue;
  // Whether the first of it is under way on some thread.
  bool running = false;
  std::shared_ptr<Operation> last;
  Clock clock;
  uint64_t issued = 0;
  // Queued work becomes nodes of this graph instead; null: it captures nothing.
  Graph* capture = nullptr;
  std::thread::id capturing;
  // Whether something was asked for that cannot be captured.
  bool isInvalid = false;
};

struct Event {
  Context* context = nullptr;
  bool hasTime = true;
  // Whether a thread sleeps until it is done; else it would look all the time.
  bool wakes = false;
  std::shared_ptr<Operation> mark;
  // How often it was asked for and found not done.
  unsigned looks = 0;
};

struct Module {
  Context* context = nullptr;
  void* library = nullptr;
  // Behind the names that it looks up: core/image-part.h.
  std::string suffix;
  // Queued launches.
  size_t pending = 0;
};

struct Function {
  Module* module = nullptr;
  std::string name;
  KernelEntry entry = nullptr;
  // Byte length of each parameter.
  std::vector<unsigned> parameters;
  unsigned maxThreads = 0;
  char* staticShared = nullptr;
  size_t staticSharedBytes = 0;
  size_t maxDynamicShared = 48 * 1024;
};

// A launch with copies of its arguments, as long as the call that asked for it saw them.
struct Launch {
  Function* function = nullptr;
  LaunchSpec spec;
  std::vector<std::vector<char>> values;
};

// Memory to be set: rows of bytes.
struct MemorySet {
  Address to = 0;
  size_t pitch = 0;
  unsigned char value = 0;
  size_t width = 0, height = 0;
};

// A computation of a library; `what` is its name in reports.
struct LibraryWork {
  std::function<int(Context&, Accesses&, const std::string& what)> body;
};

struct GraphLoop;
struct GraphChild;
using GraphWork = std::variant<Launch, MemorySet, LibraryWork, GraphLoop, GraphChild>;

// Work of another graph, one after the other.
struct GraphChild {
  std::vector<GraphWork> works;
};

// Work, one after the other, that is done again and again while a value of the simulator's `conditions` is
// not 0.
struct GraphLoop {
  size_t condition = 0;
  // Of a graph's node; of one that can be launched, `works`.
  Graph* body = nullptr;
  std::vector<GraphWork> works;
};

struct GraphNode {
  Graph* graph = nullptr;
  GraphWork work;
  // Nodes before it in the graph.
  std::vector<const GraphNode*> after;
};

// Work that is queued together.
struct Graph {
  // Null: it is the body of a loop, and belongs to the loop's graph.
  Context* context = nullptr;
  std::vector<GraphNode*> nodes;
};

// A graph that can be launched, with work of its own for each node.
struct GraphExec {
  Context* context = nullptr;
  std::map<const GraphNode*, GraphWork*> places;
  std::vector<GraphWork> works;
  // Of each, those that it comes after.
  std::vector<std::vector<size_t>> after;
};

// A stream-ordered pool: what it holds of the device, and what is in use. Memory freed in a stream may be
// used again there at once, elsewhere when the stream has passed the free.
struct Pool {
  struct Pending {
    size_t byteLength;
    std::shared_ptr<Operation> free;
  };
  Context* context = nullptr;
  size_t reserved = 0;
  size_t live = 0;
  uint64_t releaseThreshold = 0;
  // Ordinals of other devices that may use its memory.
  std::set<int> guests;
  std::vector<Pending> pending;

  // Bytes that cannot be handed out in a stream (null: anywhere).
  size_t busy(const Stream* stream);
};

struct Pinned {
  size_t byteLength = 0;
  // Queued copies.
  size_t pending = 0;
  // Memory of the program's own, which has no guard.
  bool isRegistered = false;
};

// A device and its primary context.
struct Context {
  int ordinal = 0;
  DeviceConfig config;
  std::unique_ptr<DeviceMemory> memory;
  // The status that lost it; success: it is well.
  int error = 0;
  size_t retained = 0;
  size_t cublasHandles = 0;
  size_t cublasLtHandles = 0;
  size_t cutensorHandles = 0;
  size_t cutensorPlans = 0;
  size_t cufftPlans = 0;
  size_t cusolverHandles = 0;
  size_t cudssHandles = 0, cudssFactors = 0;
  // Held by pools and libraries.
  size_t used = 0;
  // Handed out by pools, and the most of it since a test last asked for anew.
  size_t inUse = 0, peak = 0;
  std::unique_ptr<Stream> defaultStream;
  // The streams that branches of graphs run in.
  std::vector<std::unique_ptr<Stream>> branches;
  // Ordinals of devices whose memory it may access.
  std::set<int> peers;
  // Owners of blocks.
  std::map<Address, Pool*> poolOf;

  size_t free() const { return config.memory - used; }
};

template <typename T>
class Handles {
 public:
  T* make() {
    auto owned = std::make_unique<T>();
    T* made = owned.get();
    live_[made] = std::move(owned);
    return made;
  }
  T* find(const void* handle) const {
    const auto found = live_.find(handle);
    return found == live_.end() ? nullptr : found->second.get();
  }
  // Destroyed objects keep their place, so that no later handle equals theirs.
  void destroy(T* object) {
    auto found = live_.find(object);
    *object = T();
    dead_[object] = std::move(found->second);
    live_.erase(found);
  }
  bool wasDestroyed(const void* handle) const { return dead_.count(handle) > 0; }
  size_t count() const { return live_.size(); }
  const std::map<const void*, std::unique_ptr<T>>& live() const { return live_; }

 private:
  std::map<const void*, std::unique_ptr<T>> live_, dead_;
};

}  // namespace weft::sim
