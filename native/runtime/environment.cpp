#include "runtime/environment.h"

#include "runtime/executor.h"
#include "runtime/failure.h"

namespace weft {

struct Environment::State {
  std::mutex mutex;
  std::condition_variable quiet;
  bool closed = false;
  size_t running = 0;
  std::unordered_set<std::shared_ptr<Task>> pending;
  std::deque<std::shared_ptr<Task>> finished;
  Wake wake;
};

// Every state there is, so that the exit of the process can cancel what is under way.
struct Environment::Live {
  std::mutex mutex;
  std::unordered_set<State*> states;

  static Live& get() {
    static Live& it = *new Live();
    return it;
  }
};

void Environment::create(Napi::Env env) { env.SetInstanceData(new Environment(env)); }

Environment::Environment(Napi::Env env) : state_(std::make_shared<State>()) {
  // The thread-safe function goes first: cleanup hooks run last to first, and ours must find it open.
  state_->wake = Wake::New(env, "weft", 0, 1, this);
  state_->wake.Unref(env);
  env.AddCleanupHook([this] { close(); });

  static std::once_flag once;
  std::call_once(once, [] { quietAtExit(cancelEverything); });
  Live& live = Live::get();
  const std::lock_guard lock(live.mutex);
  live.states.insert(state_.get());
}

void Environment::cancelEverything() {
  Live& live = Live::get();
  const std::lock_guard lock(live.mutex);
  for (State* state : live.states) {
    const std::lock_guard stateLock(state->mutex);
    for (const auto& task : state->pending) task->cancelFlag()->store(true);
  }
}

Environment::~Environment() = default;

Napi::Promise Environment::start(std::shared_ptr<Task> task, Executor& executor) {
  const Napi::Promise promise = task->deferred_.Promise();
  {
    const std::lock_guard lock(state_->mutex);
    state_->pending.insert(task);
  }
  if (pending_++ == 0) state_->wake.Ref(promise.Env());
  executor.post([state = state_, task = std::move(task)] { execute(state, task); });
  return promise;
}

void Environment::execute(const std::shared_ptr<State>& state, const std::shared_ptr<Task>& task) {
  {
    const std::lock_guard lock(state->mutex);
    if (state->closed) return;
    state->running++;
  }
  try {
    task->run();
  } catch (...) {
    task->error_ = std::current_exception();
  }
  const std::lock_guard lock(state->mutex);
  state->running--;
  if (state->closed) {
    state->quiet.notify_all();
    return;
  }
  state->finished.push_back(task);
  // Under the lock, so that the environment cannot close the function in between.
  state->wake.NonBlockingCall();
}

void Environment::deliver(Napi::Env env, Napi::Function, Environment* self, void*) {
  // A null environment means that it is going away: the cleanup hook has seen to the tasks.
  if (static_cast<napi_env>(env) != nullptr) self->settleFinished(env);
}

void Environment::settleFinished(Napi::Env env) {
  for (;;) {
    std::shared_ptr<Task> task;
    {
      const std::lock_guard lock(state_->mutex);
      if (state_->finished.empty()) return;
      task = std::move(state_->finished.front());
      state_->finished.pop_front();
      state_->pending.erase(task);
    }
    if (--pending_ == 0) state_->wake.Unref(env);
    task->held_.clear();
    settle(env, *task);
  }
}

void Environment::settle(Napi::Env env, Task& task) {
  const Napi::HandleScope scope(env);
  try {
    Napi::Value value;
    if (!task.error_) {
      try {
        value = task.result(env);
      } catch (...) {
        task.error_ = std::current_exception();
      }
    }
    if (task.error_) {
      task.deferred_.Reject(toError(env, task.error_).Value());
    } else {
      task.deferred_.Resolve(value);
    }
  } catch (const Napi::Error&) {
    // The worker is being terminated and runs no JavaScript any more: nobody waits for the promise.
  }
  // A native thread may be the last to drop the task, and must not drop a JavaScript exception.
  task.error_ = nullptr;
}

void Environment::close() {
  {
    Live& live = Live::get();
    const std::lock_guard lock(live.mutex);
    live.states.erase(state_.get());
  }
  std::unique_lock lock(state_->mutex);
  state_->closed = true;
  for (const auto& task : state_->pending) task->cancelFlag()->store(true);
  state_->quiet.wait(lock, [this] { return state_->running == 0; });
  // References are dropped while the environment still exists; native threads may keep the tasks a little
  // longer.
  for (const auto& task : state_->pending) task->held_.clear();
  state_->pending.clear();
  state_->finished.clear();
}

}  // namespace weft
