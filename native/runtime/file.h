// Files: reading and writing ranges of regular files, with failures that name the file; and values in the
// other byte order.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/host-source.h"

namespace weft {

// Which file a path was when JavaScript looked at it.
struct FileStamp {
  uint64_t device;
  uint64_t inode;
  uint64_t byteLength;
  int64_t modifiedNanoseconds;
  bool operator==(const FileStamp&) const = default;
};

// Turns the bytes of every value round, in place. `word` is 2, 4 or 8; for 0 and 1 nothing happens.
void swapWords(void* data, size_t byteLength, size_t word);

// An open file; closed when it is destroyed.
class FileDescriptor {
 public:
  // -1: none.
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  ~FileDescriptor();
  FileDescriptor(FileDescriptor&& other) noexcept;
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  int get() const { return fd_; }

 private:
  int fd_;
};

// Another descriptor of an open file, so that its closing in JavaScript leaves this one alone.
FileDescriptor duplicate(int fd, const std::string& path);
// Takes the disk's room for a file of this length, where the file system can.
void reserve(int fd, uint64_t byteLength, const std::string& path);
// Gives two files or folders each other's name at once, or throws a Failure. False: the system cannot.
bool exchange(const std::string& one, const std::string& other);
// A file of so many zeros without a name, in a folder; the system removes it when it is closed. Takes the
// disk's room, where the file system can.
FileDescriptor openUnnamed(const std::string& folder, uint64_t byteLength);
// Reads all the bytes, or throws a Failure.
void readExactly(int fd, void* to, size_t byteLength, uint64_t offset, const std::string& path);
// Writes all the bytes, or throws a Failure.
void writeExactly(int fd, const void* from, size_t byteLength, uint64_t offset, const std::string& path);

class RegionChecksum;

// The checksum of a region of a file, and where it begins: in front of or at the bytes that are read.
struct FileChecksum {
  std::shared_ptr<RegionChecksum> region;
  uint64_t byteOffset = 0;
};

// A region of a file. The file is opened at the first read, and refused unless it is still the one of the
// stamp, then and after every read.
class FileSource : public HostSource {
 public:
  // `word`: bytes of the values whose bytes are swapped while they are copied; 0: none are. Bytes that are
  // read are added to the checksum, where there is one, and refused once that is known to be wrong.
  FileSource(std::string path, const FileStamp& stamp, uint64_t byteOffset, size_t byteLength, size_t word,
             FileChecksum checksum = {});

  size_t byteLength() const override { return byteLength_; }
  void read(size_t offset, size_t byteLength, void* to) override { readOn(offset, byteLength, 0, to); }
  void readOn(size_t offset, size_t byteLength, size_t soon, void* to) override;

 private:
  // The file, open.
  int opened();
  void open();
  void checkStamp(int fd) const;
  void takeChecksum(size_t offset, size_t byteLength, const void* bytes);

  const std::string path_;
  const FileStamp stamp_;
  const uint64_t byteOffset_;
  const size_t byteLength_;
  const size_t word_;
  const FileChecksum checksum_;
  std::mutex opening_;
  FileDescriptor file_;
};

}  // namespace weft
