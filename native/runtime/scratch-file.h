// ScratchFile: a temporary file without a name, for a value of a run on the CPU that waits outside of memory
// between two sweeps. The system removes it when it is closed, however the process ends.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/file.h"
#include "runtime/host-sink.h"
#include "runtime/host-source.h"

namespace weft {

// The folder of scratch files made from now on. For the process, each of whose workers sets it as it starts.
void setScratchFolder(std::string folder);

class ScratchFile : public HostSource, public HostSink {
 public:
  // Takes the disk's room. Throws a Failure that names the folder where there is none.
  explicit ScratchFile(size_t byteLength);

  size_t byteLength() const override { return byteLength_; }
  // Bytes that were not written are 0.
  void read(size_t offset, size_t byteLength, void* to) override;
  void write(size_t offset, size_t byteLength, const void* from) override;
  uint32_t checksum() const override { return 0; }

 private:
  const size_t byteLength_;
  const std::string folder_;
  const FileDescriptor file_;
};

}  // namespace weft
