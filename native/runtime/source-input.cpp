#include "runtime/source-input.h"

#include <limits>

#include "runtime/checksum.h"
#include "runtime/fields.h"
#include "runtime/file.h"
#include "runtime/reader-source.h"
#include "runtime/region-checksum.h"
#include "runtime/values.h"

namespace weft {
namespace {

uint64_t readUnsigned(const Fields& fields, const char* name) {
  const Napi::Value value = fields.value(name);
  bool lossless = false;
  const uint64_t number = value.IsBigInt() ? value.As<Napi::BigInt>().Uint64Value(&lossless) : 0;
  if (!lossless) fields.reject(name, "an unsigned bigint of 64 bits");
  return number;
}

int64_t readSigned(const Fields& fields, const char* name) {
  const Napi::Value value = fields.value(name);
  bool lossless = false;
  const int64_t number = value.IsBigInt() ? value.As<Napi::BigInt>().Int64Value(&lossless) : 0;
  if (!lossless) fields.reject(name, "a bigint of 64 bits");
  return number;
}

FileStamp readStamp(const Fields& fields) {
  return {readUnsigned(fields, "device"), readUnsigned(fields, "inode"), readUnsigned(fields, "byteLength"),
          readSigned(fields, "modifiedNs")};
}

uint32_t readChecksum(const Fields& fields, const char* name) {
  return static_cast<uint32_t>(fields.integer(name, 0, std::numeric_limits<uint32_t>::max()));
}

// A checksum of a head and a region behind it, and one of the head alone, are one of the region: appending
// bytes is adding their sum to a multiple of the head's, and adding is its own inverse.
FileChecksum checksumOf(const Fields& fields, const FileStamp& stamp, int64_t first, int64_t end) {
  const int64_t offset = fields.integer("byteOffset");
  const int64_t length = fields.integer("byteLength");
  if (first < offset || end - offset > length)
    values::reject(fields.path(), "of a region that has all that is read");
  const auto byteLength = static_cast<size_t>(length);
  const uint32_t expected =
      combineChecksums(readChecksum(fields, "head"), readChecksum(fields, "whole"), byteLength);
  const auto byteOffset = static_cast<uint64_t>(offset);
  return {regionChecksum(stamp, byteOffset, byteLength, expected), byteOffset};
}

std::unique_ptr<HostSource> readFile(const Fields& input) {
  const int64_t offset = input.integer("byteOffset");
  const int64_t byteLength = input.integer("byteLength");
  const FileStamp stamp = readStamp(input.object("stamp"));
  FileChecksum checksum;
  if (input.has("checksum"))
    checksum = checksumOf(input.object("checksum"), stamp, offset, offset + byteLength);
  return std::make_unique<FileSource>(
      input.text("path"), stamp, static_cast<uint64_t>(offset), static_cast<size_t>(byteLength),
      values::wordByteLength(input.value("swap"), input.path("swap")), checksum);
}

ChunkedSource::Chunk readChunk(const Napi::Value& chunk, const std::string& path) {
  if (chunk.IsDataView()) {
    const auto view = chunk.As<Napi::DataView>();
    return {static_cast<const std::byte*>(view.Data()), view.ByteLength()};
  }
  if (!chunk.IsTypedArray() || chunk.As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array)
    values::reject(path, "a Uint8Array or a DataView");
  const auto view = chunk.As<Napi::Uint8Array>();
  return {reinterpret_cast<const std::byte*>(view.Data()), view.ByteLength()};
}

std::unique_ptr<HostSource> readReader(const Fields& input) {
  const Napi::Value read = input.value("read");
  if (!read.IsFunction()) input.reject("read", "a function");
  return std::make_unique<ReaderSource>(read.As<Napi::Function>(),
                                        static_cast<size_t>(input.integer("byteLength")));
}

}  // namespace

std::unique_ptr<HostSource> readHostInput(const Napi::Value& value, const std::string& field) {
  if (value.IsObject()) {
    const Fields input(value, field);
    if (input.has("path")) return readFile(input);
    if (input.has("chunks")) return std::make_unique<ChunkedSource>(input.list("chunks", readChunk));
    if (input.has("read")) return readReader(input);
  }
  values::reject(field, "a typed array, a device buffer, a file, chunks or a reader");
}

}  // namespace weft
