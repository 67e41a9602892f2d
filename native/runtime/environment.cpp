#include "runtime/environment.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_set>

#include "runtime/executor.h"
#include "runtime/failure.h"
#include "runtime/process.h"
#include "runtime/spin.h"

namespace weft {
namespace {

// As long as another event of the loop may wait for its turn without anybody feeling it.
constexpr auto kEventSpin = std::chrono::microseconds(20);

}  // namespace

struct EnvironmentState {
  using Wake = Napi::TypedThreadSafeFunction<Environment, void, Environment::deliver>;

  std::mutex mutex;
  std::condition_variable quiet;
  bool closed = false;
  // Tasks that are under way and use JavaScript's memory.
  size_t inside = 0;
  std::unordered_set<std::shared_ptr<Task>> pending;
  std::vector<std::shared_ptr<Task>> finished;
  std::vector<std::function<void(Napi::Env)>> calls;
  // Whether there are any of these two, for those that do not lock.
  std::atomic<bool> hasNews{false};
  // Whether JavaScript was called and has not come yet, or comes by itself.
  bool called = false;
  bool polls = false;
  // Threads that are calling JavaScript: the function stays open for them.
  std::atomic<int> callers{0};
  Wake wake;

  // Begins a call, with the lock, where JavaScript does not come anyway; `call` makes it, without: JavaScript
  // that wakes on this thread's processor takes its place, and would wait for the lock.
  bool beginCall() {
    if (called) return false;
    called = true;
    callers.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  void call() {
    wake.NonBlockingCall();
    callers.fetch_sub(1, std::memory_order_release);
  }
};

// Every state there is, so that the exit of the process can cancel what is under way.
struct Environment::Live {
  std::mutex mutex;
  std::unordered_set<EnvironmentState*> states;

  static Live& get() {
    static Live& it = *new Live();
    return it;
  }
};

void Environment::create(Napi::Env env) { env.SetInstanceData(new Environment(env)); }

Environment::Environment(Napi::Env env) : state_(std::make_shared<EnvironmentState>()) {
  // The thread-safe function goes first: cleanup hooks run last to first, and ours must find it open.
  state_->wake = EnvironmentState::Wake::New(env, "weft", 0, 1, this);
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
  for (EnvironmentState* state : live.states) {
    const std::lock_guard stateLock(state->mutex);
    for (const auto& task : state->pending) task->cancelFlag().store(true);
  }
}

Environment::~Environment() = default;

Napi::Value Environment::start(Napi::Env env, std::shared_ptr<Task> task, Executor& executor) {
  const napi_value promise = add(env, task);
  executor.post([task = std::move(task)] { execute(task); });
  return {env, promise};
}

Napi::Value Environment::startHere(Napi::Env env, std::shared_ptr<Task> task) {
  const napi_value promise = add(env, task);
  execute(task);
  return {env, promise};
}

napi_value Environment::add(Napi::Env env, const std::shared_ptr<Task>& task) {
  napi_value promise = nullptr;
  if (napi_create_promise(env, &task->deferred_, &promise) != napi_ok) throw Napi::Error::New(env);
  task->state_ = state_;
  {
    const std::lock_guard lock(state_->mutex);
    state_->pending.insert(task);
  }
  if (pending_++ == 0) state_->wake.Ref(env);
  return promise;
}

void Environment::execute(const std::shared_ptr<Task>& task) {
  {
    const std::lock_guard lock(task->state_->mutex);
    if (task->state_->closed) return;
    task->isInside_ = task->usesJavaScript();
    if (task->isInside_) task->state_->inside++;
  }
  try {
    task->begin();
  } catch (...) {
    task->end(std::current_exception());
  }
}

void Task::end(std::exception_ptr error) noexcept {
  error_ = std::move(error);
  // The task may be gone when JavaScript has been called.
  const std::shared_ptr<EnvironmentState> state = state_;
  {
    const std::lock_guard lock(state->mutex);
    leave(*state);
    if (state->closed) return;
    state->finished.push_back(shared_from_this());
    state->hasNews.store(true, std::memory_order_release);
    if (state->polls || !state->beginCall()) return;
  }
  state->call();
}

void Task::leaveJavaScript() noexcept {
  // Work that ends in the call that asks for it is in no list.
  if (!state_) return;
  const std::lock_guard lock(state_->mutex);
  leave(*state_);
}

bool Task::enterJavaScript() noexcept {
  if (!state_) return true;
  const std::lock_guard lock(state_->mutex);
  if (state_->closed) return isInside_;
  if (!isInside_) state_->inside++;
  isInside_ = true;
  return true;
}

void Task::leave(EnvironmentState& state) noexcept {
  if (!isInside_) return;
  isInside_ = false;
  if (--state.inside == 0 && state.closed) state.quiet.notify_all();
}

CallOnJavaScript Environment::caller() const {
  return [state = state_](std::function<void(Napi::Env)> call) {
    {
      const std::lock_guard lock(state->mutex);
      if (state->closed) return false;
      state->calls.push_back(std::move(call));
      state->hasNews.store(true, std::memory_order_release);
      // JavaScript that polls by itself does so between its turns: it may have to be woken for another one.
      if (!state->beginCall()) return true;
    }
    state->call();
    return true;
  };
}

void Environment::deliver(Napi::Env env, Napi::Function, Environment* self, void*) {
  // A null environment means that it is going away: the cleanup hook has seen to the tasks.
  if (static_cast<napi_env>(env) != nullptr) self->settleFinished(env);
}

size_t Environment::settle(Napi::Env env, bool pollsAgain, bool spins) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->polls = pollsAgain;
  }
  if (spins && pending_ > 0) {
    spinFor(spinLimit(kEventSpin), [this] { return state_->hasNews.load(std::memory_order_acquire); });
  }
  settleFinished(env);
  return pending_;
}

