#include "core/fiber.h"

#include <cstdint>

#ifndef __x86_64__
#include <ucontext.h>

#include <deque>
#endif

namespace weft::sim {

#ifdef __x86_64__

// Saves what a callee must keep, and changes stacks. About a hundred times as fast as swapcontext, which asks
// the kernel for the signal mask. A jump in the place of a return, which a processor expects to go to where
// the call before on the other stack came from.
asm(R"(
.text
.hidden weft_sim_switch
.globl weft_sim_switch
.type weft_sim_switch, @function
weft_sim_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmpq *%rcx
.size weft_sim_switch, .-weft_sim_switch
)");

FiberContext prepareFiber(char* stack, size_t byteLength, void (*entry)()) {
  // At its first instruction a function's stack is 8 bytes off a multiple of 16.
  auto top = reinterpret_cast<uintptr_t>(stack + byteLength) & ~uintptr_t{15};
  auto* words = reinterpret_cast<uintptr_t*>(top);
  *--words = 0;
  *--words = reinterpret_cast<uintptr_t>(entry);
  for (int i = 0; i < 6; i++) *--words = 0;
  return words;
}

#else

namespace {

// Contexts are kept for good: there are as many as stacks, and one for each thread that runs kernels.
ucontext_t* contextOn(char* stack) {
  static std::deque<std::pair<char*, ucontext_t> >& all = *new std::deque<std::pair<char*, ucontext_t> >();
  for (auto& [owner, context] : all) {
    if (owner == stack) return &context;
  }
  return &all.emplace_back(stack, ucontext_t{}).second;
}

thread_local ucontext_t* running = nullptr;

}  // namespace

FiberContext prepareFiber(char* stack, size_t byteLength, void (*entry)()) {
  ucontext_t* context = contextOn(stack);
  getcontext(context);
  context->uc_stack.ss_sp = stack;
  context->uc_stack.ss_size = byteLength;
  context->uc_link = nullptr;
  makecontext(context, entry, 0);
  return context;
}

void switchFiber(FiberContext& from, FiberContext to) {
  static thread_local ucontext_t own;
  ucontext_t* mine = running == nullptr ? &own : running;
  from = mine;
  running = static_cast<ucontext_t*>(to);
  swapcontext(mine, running);
}

#endif

}  // namespace weft::sim
