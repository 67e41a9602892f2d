// Vector instructions of arm64, as words whose registers are zero. Those of numbers are for 4 of 32 bits; the
// bit that makes them 2 of 64 is `kDouble` of floats, `kWide` of integers.
#pragma once
#include <cstdint>

namespace weft::cpu::jit::arm64 {

constexpr uint32_t kDouble = 1u << 22, kWide = 1u << 22;

// out = a op b.
constexpr uint32_t kAnd = 0x4e201c00, kBic = 0x4e601c00, kOrr = 0x4ea01c00, kEor = 0x6e201c00;
constexpr uint32_t kAdd = 0x4ea08400, kSub = 0x6ea08400, kMul = 0x4ea09c00;
constexpr uint32_t kSmax = 0x4ea06400, kSmin = 0x4ea06c00, kUmax = 0x6ea06400, kUmin = 0x6ea06c00;
constexpr uint32_t kCmeq = 0x6ea08c00, kCmgt = 0x4ea03400, kCmge = 0x4ea03c00, kCmhi = 0x6ea03400,
                   kCmhs = 0x6ea03c00;
constexpr uint32_t kSshl = 0x4ea04400, kUshl = 0x6ea04400;
constexpr uint32_t kFadd = 0x4e20d400, kFsub = 0x4ea0d400, kFmul = 0x6e20dc00, kFdiv = 0x6e20fc00;
constexpr uint32_t kFmax = 0x4e20f400, kFmin = 0x4ea0f400;
constexpr uint32_t kFcmeq = 0x4e20e400, kFcmge = 0x6e20e400, kFcmgt = 0x6ea0e400;
// Of 2 numbers of 32 bits, the products of 64.
constexpr uint32_t kSmull = 0x0ea0c000;
constexpr uint32_t kZip1 = 0x4e803800, kTrn1 = 0x4e802800, kUmaxp = 0x6ea0a400;

// Those that read `out` as well: it selects; a second or first number is taken where b is set, or is not;
// products are added or subtracted, of integers the first two of 32 bits.
constexpr uint32_t kBsl = 0x6e601c00, kBit = 0x6ea01c00, kBif = 0x6ee01c00;
constexpr uint32_t kFmla = 0x4e20cc00, kFmls = 0x4ea0cc00, kUmlal = 0x2ea08000;

// out = op a.
constexpr uint32_t kNot = 0x6e205800, kNeg = 0x6ea0b800;
constexpr uint32_t kFsqrt = 0x6ea1f800, kFneg = 0x6ea0f800, kFabs = 0x4ea0f800;
constexpr uint32_t kFrintn = 0x4e218800, kFrintm = 0x4e219800, kFrintp = 0x4ea18800, kFrintz = 0x4ea19800;
constexpr uint32_t kScvtf = 0x4e21d800, kUcvtf = 0x6e21d800, kFcvtzs = 0x4ea1b800, kFcvtzu = 0x6ea1b800;
// With zero.
constexpr uint32_t kCmeq0 = 0x4ea09800, kCmgt0 = 0x4ea08800, kCmge0 = 0x6ea08800, kCmle0 = 0x6ea09800,
                   kCmlt0 = 0x4ea0a800;
constexpr uint32_t kFcmeq0 = 0x4ea0d800, kFcmgt0 = 0x4ea0c800, kFcmge0 = 0x6ea0c800, kFcmle0 = 0x6ea0d800,
                   kFcmlt0 = 0x4ea0e800;
// Of 2 numbers of 64 bits and 2 of 32: half as long, of floats and of integers, which wrap or saturate.
constexpr uint32_t kFcvtl = 0x0e617800, kFcvtn = 0x0e616800;
constexpr uint32_t kXtn = 0x0ea12800, kSqxtn = 0x0ea14800, kUqxtn = 0x2ea14800;
// Halves of lanes of 64 bits exchanged, or added up; the sums of all numbers of 32, and of both of 64 bits.
constexpr uint32_t kRev64 = 0x4ea00800, kUaddlp = 0x6ea02800, kAddv = 0x4eb1b800, kAddp = 0x5ef1b800;
constexpr uint32_t kZero = 0x6f00e400;

// By constant counts, whose field is the width more, or of shifts right twice the width less.
constexpr uint32_t kShl = 0x4f005400, kUshr = 0x6f000400, kSshr = 0x4f000400;

}  // namespace weft::cpu::jit::arm64
