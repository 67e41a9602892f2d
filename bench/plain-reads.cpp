// Plain reads: the times in which two pinned threads add up an array of float32, the limit of sums that
// memory bounds (`sum_all`, `abs_sum`, `sum_axis1`). A program by itself, beside the benchmark:
//
//   g++ -O3 -march=native -std=c++20 -pthread bench/plain-reads.cpp -o plain-reads
//   ./plain-reads [repeats = 40] [MiB = 64] [small]
//
// By turns, five runs in a row of each: a half for each thread; pieces of 512 KiB, of which a thread that has
// read its own half takes others'; and those in Weft's order, leaves of 4 KiB that are carried into a cascade
// as in native/cpu/accumulate.h. "Ahead": the line 4 KiB ahead of each is asked for. Memory is in pages of
// 2 MiB, or with `small` of 4 KiB. Behind each run, the 1,024 lines that a thread read before it are read
// again, one after the other: the time that code between two runs waits for memory.
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

namespace {

constexpr int kVectors = 4;
constexpr int kLanes = 16;
constexpr size_t kLeaf = 1024;
constexpr size_t kPiece = size_t{128} << 10;
constexpr size_t kHugePage = size_t{2} << 20;
// Touched behind each run: so many lines of so many.
constexpr size_t kLines = 1024;
constexpr size_t kLinesAround = 16384;
constexpr size_t kWordsOfLine = 64 / sizeof(size_t);
constexpr int kInARow = 5;

// One thread's sum, and leaves in its cascade.
struct Sum {
  alignas(64) float v[32][kVectors * kLanes] = {};
  size_t leaves = 0;
};

template <bool Ahead>
inline void addLine(__m512& sum, const float* x) {
  if (Ahead) _mm_prefetch(reinterpret_cast<const char*>(x) + 4096, _MM_HINT_T1);
  sum = _mm512_add_ps(sum, _mm512_loadu_ps(x));
}

template <bool Ahead>
__attribute__((noinline)) void addPlain(Sum& sum, const float* x, size_t count) {
  __m512 acc[kVectors];
  for (int i = 0; i < kVectors; i++) acc[i] = _mm512_load_ps(sum.v[0] + i * kLanes);
#pragma GCC unroll 1
  for (const float* const end = x + count; x < end; x += kVectors * kLanes) {
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; i++) addLine<Ahead>(acc[i], x + i * kLanes);
  }
  for (int i = 0; i < kVectors; i++) _mm512_store_ps(sum.v[0] + i * kLanes, acc[i]);
}

template <bool Ahead>
__attribute__((noinline)) void addLeaf(Sum& sum, const float* x) {
  __m512 acc[kVectors];
  for (auto& a : acc) a = _mm512_setzero_ps();
#pragma GCC unroll 1
  for (const float* const end = x + kLeaf; x < end; x += kVectors * kLanes) {
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; i++) addLine<Ahead>(acc[i], x + i * kLanes);
  }
  size_t level = 0;
  for (size_t left = sum.leaves++; left & 1; left >>= 1, level++) {
    for (int i = 0; i < kVectors; i++)
      acc[i] = _mm512_add_ps(_mm512_load_ps(sum.v[level] + i * kLanes), acc[i]);
  }
  for (int i = 0; i < kVectors; i++) _mm512_store_ps(sum.v[level] + i * kLanes, acc[i]);
}

template <bool Ahead>
void addLeaves(Sum& sum, const float* x, size_t count) {
  for (size_t at = 0; at < count; at += kLeaf) addLeaf<Ahead>(sum, x + at);
}

using Add = void (*)(Sum&, const float*, size_t);

struct Way {
  const char* name;
  Add add;
  bool isInPieces;
  std::vector<double> reads = {};
  std::vector<double> lines = {};
};

// What both threads do: run `number` of the job, on an array that is cut in two.
struct Job {
  const float* x = nullptr;
  size_t count = 0;
  const Way* way = nullptr;
  std::atomic<size_t> next[2] = {};
  std::atomic<int> number = 0;
  std::atomic<int> done = 0;
  Sum sums[2];

