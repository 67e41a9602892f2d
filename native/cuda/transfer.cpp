#include "cuda/transfer.h"

#include <algorithm>

#include "cuda/stream-span.h"

namespace weft::cuda {

using recorder::Kind;

namespace {

// Above this it is worth asking whether the host memory is pinned.
constexpr size_t kDirectByteLength = size_t{64} << 10;
// The most that the driver takes as the distance of rows.
constexpr size_t kMostPitch = (size_t{1} << 31) - 1;

void* moved(void* host, size_t byteLength) {
  return host == nullptr ? nullptr : static_cast<std::byte*>(host) + byteLength;
}

// Some rows of a transfer.
Transfer rowsOf(const Transfer& transfer, size_t first, size_t rows) {
  Transfer part = transfer;
  part.device += first * transfer.devicePitch;
  part.host = moved(transfer.host, first * transfer.hostPitch);
  part.hostOffset += first * transfer.hostPitch;
  part.rows = rows;
  return part;
}

// Rows without gaps are one.
Transfer joined(const Transfer& transfer) {
  if (transfer.devicePitch != transfer.byteLength || transfer.hostPitch != transfer.byteLength)
    return transfer;
  return {transfer.device, transfer.host,       transfer.total(),
          transfer.source, transfer.hostOffset, transfer.sinks};
}

void cutRow(const Transfer& row, size_t most, std::vector<Transfer>& chunks) {
  for (size_t at = 0; at < row.byteLength; at += most) {
    chunks.push_back(bytesOf(row, at, std::min(most, row.byteLength - at)));
  }
}

// A transfer of one row from a source, in the pieces of memory that the source has.
void cutToMemory(const Transfer& row, std::vector<Transfer>& pieces) {
  for (size_t at = 0; at < row.byteLength;) {
    const HostSource::Stretch memory = row.source->memoryAt(row.hostOffset + at);
    const size_t part = std::min(memory.byteLength, row.byteLength - at);
    if (part == 0) {
      pieces.push_back(bytesOf(row, at, row.byteLength - at));
      return;
    }
    // Uploads only read.
    pieces.push_back({row.device + at, const_cast<std::byte*>(memory.data), part});
    at += part;
  }
}

RowsCopy::Side hostSide(const Transfer& transfer) {
  return {0, 0, kMemoryTypeHost, transfer.host, 0, nullptr, transfer.hostPitch};
}
RowsCopy::Side deviceSide(const Transfer& transfer) {
  return {0, 0, kMemoryTypeDevice, nullptr, transfer.device, nullptr, transfer.devicePitch};
}

}  // namespace

Transfer bytesOf(const Transfer& transfer, size_t first, size_t byteLength) {
  return {transfer.device + first, moved(transfer.host, first), byteLength,
          transfer.source,         transfer.hostOffset + first, transfer.sinks};
}

std::vector<Transfer> inMemory(const std::vector<Transfer>& transfers) {
  std::vector<Transfer> pieces;
  for (const Transfer& given : transfers) {
    const Transfer transfer = joined(given);
    if (transfer.source == nullptr || transfer.total() == 0) {
      pieces.push_back(transfer);
    } else if (transfer.rows == 1) {
      cutToMemory(transfer, pieces);
    } else {
      const HostSource::Stretch memory = transfer.source->memoryAt(transfer.hostOffset);
      const size_t reach = (transfer.rows - 1) * transfer.hostPitch + transfer.byteLength;
      pieces.push_back(transfer);
      if (memory.byteLength < reach) continue;
      pieces.back().source = nullptr;
      pieces.back().host = const_cast<std::byte*>(memory.data);
    }
  }
  return pieces;
}

std::vector<Transfer> chunksOf(const std::vector<Transfer>& transfers, size_t most) {
  std::vector<Transfer> chunks;
  for (const Transfer& given : transfers) {
    const Transfer transfer = joined(given);
    if (transfer.rows == 1) {
      cutRow(transfer, most, chunks);
    } else if (transfer.byteLength > most / 2) {
      for (size_t row = 0; row < transfer.rows; row++) cutRow(rowsOf(transfer, row, 1), most, chunks);
    } else if (transfer.byteLength > 0) {
      const size_t rows = most / transfer.byteLength;
      for (size_t first = 0; first < transfer.rows; first += rows)
        chunks.push_back(rowsOf(transfer, first, std::min(rows, transfer.rows - first)));
    }
  }
  return chunks;
}

bool isPinned(const Transfer& transfer) {
  if (!transfer.isInMemory() || transfer.total() < kDirectByteLength) return false;
  unsigned type = 0;
  int attribute = kPointerMemoryType;
  void* value = &type;
  const auto address = reinterpret_cast<CUdeviceptr>(transfer.host);
  // Most memory is not the driver's: the type stays 0. A question for one attribute has an error as the
  // answer then.
  return driver().cuPointerGetAttributes(1, &attribute, &value, address) == kSuccess &&
         type == kMemoryTypeHost;
}

void queueUpload(const Transfer& transfer, CUstream stream) {
  if (transfer.rows == 1) {
    const StreamSpan span(stream, Kind::copyIn, transfer.total());
    WEFT_CU(cuMemcpyHtoDAsync, transfer.device, transfer.host, transfer.byteLength, stream);
  } else if (transfer.hostPitch > kMostPitch) {
    for (size_t row = 0; row < transfer.rows; row++) queueUpload(rowsOf(transfer, row, 1), stream);
  } else {
    const StreamSpan span(stream, Kind::copyIn, transfer.total());
    const RowsCopy copy{hostSide(transfer), deviceSide(transfer), transfer.byteLength, transfer.rows};
    WEFT_CU(cuMemcpy2DAsync, &copy, stream);
  }
}

void queueDownload(const Transfer& transfer, CUstream stream) {
  if (transfer.rows == 1) {
    const StreamSpan span(stream, Kind::copyOut, transfer.total());
    WEFT_CU(cuMemcpyDtoHAsync, transfer.host, transfer.device, transfer.byteLength, stream);
  } else if (transfer.hostPitch > kMostPitch) {
    for (size_t row = 0; row < transfer.rows; row++) queueDownload(rowsOf(transfer, row, 1), stream);
  } else {
    const StreamSpan span(stream, Kind::copyOut, transfer.total());
    const RowsCopy copy{deviceSide(transfer), hostSide(transfer), transfer.byteLength, transfer.rows};
    WEFT_CU(cuMemcpy2DAsync, &copy, stream);
  }
}

void queueOnDevice(const Transfer& transfer, CUdeviceptr from, CUstream stream) {
  const size_t pitches[] = {transfer.hostPitch, transfer.devicePitch};
  const bool isOne = transfer.rows == 1;
  const auto side = [&](CUdeviceptr address, size_t pitch) -> RowsCopy::Side {
    return {0, 0, kMemoryTypeDevice, nullptr, address, nullptr, isOne ? transfer.byteLength : pitch};
  };
  const RowsCopy copy{side(from, pitches[0]), side(transfer.device, pitches[1]), transfer.byteLength,
                      transfer.rows};
  const StreamSpan span(stream, Kind::copyWithin, transfer.total());
  WEFT_CU(cuMemcpy2DAsync, &copy, stream);
}

}  // namespace weft::cuda
