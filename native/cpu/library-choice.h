// Which library of a kind the CPU backend uses, of those that it finds at run time (math-library.h).
#pragma once
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace weft::cpu {

// The one library of a kind that is in use: the first that is found, unless a choice was made. Any thread.
// Once opened, a library stays: its threads may run until the process ends.
template <typename Library>
class LibraryChoice {
 public:
  // Gives the library of a file or a name, or null and why not. `isNamed`: the user asked for this one.
  using Open = Library* (*)(const std::string& name, bool isNamed, std::string& problem);

  LibraryChoice(const char* kind, std::vector<std::string> names, Open open)
      : kind_(kind), names_(std::move(names)), open_(open) {}

  // Files to try where the loader finds no library by name; before the first search.
  void search(std::vector<std::string> files) {
    const std::lock_guard lock(mutex_);
    files_ = std::move(files);
  }

  // `auto`: one must be found; `none`: none is used; else a file or a name. Throws std::runtime_error where
  // there is no such library; the one in use before stays.
  void choose(const std::string& library) {
    if (library == "none") return use(nullptr);
    if (library == "auto") {
      if (found() == nullptr)
        throw std::runtime_error("no " + std::string(kind_) + " library was found: " + problems_);
      return use(found());
    }
    std::string problem;
    const Library* const opened = open_(library, true, problem);
    if (opened == nullptr)
      throw std::runtime_error("the " + std::string(kind_) + " library cannot be used: " + problem);
    use(opened);
  }

  // Looks for one if no choice was made. Null: none.
  const Library* current() { return isOpen_.load() ? found() : chosen_.load(); }

 private:
  void use(const Library* library) {
    chosen_.store(library);
    isOpen_.store(false);
  }

  const Library* found() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(isSearched_, true)) return found_;
    std::vector<std::string> names = names_;
    names.insert(names.end(), files_.begin(), files_.end());
    for (const std::string& name : names) {
      std::string problem;
      found_ = open_(name, false, problem);
      if (found_ != nullptr) break;
      problems_ += (problems_.empty() ? "" : "; ") + problem;
    }
    return found_;
  }

  const char* const kind_;
  const std::vector<std::string> names_;
  const Open open_;
  std::mutex mutex_;
  std::vector<std::string> files_;
  bool isSearched_ = false;
  const Library* found_ = nullptr;
  std::string problems_;
  std::atomic<const Library*> chosen_{nullptr};
  // No choice was made yet.
  std::atomic<bool> isOpen_{true};
};

}  // namespace weft::cpu