  void run(int thread) {
    Sum& sum = sums[thread];
    sum.leaves = 0;
    const size_t half = count / 2;
    if (!way->isInPieces) return way->add(sum, x + thread * half, half);
    for (const int share : {thread, 1 - thread}) {
      for (size_t at = 0; (at = next[share].fetch_add(kPiece)) < half;)
        way->add(sum, x + share * half + at, kPiece);
    }
  }
};

void pin(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

double microsecondsOf(const std::function<void()>& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

// A cycle of lines, each of which says where the next one is.
std::vector<size_t> cycleOfLines() {
  std::vector<size_t> order(kLinesAround);
  for (size_t i = 0; i < kLinesAround; i++) order[i] = i;
  uint32_t random = 1;
  for (size_t i = kLinesAround - 1; i > 1; i--) {
    random = random * 1664525u + 1013904223u;
    std::swap(order[i], order[1 + (random >> 8) % i]);
  }
  std::vector<size_t> lines(kLinesAround * kWordsOfLine);
  for (size_t i = 0; i < kLines; i++) lines[order[i] * kWordsOfLine] = order[(i + 1) % kLines] * kWordsOfLine;
  return lines;
}

double median(std::vector<double>& sorted) { return sorted[sorted.size() / 2]; }

}  // namespace

int main(int argc, char** argv) {
  const int repeats = argc > 1 ? std::atoi(argv[1]) : 40;
  const size_t bytes = static_cast<size_t>(argc > 2 ? std::atoi(argv[2]) : 64) << 20;
  const bool isSmall = argc > 3 && std::strcmp(argv[3], "small") == 0;
  const size_t mapped = bytes + 2 * kHugePage;
  void* const memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  auto* const x =
      reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(memory) + kHugePage - 1) / kHugePage * kHugePage);
  madvise(x, bytes, isSmall ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
  static Job job;
  job.x = x;
  job.count = bytes / sizeof(float);
  for (size_t i = 0; i < job.count; i++) x[i] = static_cast<float>(i % 1024) / 1024;

  std::vector<Way> ways = {
      {"halves", addPlain<false>, false},         {"halves, ahead", addPlain<true>, false},
      {"pieces", addPlain<false>, true},          {"pieces, ahead", addPlain<true>, true},
      {"pieces, leaves", addLeaves<false>, true}, {"pieces, leaves, ahead", addLeaves<true>, true}};
  const std::vector<size_t> lines = cycleOfLines();
  const auto readLines = [&] {
    const volatile size_t* const at = lines.data();
    for (size_t i = at[0]; i != 0;) i = at[i];
  };

  pin(0);
  std::thread other([] {
    pin(1);
    for (int seen = 0;;) {
      int number = 0;
      while ((number = job.number.load()) == seen) _mm_pause();
      if (number < 0) return;
      seen = number;
      job.run(1);
      job.done.store(seen);
    }
  });
  int number = 0;
  for (int repeat = 0; repeat < repeats; repeat++) {
    for (Way& way : ways) {
      for (int k = 0; k < kInARow; k++) {
        readLines();
        job.way = &way;
        for (auto& next : job.next) next.store(0);
        const double read = microsecondsOf([&] {
          job.number.store(++number);
          job.run(0);
          while (job.done.load() != number) _mm_pause();
        });
        const double waited = microsecondsOf(readLines);
        if (k == 0) continue;
        way.reads.push_back(read);
        way.lines.push_back(waited);
      }
    }
  }
  job.number.store(-1);
  other.join();
  for (Way& way : ways) {
    std::sort(way.reads.begin(), way.reads.end());
    std::sort(way.lines.begin(), way.lines.end());
    std::printf("%-22s least %7.1f us, median %7.1f us, %5.1f GB/s; lines behind it %5.1f us\n", way.name,
                way.reads[0], median(way.reads), static_cast<double>(bytes) / median(way.reads) / 1e3,
                median(way.lines));
  }
}
