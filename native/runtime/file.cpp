#include "runtime/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/fs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#endif

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/failure.h"
#include "runtime/recorder.h"
#include "runtime/region-checksum.h"

namespace weft {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& what, const std::string& received,
                         const char* code) {
  throw Failure(FailureCode::file, "[compute] expected " + what + ": " + received + " (" + path + ")", code,
                {}, path);
}

[[noreturn]] void refuseErrno(const std::string& path, const std::string& what, int error) {
  throw Failure(FailureCode::file,
                "[compute] expected " + what + ": " + std::strerror(error) + " (" + path + ")",
                std::to_string(error), {}, path);
}

// Reads of so many bytes and more that wait for the disk are announced to the system: by itself it reads
// ahead in steps of some 100 KiB, which leaves a disk that does many things at once half idle.
constexpr size_t kAnnouncedByteLength = size_t{512} << 10;

constexpr const char* kReadable = "a file that can be read";
constexpr const char* kWritable = "a file that can be written";

template <typename Word, typename Swap>
void swapEach(void* data, size_t byteLength, const Swap& swap) {
  auto* bytes = static_cast<std::byte*>(data);
  for (size_t at = 0; at + sizeof(Word) <= byteLength; at += sizeof(Word)) {
    // The memory may be aligned to less than a word.
    Word word;
    std::memcpy(&word, bytes + at, sizeof word);
    word = swap(word);
    std::memcpy(bytes + at, &word, sizeof word);
  }
}

// Reads what the system has in memory of the bytes, from the first one on, and says how many that are: none
// where it cannot tell. Nothing is refused here.
size_t readCached(int fd, void* to, size_t byteLength, uint64_t offset) {
#if defined(RWF_NOWAIT) && defined(SYS_preadv2)
  const iovec whole{to, byteLength};
  const long part = syscall(SYS_preadv2, fd, &whole, 1, offset, 0, RWF_NOWAIT);
  return part > 0 ? static_cast<size_t>(part) : 0;
#else
  static_cast<void>(fd), static_cast<void>(to), static_cast<void>(byteLength), static_cast<void>(offset);
  return 0;
#endif
}

void announce(int fd, uint64_t offset, size_t byteLength) {
#ifdef POSIX_FADV_WILLNEED
  static_cast<void>(
      posix_fadvise(fd, static_cast<off_t>(offset), static_cast<off_t>(byteLength), POSIX_FADV_WILLNEED));
#else
  static_cast<void>(fd), static_cast<void>(offset), static_cast<void>(byteLength);
#endif
}

}  // namespace

void swapWords(void* data, size_t byteLength, size_t word) {
  if (word == 2)
    swapEach<uint16_t>(data, byteLength, [](uint16_t value) { return __builtin_bswap16(value); });
  if (word == 4)
    swapEach<uint32_t>(data, byteLength, [](uint32_t value) { return __builtin_bswap32(value); });
  if (word == 8)
    swapEach<uint64_t>(data, byteLength, [](uint64_t value) { return __builtin_bswap64(value); });
}

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) close(fd_);
}

FileDescriptor::FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FileDescriptor duplicate(int fd, const std::string& path) {
  FileDescriptor copy(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (copy.get() < 0) refuseErrno(path, kWritable, errno);
  return copy;
}

void reserve(int fd, uint64_t byteLength, const std::string& path) {
#ifdef __linux__
  if (byteLength == 0) return;
  int result;
  do {
    result = fallocate(fd, 0, 0, static_cast<off_t>(byteLength));
  } while (result != 0 && errno == EINTR);
  if (result != 0 && errno != EOPNOTSUPP && errno != ENOSYS) refuseErrno(path, kWritable, errno);
#else
  static_cast<void>(fd), static_cast<void>(byteLength), static_cast<void>(path);
#endif
}

bool exchange(const std::string& one, const std::string& other) {
#ifdef __linux__
  if (syscall(SYS_renameat2, AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0)
    return true;
  if (errno != EINVAL && errno != ENOSYS) refuseErrno(other, kWritable, errno);
#else
  static_cast<void>(one), static_cast<void>(other);
#endif
  return false;
}

FileDescriptor openUnnamed(const std::string& folder, uint64_t byteLength) {
  constexpr const char* kUsable = "a folder for temporary files";
#ifdef O_TMPFILE
  FileDescriptor file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR));
#else
  FileDescriptor file;
#endif
  // Some file systems have no files without names.
  if (file.get() < 0) {
    std::string path = folder + "/weft-XXXXXX";
    file = FileDescriptor(mkostemp(path.data(), O_CLOEXEC));
    if (file.get() < 0) refuseErrno(folder, kUsable, errno);
    unlink(path.c_str());
  }
  if (ftruncate(file.get(), static_cast<off_t>(byteLength)) != 0) refuseErrno(folder, kUsable, errno);
  reserve(file.get(), byteLength, folder);
  return file;
}

