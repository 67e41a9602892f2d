#include "runtime/scratch-file.h"

#include <mutex>
#include <utility>

#include "runtime/recorder.h"

namespace weft {
namespace {

struct ScratchFolder {
  std::mutex mutex;
  std::string path = "/tmp";

  static ScratchFolder& get() {
    static ScratchFolder& it = *new ScratchFolder;
    return it;
  }
};

std::string folderNow() {
  ScratchFolder& folder = ScratchFolder::get();
  const std::lock_guard lock(folder.mutex);
  return folder.path;
}

}  // namespace

void setScratchFolder(std::string path) {
  ScratchFolder& folder = ScratchFolder::get();
  const std::lock_guard lock(folder.mutex);
  folder.path = std::move(path);
}

ScratchFile::ScratchFile(size_t byteLength)
    : byteLength_(byteLength), folder_(folderNow()), file_(openUnnamed(folder_, byteLength)) {}

void ScratchFile::read(size_t offset, size_t byteLength, void* to) {
  const recorder::HostSpan span(recorder::Kind::read, folder_, byteLength);
  readExactly(file_.get(), to, byteLength, offset, folder_);
}

void ScratchFile::write(size_t offset, size_t byteLength, const void* from) {
  writeExactly(file_.get(), from, byteLength, offset, folder_);
}

}  // namespace weft
