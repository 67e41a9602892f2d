#include "runtime/scratch-file.h"

#include <utility>

#include "runtime/recorder.h"

namespace weft {
namespace {

std::string& folder() {
  static std::string& folder = *new std::string("/tmp");
  return folder;
}

}  // namespace

void setScratchFolder(std::string path) { folder() = std::move(path); }

ScratchFile::ScratchFile(size_t byteLength)
    : byteLength_(byteLength), file_(openUnnamed(folder(), byteLength)) {}

void ScratchFile::read(size_t offset, size_t byteLength, void* to) {
  const recorder::HostSpan span(recorder::Kind::read, folder(), byteLength);
  readExactly(file_.get(), to, byteLength, offset, folder());
}

void ScratchFile::write(size_t offset, size_t byteLength, const void* from) {
  writeExactly(file_.get(), from, byteLength, offset, folder());
}

}  // namespace weft
