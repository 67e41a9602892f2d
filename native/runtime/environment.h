// Environment: one JavaScript environment (the main thread or a worker) and the tasks it has under way.
//
// A Task is started on the JavaScript thread, works on native threads, and settles its promise back on the
// JavaScript thread through one thread-safe function, which takes all that ended meanwhile in one call. The
// event loop stays alive while tasks are pending. When the environment goes away, its tasks are cancelled,
// and those that use memory of JavaScript's are waited for; a kernel or a compiler that nothing stops goes
// on.
#pragma once
#include <napi.h>

#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/cancel.h"

namespace weft {

class Executor;
class Environment;
struct EnvironmentState;  // shared with native threads; outlives the environment

class Task : public std::enable_shared_from_this<Task> {
 public:
  Task() = default;
  virtual ~Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  // Begins the work, on the executor's thread. It has ended when `end` is called, once, there or on another
  // thread, before this returns or later. Throwing ends it, too.
  virtual void begin() = 0;
  // The promise's value, made on the JavaScript thread after the end.
  virtual Napi::Value result(Napi::Env env) = 0;

  // Ends the work: an exception rejects the promise.
  void end(std::exception_ptr error) noexcept;

  // Whether the work reads or writes memory that is JavaScript's. An environment that goes away waits for
  // such work alone.
  virtual bool usesJavaScript() const { return true; }

  // Keeps a JavaScript object alive until the task has settled. Gives its position among those held.
  size_t hold(const Napi::Object& object) {
    held_.push_back(Napi::Persistent(object));
    return held_.size() - 1;
  }
  CancelFlag& cancelFlag() { return token_ ? *token_ : own_; }
  void setCancelFlag(std::shared_ptr<CancelFlag> flag) { token_ = std::move(flag); }

 protected:
  // Work that is under way needs JavaScript's memory no more. Any thread.
  void leaveJavaScript() noexcept;
  // It needs it again. False: the environment has closed.
  bool enterJavaScript() noexcept;
  Napi::Object held(size_t position) const { return held_[position].Value(); }

 private:
  friend class Environment;
  // With the state's lock.
  void leave(EnvironmentState& state) noexcept;

  std::shared_ptr<EnvironmentState> state_;
  bool isInside_ = false;
  napi_deferred deferred_ = nullptr;
  std::vector<Napi::ObjectReference> held_;
  CancelFlag own_{false};
  std::shared_ptr<CancelFlag> token_;
  std::exception_ptr error_;
};

// A task whose work ends when `run` returns.
class BlockingTask : public Task {
 public:
  // The work, on a native thread. An exception rejects the promise.
  virtual void run() = 0;

  void begin() final {
    run();
    end(nullptr);
  }
};

// A blocking task that uses no memory of JavaScript's.
class NativeTask : public BlockingTask {
 public:
  bool usesJavaScript() const final { return false; }
};

// settle(pollsAgain: boolean, spins: boolean): number
Napi::Value settle(const Napi::CallbackInfo& info);

// Has a call made on the JavaScript thread, soon. False: the environment is going away, and nothing is
// called. Any thread.
using CallOnJavaScript = std::function<bool(std::function<void(Napi::Env)>)>;

class Environment {
 public:
  // Makes the environment's instance data; called once when the addon is loaded into it.
  static void create(Napi::Env env);
  static Environment& of(Napi::Env env) { return *env.GetInstanceData<Environment>(); }

  explicit Environment(Napi::Env env);
  ~Environment();

  // Queues the task on the executor and returns its promise.
  Napi::Value start(Napi::Env env, std::shared_ptr<Task> task, Executor& executor);
  // Begins the task on this thread, and returns its promise.
  Napi::Value startHere(Napi::Env env, std::shared_ptr<Task> task);
  // Settles what has ended. Returns how many tasks are pending. While JavaScript says that it `pollsAgain`,
  // it is not called when tasks end. Where it `spins`, this waits a moment for the next to end: to come
  // again thousands of times would drive the program out of the processor's caches.
  size_t settle(Napi::Env env, bool pollsAgain, bool spins);
  CallOnJavaScript caller() const;

 private:
  friend class Task;
  friend struct EnvironmentState;
  struct Live;

  // Makes the task's promise, and notes it as pending.
  napi_value add(Napi::Env env, const std::shared_ptr<Task>& task);
  static void deliver(Napi::Env env, Napi::Function, Environment* self, void*);
  static void execute(const std::shared_ptr<Task>& task);
  void settleFinished(Napi::Env env);
  static void settle(Napi::Env env, Task& task);
  static void cancelEverything();
  void close();

  std::shared_ptr<EnvironmentState> state_;
  size_t pending_ = 0;
};

}  // namespace weft
