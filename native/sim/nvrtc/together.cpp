#include "nvrtc/together.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/announced.h"
#include "nvrtc/compiler.h"
#include "nvrtc/translate.h"

namespace weft::sim {
namespace {

// With more, images become large, each of which has all of them.
constexpr size_t kMost = 12;
// In which the others of a run are announced.
constexpr std::chrono::milliseconds kPatience{3};

// Translated sources that threads compile.
struct UnderWay {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::string> sources;
};

UnderWay& underWay() {
  static UnderWay& it = *new UnderWay();
  return it;
}

// Those that a thread compiles at once.
class Batch {
 public:
  Batch() = default;
  ~Batch() {
    {
      const std::lock_guard lock(underWay().mutex);
      for (const std::string& source : sources_) underWay().sources.erase(source);
    }
    underWay().changed.notify_all();
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  // False: another thread compiles it.
  bool add(const std::string& translated) {
    const std::lock_guard lock(underWay().mutex);
    if (!underWay().sources.insert(translated).second) return false;
    return sources_.push_back(translated), true;
  }
  const std::vector<std::string>& sources() const { return sources_; }

 private:
  std::vector<std::string> sources_;
};

void waitFor(const std::string& translated) {
  std::unique_lock lock(underWay().mutex);
  underWay().changed.wait(lock, [&] { return underWay().sources.count(translated) == 0; });
}

void addAnnounced(Batch& batch, int architecture, const std::string& options) {
  while (batch.sources().size() < kMost) {
    const std::optional<std::string> source = Announced::get().take(options);
    if (!source.has_value()) return;
    if (usesFurther(*source)) continue;
    try {
      const std::string translated = translate(*source, architecture);
      if (!isKept(translated)) batch.add(translated);
    } catch (const std::invalid_argument&) {
      // It fails by itself, with what is wrong.
    }
  }
}

}  // namespace

bool usesFurther(const std::string& source) {
  const auto has = [&](const char* part) { return source.find(part) != std::string::npos; };
  return has("\n#line ") || has("atomicCAS(");
}

void compileAnnounced(const std::string& source, const std::string& translated, int architecture,
                      const std::string& options) {
  const bool isAnnounced = Announced::get().remove(source, options);
  if (isKept(translated)) return;
  Batch batch;
  if (!batch.add(translated)) return waitFor(translated);
  if (!isAnnounced) return;
  std::this_thread::sleep_for(kPatience);
  addAnnounced(batch, architecture, options);
  if (batch.sources().size() > 1) compileTogether(batch.sources());
}

}  // namespace weft::sim
