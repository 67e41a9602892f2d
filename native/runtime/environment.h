// Environment: one JavaScript environment (the main thread or a worker) and the tasks it has under way.
//
// A Task is started on the JavaScript thread, runs on a native thread, and settles its promise back on the
// JavaScript thread through one thread-safe function. The event loop stays alive while tasks are pending.
// When the environment goes away, its tasks are cancelled and waited for, so that no native thread touches
// memory that JavaScript owned.
#pragma once
#include <napi.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "runtime/cancel.h"

namespace weft {

class Executor;

class Task {
 public:
  explicit Task(Napi::Env env) : deferred_(Napi::Promise::Deferred::New(env)) {}
  virtual ~Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  // The work, on a native thread. What it throws rejects the promise.
  virtual void run() = 0;
  // What the promise resolves with, on the JavaScript thread after run().
  virtual Napi::Value result(Napi::Env env) = 0;

  // Keeps a JavaScript object alive until the task settles.
  void hold(const Napi::Object& object) { held_.push_back(Napi::Persistent(object)); }
  const std::shared_ptr<CancelFlag>& cancelFlag() const { return cancel_; }
  void setCancelFlag(std::shared_ptr<CancelFlag> flag) { cancel_ = std::move(flag); }

 private:
  friend class Environment;
  Napi::Promise::Deferred deferred_;
  std::vector<Napi::ObjectReference> held_;
  std::shared_ptr<CancelFlag> cancel_ = std::make_shared<CancelFlag>(false);
  std::exception_ptr error_;
};

class Environment {
 public:
  // Makes the environment's instance data; called once when the addon is loaded into it.
  static void create(Napi::Env env);
  static Environment& of(Napi::Env env) { return *env.GetInstanceData<Environment>(); }

  explicit Environment(Napi::Env env);
  ~Environment();

  // Queues the task on the executor and returns its promise.
  Napi::Promise start(std::shared_ptr<Task> task, Executor& executor);

 private:
  struct State;  // shared with native threads; outlives the environment
  struct Live;

  static void deliver(Napi::Env env, Napi::Function, Environment* self, void*);
  using Wake = Napi::TypedThreadSafeFunction<Environment, void, deliver>;
  static void execute(const std::shared_ptr<State>& state, const std::shared_ptr<Task>& task);
  void settleFinished(Napi::Env env);
  static void settle(Napi::Env env, Task& task);
  static void cancelEverything();
  void close();

  std::shared_ptr<State> state_;
  size_t pending_ = 0;
};

}  // namespace weft
