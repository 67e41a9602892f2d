#include "runtime/source-input.h"

#include <limits>

#include "runtime/checksum.h"
#include "runtime/file.h"
#include "runtime/reader-source.h"
#include "runtime/region-checksum.h"
#include "runtime/values.h"

namespace weft {
namespace {

uint64_t unsignedOf(const Napi::Value& value, const std::string& field) {
  bool lossless = false;
  const uint64_t number = value.IsBigInt() ? value.As<Napi::BigInt>().Uint64Value(&lossless) : 0;
  if (!lossless) values::reject(field, "an unsigned bigint of 64 bits");
  return number;
}

int64_t signedOf(const Napi::Value& value, const std::string& field) {
  bool lossless = false;
  const int64_t number = value.IsBigInt() ? value.As<Napi::BigInt>().Int64Value(&lossless) : 0;
  if (!lossless) values::reject(field, "a bigint of 64 bits");
  return number;
}

FileStamp stampOf(const Napi::Value& value, const std::string& field) {
  const Napi::Object stamp = values::object(value, field);
  return {unsignedOf(stamp.Get("device"), field + ".device"),
          unsignedOf(stamp.Get("inode"), field + ".inode"),
          unsignedOf(stamp.Get("byteLength"), field + ".byteLength"),
          signedOf(stamp.Get("modifiedNs"), field + ".modifiedNs")};
}

uint32_t checksumAt(const Napi::Object& checksum, const char* name, const std::string& field) {
  return static_cast<uint32_t>(
      values::integer(checksum.Get(name), field + "." + name, 0, std::numeric_limits<uint32_t>::max()));
}

// A checksum of a head and a region behind it, and one of the head alone, are one of the region: appending
// bytes is adding their sum to a multiple of the head's, and adding is its own inverse.
FileChecksum checksumOf(const Napi::Value& value, const FileStamp& stamp, int64_t first, int64_t end,
                        const std::string& field) {
  if (value.IsUndefined()) return {};
  const Napi::Object checksum = values::object(value, field);
  const int64_t offset = values::integer(checksum.Get("byteOffset"), field + ".byteOffset");
  const int64_t length = values::integer(checksum.Get("byteLength"), field + ".byteLength");
  if (first < offset || end - offset > length) values::reject(field, "of a region that has all that is read");
  const uint32_t whole = checksumAt(checksum, "whole", field);
  const uint32_t head = checksumAt(checksum, "head", field);
  const auto byteLength = static_cast<size_t>(length);
  const uint32_t expected = combineChecksums(head, whole, byteLength);
  const auto byteOffset = static_cast<uint64_t>(offset);
  return {regionChecksum(stamp, byteOffset, byteLength, expected), byteOffset};
}

std::unique_ptr<HostSource> fileOf(const Napi::Object& input, const std::string& field) {
  const int64_t offset = values::integer(input.Get("byteOffset"), field + ".byteOffset");
  const int64_t byteLength = values::integer(input.Get("byteLength"), field + ".byteLength");
  const size_t word = values::wordByteLength(input.Get("swap"), field + ".swap");
  const FileStamp stamp = stampOf(input.Get("stamp"), field + ".stamp");
  return std::make_unique<FileSource>(
      values::text(input.Get("path"), field + ".path"), stamp, static_cast<uint64_t>(offset),
      static_cast<size_t>(byteLength), word,
      checksumOf(input.Get("checksum"), stamp, offset, offset + byteLength, field + ".checksum"));
}

std::unique_ptr<HostSource> chunksOf(const Napi::Object& input, const std::string& field) {
  const Napi::Array list = values::array(input.Get("chunks"), field + ".chunks");
  std::vector<ChunkedSource::Chunk> chunks;
  for (uint32_t i = 0; i < list.Length(); i++) {
    const Napi::Value chunk = list.Get(i);
    const std::string name = field + ".chunks[" + std::to_string(i) + "]";
    if (chunk.IsDataView()) {
      const auto view = chunk.As<Napi::DataView>();
      chunks.push_back({static_cast<const std::byte*>(view.Data()), view.ByteLength()});
      continue;
    }
    constexpr const char* kBytes = "a Uint8Array or a DataView";
    if (!chunk.IsTypedArray()) values::reject(name, kBytes);
    const auto bytes = chunk.As<Napi::TypedArray>();
    if (bytes.TypedArrayType() != napi_uint8_array) values::reject(name, kBytes);
    const auto view = bytes.As<Napi::Uint8Array>();
    chunks.push_back({reinterpret_cast<const std::byte*>(view.Data()), view.ByteLength()});
  }
  return std::make_unique<ChunkedSource>(chunks);
}

std::unique_ptr<HostSource> readerOf(const Napi::Object& input, const std::string& field) {
  const Napi::Value read = input.Get("read");
  if (!read.IsFunction()) values::reject(field + ".read", "a function");
  const int64_t byteLength = values::integer(input.Get("byteLength"), field + ".byteLength");
  return std::make_unique<ReaderSource>(read.As<Napi::Function>(), static_cast<size_t>(byteLength));
}

}  // namespace

std::unique_ptr<HostSource> readHostInput(const Napi::Value& value, const std::string& field) {
  if (value.IsObject()) {
    const Napi::Object input = value.As<Napi::Object>();
    if (input.Has("path")) return fileOf(input, field);
    if (input.Has("chunks")) return chunksOf(input, field);
    if (input.Has("read")) return readerOf(input, field);
  }
  values::reject(field, "a typed array, a device buffer, a file, chunks or a reader");
}

}  // namespace weft
