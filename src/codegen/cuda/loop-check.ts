/**
 * Kernels that decide on a GPU whether a loop goes on: two of one thread, around and in the body of a CUDA
 * graph's conditional node. `native/cuda/loop-while.cpp` makes the graph, whose body does two steps:
 *
 *     loop_begin → while (the handle's value) { a step, the next step, loop_go_on }
 *
 * A launch of the graph ends by itself after some time, so that a loop can be cancelled; the next one goes on
 * where it ended.
 */
import { LOOP_RECORD } from '../../shared/layout.js';

export const LOOP_BEGIN = 'loop_begin';
export const LOOP_GO_ON = 'loop_go_on';

/**
 * The toolkit's own declaration of the function is in a header that NVRTC does not bring. The driver has its
 * code.
 */
export const LOOP_CHECK = `\
extern "C" __device__ void cudaGraphSetConditional(unsigned long long handle, unsigned int value);

struct Record {
${Object.entries(LOOP_RECORD)
  .map(([name, type]) => `  ${type} ${name};`)
  .join('\n')}
};

static __device__ __forceinline__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// There were so many steps that the last state has the flag.
extern "C" __global__ void __launch_bounds__(1)
${LOOP_BEGIN}(unsigned long long handle, Record* record, const unsigned char* flag, long long most, unsigned long long time) {
  if (*flag == 0 || record->steps >= most) record->isOver = 1;
  record->until = nanoseconds() + time;
  cudaGraphSetConditional(handle, record->isOver == 0);
}

// Two more steps ran: the first of them was to, and leaves \`first\`; the second was if that is set.
extern "C" __global__ void __launch_bounds__(1)
${LOOP_GO_ON}(unsigned long long handle, Record* record, const unsigned char* first, const unsigned char* second, long long most) {
  long long steps = record->steps + 1;
  bool isOver = *first == 0 || steps >= most;
  if (!isOver) {
    steps++;
    isOver = *second == 0 || steps >= most;
  }
  record->steps = steps;
  if (isOver) record->isOver = 1;
  cudaGraphSetConditional(handle, !isOver && nanoseconds() < record->until);
}
`;
