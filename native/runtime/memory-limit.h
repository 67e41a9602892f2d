// The most memory that Weft may hold of each device in this process: what arrays, runs and pools have
// together. Pools keep to it (cuda/pool.h, host-pool.h): they give back what they keep before they exceed it,
// and refuse what would.
#pragma once
#include <napi.h>

#include <cstddef>
#include <limits>
#include <string>

namespace weft {

inline constexpr size_t kNoMemoryLimit = std::numeric_limits<size_t>::max();

// In bytes, of a device that has `total`; kNoMemoryLimit where none was set. Any thread.
size_t memoryLimit(const std::string& device, size_t total);

// Whether any was set.
bool hasMemoryLimits();

// limitMemory(device: string | undefined, bytes: number, share: number, isSetting: boolean): void
//
// The least of both: bytes (Infinity: none), and a share of the device's memory (1: all). `undefined`: of all
// devices, instead of what was set for each. A setting of the environment gives way to what was set before.
Napi::Value limitMemory(const Napi::CallbackInfo& info);

// memoryLimit(device: string, total: number): number
//
// Infinity where there is none.
Napi::Value memoryLimitOf(const Napi::CallbackInfo& info);

}  // namespace weft