void readExactly(int fd, void* to, size_t byteLength, uint64_t offset, const std::string& path) {
  auto* bytes = static_cast<std::byte*>(to);
  for (size_t done = 0; done < byteLength;) {
    const ssize_t part = pread(fd, bytes + done, byteLength - done, static_cast<off_t>(offset + done));
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) refuseErrno(path, kReadable, errno);
    if (part == 0) {
      refuse(path, "a file of at least " + std::to_string(offset + byteLength) + " bytes", "its end",
             "ERR_FILE_CHANGED");
    }
    done += static_cast<size_t>(part);
  }
}

void writeExactly(int fd, const void* from, size_t byteLength, uint64_t offset, const std::string& path) {
  const auto* bytes = static_cast<const std::byte*>(from);
  for (size_t done = 0; done < byteLength;) {
    const ssize_t part = pwrite(fd, bytes + done, byteLength - done, static_cast<off_t>(offset + done));
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) refuseErrno(path, kWritable, part < 0 ? errno : EIO);
    done += static_cast<size_t>(part);
  }
}

FileSource::FileSource(std::string path, const FileStamp& stamp, uint64_t byteOffset, size_t byteLength,
                       size_t word, FileChecksum checksum)
    : path_(std::move(path)),
      stamp_(stamp),
      byteOffset_(byteOffset),
      byteLength_(byteLength),
      word_(word),
      checksum_(std::move(checksum)) {}

// Not blocking: what stands there now may be a pipe.
void FileSource::open() {
  FileDescriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) refuseErrno(path_, kReadable, errno);
  checkStamp(file.get());
#ifdef POSIX_FADV_SEQUENTIAL
  // A hint: the system then reads further ahead.
  static_cast<void>(posix_fadvise(file.get(), static_cast<off_t>(byteOffset_),
                                  static_cast<off_t>(byteLength_), POSIX_FADV_SEQUENTIAL));
#endif
  file_ = std::move(file);
}

void FileSource::checkStamp(int fd) const {
  struct stat now;
  if (fstat(fd, &now) != 0) refuseErrno(path_, kReadable, errno);
#ifdef __APPLE__
  const timespec& modified = now.st_mtimespec;
#else
  const timespec& modified = now.st_mtim;
#endif
  const FileStamp stamp = {static_cast<uint64_t>(now.st_dev), static_cast<uint64_t>(now.st_ino),
                           static_cast<uint64_t>(now.st_size),
                           int64_t{modified.tv_sec} * 1'000'000'000 + modified.tv_nsec};
  if (S_ISREG(now.st_mode) && stamp == stamp_) return;
  refuse(path_, "the file that was opened", "one that was changed or replaced since", "ERR_FILE_CHANGED");
}

int FileSource::opened() {
  const std::lock_guard lock(opening_);
  if (file_.get() < 0) open();
  return file_.get();
}

void FileSource::readOn(size_t offset, size_t byteLength, size_t soon, void* to) {
  const recorder::HostSpan span(recorder::Kind::read, path_, byteLength);
  const int file = opened();
  const uint64_t begin = byteOffset_ + offset;
  const size_t cached = readCached(file, to, byteLength, begin);
  const size_t left = byteLength - cached;
  if (left > 0) {
    if (left + soon >= kAnnouncedByteLength) announce(file, begin + cached, left + soon);
    readExactly(file, static_cast<std::byte*>(to) + cached, left, begin + cached, path_);
  }
  // Bytes that were read while the file changed are not the file's.
  checkStamp(file);
  takeChecksum(offset, byteLength, to);
  swapWords(to, byteLength, word_);
}

void FileSource::takeChecksum(size_t offset, size_t byteLength, const void* bytes) {
  if (checksum_.region == nullptr) return;
  const uint64_t within = byteOffset_ + offset - checksum_.byteOffset;
  if (checksum_.region->take(within, bytes, byteLength)) return;
  refuse(path_, "the bytes that were written, by their checksum", "others", "ERR_FILE_CHECKSUM");
}

}  // namespace weft
