// WaitingRuns: counts the runs that were left to a device's executor and have not begun there, which a run
// that begins on another thread would overtake.
#pragma once
#include <atomic>
#include <cstddef>
#include <utility>

namespace weft {

class WaitingRuns {
 public:
  // That a run is one of them, until it leaves.
  class Entry {
   public:
    Entry() = default;
    explicit Entry(std::atomic<size_t>& count) : count_(&count) {
      count.fetch_add(1, std::memory_order_release);
    }
    Entry(Entry&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
    Entry& operator=(Entry&& other) noexcept {
      leave();
      count_ = std::exchange(other.count_, nullptr);
      return *this;
    }
    ~Entry() { leave(); }
    void leave() noexcept {
      if (count_ != nullptr) count_->fetch_sub(1, std::memory_order_release);
      count_ = nullptr;
    }

   private:
    std::atomic<size_t>* count_ = nullptr;
  };

  Entry enter() { return Entry(count_); }
  bool isEmpty() const { return count_.load(std::memory_order_acquire) == 0; }

 private:
  std::atomic<size_t> count_{0};
};

}  // namespace weft
