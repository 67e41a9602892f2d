// Transfer: bytes to copy between the host and a device; cutting them into chunks, and queueing the copies of
// memory that the device reaches by itself. Lanes (lane.*) copy the rest.
#pragma once
#include <memory>
#include <vector>

#include "cuda/driver.h"
#include "runtime/host-sink.h"
#include "runtime/host-source.h"

namespace weft::cuda {

using HostSinks = std::vector<std::shared_ptr<HostSink>>;

// One row, or several of `byteLength` bytes.
struct Transfer {
  CUdeviceptr device;
  // Read when it goes up, written when it comes down.
  void* host;
  size_t byteLength;
  // Where what goes up is read from, or what comes down is written to, instead of memory, if not null; and
  // where in it.
  HostSource* source = nullptr;
  size_t hostOffset = 0;
  const HostSinks* sinks = nullptr;
  size_t rows = 1;
  // From row to row.
  size_t devicePitch = 0, hostPitch = 0;

  size_t total() const { return byteLength * rows; }
  bool isInMemory() const { return source == nullptr && sinks == nullptr; }
};

// Some bytes of a transfer of one row.
Transfer bytesOf(const Transfer& transfer, size_t first, size_t byteLength);

// Transfers with memory in place of sources that are in memory, where a transfer lies in one piece of it or
// can be cut into such.
std::vector<Transfer> inMemory(const std::vector<Transfer>& transfers);

// Transfers cut into pieces of a row, or as many rows, of at most `most` bytes.
std::vector<Transfer> chunksOf(const std::vector<Transfer>& transfers, size_t most);

// Whether the device copies from or to this memory by itself. Small transfers are not worth the question.
bool isPinned(const Transfer& transfer);

// Queues the copy between the device and host memory that is pinned, or for the driver to handle.
void queueUpload(const Transfer& transfer, CUstream stream);
void queueDownload(const Transfer& transfer, CUstream stream);
// Queues a copy within the device; `hostPitch` is the pitch at `from`.
void queueOnDevice(const Transfer& transfer, CUdeviceptr from, CUstream stream);

}  // namespace weft::cuda