Napi::Value settle(const Napi::CallbackInfo& info) {
  const size_t pending =
      Environment::of(info.Env()).settle(info.Env(), info[0].ToBoolean(), info[1].ToBoolean());
  return Napi::Number::New(info.Env(), static_cast<double>(pending));
}

void Environment::settleFinished(Napi::Env env) {
  std::vector<std::shared_ptr<Task>> finished;
  std::vector<std::function<void(Napi::Env)>> calls;
  {
    const std::lock_guard lock(state_->mutex);
    finished.swap(state_->finished);
    calls.swap(state_->calls);
    state_->called = false;
    state_->hasNews.store(false, std::memory_order_relaxed);
    for (const auto& task : finished) state_->pending.erase(task);
  }
  for (const auto& call : calls) {
    const Napi::HandleScope scope(env);
    call(env);
  }
  pending_ -= finished.size();
  if (pending_ == 0 && !finished.empty()) state_->wake.Unref(env);
  for (const auto& task : finished) {
    settle(env, *task);
    task->held_.clear();
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
    // These fail in a worker that is being terminated and runs no JavaScript any more: nobody waits for the
    // promise.
    if (task.error_) {
      static_cast<void>(napi_reject_deferred(env, task.deferred_, toError(env, task.error_).Value()));
    } else {
      static_cast<void>(napi_resolve_deferred(env, task.deferred_, value));
    }
  } catch (const Napi::Error&) {
    // So does making an error.
  }
  // A native thread may be the last to drop the task, and must not drop a JavaScript exception.
  task.error_ = nullptr;
}

void Environment::close() {
  // Its threads are not there to wait for.
  if (isForked()) return;
  {
    Live& live = Live::get();
    const std::lock_guard lock(live.mutex);
    live.states.erase(state_.get());
  }
  std::vector<std::function<void(Napi::Env)>> calls;
  std::unique_lock lock(state_->mutex);
  state_->closed = true;
  for (const auto& task : state_->pending) task->cancelFlag().store(true);
  state_->quiet.wait(lock, [this] { return state_->inside == 0; });
  while (state_->callers.load(std::memory_order_acquire) > 0) std::this_thread::yield();
  // References are dropped while the environment still exists; native threads may keep the tasks a little
  // longer.
  for (const auto& task : state_->pending) task->held_.clear();
  state_->pending.clear();
  state_->finished.clear();
  // Calls that were not made have references, too.
  calls.swap(state_->calls);
}

}  // namespace weft
