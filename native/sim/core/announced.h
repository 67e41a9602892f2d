// Sources that are about to be compiled, as tests say: NVRTC is given one at a time.
#pragma once
#include <deque>
#include <mutex>
#include <optional>
#include <string>

namespace weft::sim {

class Announced {
 public:
  static Announced& get();

  // Any thread, as all. The oldest of too many are forgotten.
  void add(std::string source, std::string options);
  // Gives whether it was there.
  bool remove(const std::string& source, const std::string& options);
  // Removes one with these options, and gives its source.
  std::optional<std::string> take(const std::string& options);

 private:
  struct Announcement {
    std::string source;
    // A line each.
    std::string options;
  };

  std::mutex mutex_;
  std::deque<Announcement> waiting_;
};

}  // namespace weft::sim
