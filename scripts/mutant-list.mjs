/** The bugs that `mutants.mjs` plants, each with the tests that have to catch it. */
const PROGRAMS = ['test/conformance/programs.test.ts'];
const SCHEDULES = ['test/sim/schedules.test.ts'];
const FAULTS = ['test/sim/faults.test.ts', 'test/sim/lost-devices.test.ts'];
const RUNTIME = ['test/exec/cuda-runtime.test.ts'];
const SWEEPS = ['test/sim/sweeps.test.ts'];
const STREAMS = ['test/sim/streams.test.ts'];
const KEPT = ['test/sim/kept-memory.test.ts'];
const SHARDED = ['test/sim/sharded-compile.test.ts'];
const TILES = ['test/sim/sharded-tiles.test.ts'];
const VALUES = [...PROGRAMS, 'test/conformance/views.test.ts', 'test/conformance/reductions.test.ts'];

/** Does what is found twice. */
const TWICE = '$&$&';

/** `find` stands once in the file. */
export const MUTANTS = [
  {
    name: 'axes of a reduction that are taken for those of its argument, where a slice goes through',
    file: 'src/fusion/passes/push-slices.ts',
    find: 'const axes = kept.map((axis, k) => ({\n    axis,',
    replace: 'const axes = kept.map((_, k) => ({\n    axis: k,',
    tests: ['test/fusion/push-slices.test.ts'],
    project: 'all',
  },
  {
    name: 'steps of a swept loop at a time that do not end where its states are kept',
    file: 'src/exec/tiles/loop-sweeps.ts',
    find: 'loop.every === 0 && 2 * divisor < most',
    replace: '2 * divisor < most',
    tests: ['test/conformance/loop-budgets.test.ts'],
    project: 'sim',
  },
  {
    name: 'a dropped wait: partial sums are read before another device has made them',
    file: 'native/cuda/peer.cpp',
    find: '  awaitPeer(owner, source, cancel);\n',
    replace: '',
    tests: SHARDED,
  },
  {
    name: 'a shard that is taken for the first one',
    file: 'src/exec/shards/holdings.ts',
    find: 'first: plan.buffers[b]!.part?.[0] ?? 0 }',
    replace: 'first: 0 }',
    tests: SHARDED,
  },
  {
    name: 'what later rounds of a loop read that is dropped after one of them',
    file: 'src/exec/shards/loop-phases.ts',
    find: 'if (isRead && (',
    replace: 'if (!isRead && (',
    tests: ['test/sim/shared-loops.test.ts'],
  },
  {
    name: 'a kernel of several steps whose states are in several windows',
    file: 'src/exec/tiles/sweep-aliases.ts',
    find: 'isCarried(access.buffer) || ',
    replace: '',
    tests: ['test/sim/shared-loops.test.ts'],
  },
  {
    name: 'a unit of work that no device does',
    file: 'src/exec/shards/shard-ranges.ts',
    find: '[k === 0 ? 0 : ends[k - 1]!, end]',
    replace: '[k === 0 ? 0 : ends[k - 1]! + 1, end]',
    tests: SHARDED,
  },
  {
    name: 'partial sums of a share that are taken for those of the next slots',
    file: 'src/exec/shards/shard-stages.ts',
    find: 'first: first * slot, last: last * slot }',
    replace: 'first: first * slot + (first > 0 ? slot : 0), last: last * slot + (first > 0 ? slot : 0) }',
    tests: SHARDED,
  },
  {
    name: 'shards of another layout that are taken for those a function was traced with',
    file: 'src/api/compile-signatures.ts',
    find: '(one.shards === undefined || layoutOf(one) === layoutOf(other))',
    replace: 'true',
    tests: SHARDED,
  },
  {
    name: 'a dropped event wait: a run that ends before its work has',
    file: 'native/cuda/device.cpp',
    find: '  flight.end->wait(flight.run->program->waited);\n',
    replace: '',
    tests: [...PROGRAMS, ...SCHEDULES],
  },
  {
    name: 'a dropped event wait: a step begins before the one of another stream that it comes after has ended',
    file: 'native/cuda/issue-streams.cpp',
    find: '  for (const size_t before : order.after) marks_[before]->holdBack(stream_);\n',
    replace: '',
    tests: STREAMS,
  },
  {
    name: 'what comes after a program does not wait for its other streams',
    file: 'native/cuda/issue-streams.cpp',
    find: '  for (const size_t end : program_.ends) marks_[end]->holdBack(stream_);\n',
    replace: '',
    tests: STREAMS,
  },
  {
    name: 'a branch of a graph does not wait for another one',
    file: 'native/cuda/issue-streams.cpp',
    find: '    if (before >= stretch.first) positions.push_back(before - stretch.first);\n',
    replace: '',
    tests: STREAMS,
  },
  {
    name: 'buffers of steps that run at a time share bytes',
    file: 'src/exec/plan/place.ts',
    find: '(a, b) => !endsBefore(a, b) && !endsBefore(b, a)',
    replace: '() => false',
    tests: STREAMS,
  },
  {
    name: 'tiles that two devices do, for both have claimed them',
    file: 'native/runtime/tile-queue.h',
    find: 'return !taken_[part].exchange(true);',
    replace: 'return !taken_[part].load();',
    tests: TILES,
  },
  {
    name: 'a tile that goes on with a window which another device has',
    file: 'src/exec/tiles/sweep-tables.ts',
    find: '    if (isOwn) this.#held = undefined;\n',
    replace: '',
    project: 'all',
    tests: ['test/exec/dynamic-tiles.test.ts'],
  },
  {
    name: 'a slot is filled while a tile is computed from it',
    file: 'native/cuda/sweep.cpp',
    find: '  if (taken->inUser >= 0) copies_->computed.holdBack(taken->inUser, copies_->inStream);\n',
    replace: '',
    tests: SWEEPS,
  },
  {
    name: 'a tile is computed before its windows are there',
    file: 'native/cuda/sweep.cpp',
    find: '    if (hasIn_) copies_->broughtIn.holdBack(place, stream_);\n',
    replace: '',
    tests: SWEEPS,
  },
  {
    name: "a tile's results are overwritten while they are copied out",
    file: 'native/cuda/sweep.cpp',
    find: '    if (taken->outUser >= 0) copies_->broughtOut.holdBack(taken->outUser, stream_);\n',
    replace: '',
    tests: SWEEPS,
  },
  {
    name: 'a sweep that fails leaves its copies under way',
    file: 'native/cuda/sweep.cpp',
    find: '  const CUresult status = copies_->reset();\n',
    replace: '  const CUresult status = kSuccess;\n',
    tests: SWEEPS,
  },
  {
    name: 'a dropped event wait: staged results are read before the copy has landed',
    file: 'native/cuda/copy-worker.cpp',
    find: '  slot.event->wait();\n',
    replace: '',
    tests: RUNTIME,
  },
  {
    name: 'an event that is never recorded: staging memory is filled again while it is copied from',
    file: 'native/cuda/copy-worker.cpp',
    find: '  slot.event->record(stream_);\n  slot.flying = true;',
    replace: '  slot.flying = true;',
    tests: RUNTIME,
  },
  {
    name: 'a missing free: the block of a run',
    file: 'native/cuda/pool.h',
    find: '~ScopedBlock() { pool_.free(block_); }',
    replace: '~ScopedBlock() {}',
    tests: SCHEDULES,
  },
  {
    name: 'a missing free: a program of the compiler',
    file: 'native/cuda/nvrtc.cpp',
    find: 'nvrtc().nvrtcDestroyProgram(&program_);',
    replace: 'static_cast<void>(program_);',
    tests: FAULTS,
  },
  {
    name: 'a lost device that is asked again',
    file: 'native/cuda/device.cpp',
    find: '  if (!lost_.compare_exchange_strong(none, name)) delete name;',
    replace: '  static_cast<void>(none);\n  delete name;',
    tests: FAULTS,
  },
  {
    name: 'memory that is not zeroed for a kernel, or not all of it',
    file: 'native/cuda/issue.cpp',
    find: 'addresses_[step.buffer], 0, byteLength, stream_)',
    replace: 'addresses_[step.buffer], 0, byteLength / 2, stream_)',
    tests: [...RUNTIME, ...PROGRAMS],
  },
  {
    name: 'a byte beyond a buffer, in memory of the same run, that is zeroed with it',
    file: 'native/cuda/issue.cpp',
    find: 'addresses_[step.buffer], 0, byteLength, stream_)',
    replace: 'addresses_[step.buffer], 0, byteLength + 1, stream_)',
    tests: [...RUNTIME, ...PROGRAMS],
  },
  {
    name: 'an off-by-one in a map: an element beyond the arrays, in memory of the same run',
    file: 'src/codegen/cuda/printers/map-kernel.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: code
    find: 'rest < ${params.size(count)})',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: code
    replace: 'rest <= ${params.size(count)})',
    tests: PROGRAMS,
  },
  {
    name: 'a leaked stream',
    file: 'native/cuda/device.cpp',
    find: '    resources->stream = makeStream(resources->context, name_, "stream 0");\n',
    replace: TWICE,
    tests: PROGRAMS,
  },
  {
    name: 'a leaked event',
    file: 'native/cuda/device.cpp',
    find: 'opened_.load()->events.give(std::move(flight.end));',
    replace: 'static_cast<void>(flight.end.release());',
    tests: PROGRAMS,
  },
  {
    name: 'a leaked module',
    file: 'native/cuda/modules.cpp',
    find: 'WEFT_CU(cuModuleLoadData, &module_, image.bytes.data());',
    replace: TWICE,
    tests: PROGRAMS,
  },
  {
    name: 'a leaked memory pool',
    file: 'native/cuda/pool.cpp',
    find: '  WEFT_CU(cuMemPoolCreate, &pool_, &properties);\n',
    replace: TWICE,
    tests: PROGRAMS,
  },
  {
    name: 'leaked pinned memory',
    file: 'native/cuda/slots.cpp',
    find: '    WEFT_CU(cuMemHostAlloc, &memory, kSlotsPerBlock * kByteLength, kHostPortable);\n',
    replace: TWICE,
    tests: PROGRAMS,
  },
  {
    name: 'a leaked handle of cuBLAS',
    file: 'native/cuda/blas.cpp',
    find: '  WEFT_CUBLAS_CALL(cublasCreate, &handle_);\n',
    replace: TWICE,
    tests: PROGRAMS,
  },
  {
    name: 'a wrong stride of a matrix operand',
    file: 'native/cuda/blas.cpp',
    find: '    product.b.layout.transposed = !product.b.layout.transposed;\n',
    replace: '',
    tests: PROGRAMS,
  },
  {
    name: 'a swapped operand: the factors of a row-major product',
    file: 'native/cuda/blas.cpp',
    find: '    std::swap(product.a, product.b);\n',
    replace: '',
    tests: PROGRAMS,
  },
  {
    name: 'a swapped operand: of a subtraction',
    file: 'src/graph/ops.ts',
    find: /subtract: \{([^}]*?)infix\('-'\)/,
    replace: "subtract: {$1((args, d) => infix('-')([args[1]!, args[0]!], d))",
    tests: PROGRAMS,
  },
  {
    name: 'an off-by-one in a tile: the last row of a transposed tile is read beyond the array',
    file: 'src/codegen/cuda/printers/transpose-kernel.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: code
    find: '`if (i < ${this.#params.size(sizes[inner]!)} && j < ${this.#params.size(sizes[other]!)})`',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: code
    replace: '`if (i < ${this.#params.size(sizes[inner]!)} && j <= ${this.#params.size(sizes[other]!)})`',
    tests: VALUES,
  },
  {
    name: 'a missing barrier between the writing and the reading of a tile',
    file: 'src/codegen/cuda/printers/transpose-kernel.ts',
    find: "    out.line('__syncthreads();');\n",
    replace: '',
    tests: VALUES,
  },
  {
    name: 'a missing barrier in a reduction of a block',
    file: 'src/codegen/cuda/printers/block-reduce.ts',
    find: "  out.line('__syncthreads();');\n",
    replace: '',
    tests: VALUES,
  },
  {
    name: 'a wrong stride: coordinates divided by the size of the next axis',
    file: 'src/codegen/cuda/index-math.ts',
    find: 'const { magic, shift } = params.divisor(size);',
    replace: 'const { magic, shift } = params.divisor(size + 1);',
    tests: VALUES,
  },
  {
    name: 'a vector access that is not aligned',
    file: 'src/codegen/cuda/chunks.ts',
    find: 'access.offset % width === 0 &&',
    replace: '',
    tests: VALUES,
  },
  {
    name: 'a temporary whose place is given away while it is still read',
    file: 'src/exec/plan/memory.ts',
    find: 'for (; step < block.first - 1; step++)',
    replace: 'for (; step < block.first; step++)',
    tests: PROGRAMS,
  },
  {
    name: 'a peak that forgets how blocks are rounded',
    file: 'src/exec/plan/block-bytes.ts',
    find: 'return roundUp(bytes, Math.min(DEVICE_MOST_STEP, Math.max(DEVICE_LEAST_STEP, power / DEVICE_STEPS)));',
    replace: 'return bytes;',
    tests: KEPT,
  },
  {
    name: 'a fusion across a write: a value that is read at another place than where it is made',
    file: 'src/fusion/partition/merge.ts',
    // Either of the two checks would do.
    edits: [
      ['readsElsewhere(union) ?? limitOf(union, isLiveOut)', 'limitOf(union, isLiveOut)'],
      ['if (loads.length > 1)\n', 'if (loads.length > 99)\n'],
      ['loads.length !== 1 || loads[0]!.bounds.length > 0', 'loads.length === 0'],
    ],
    tests: VALUES,
  },
  {
    name: 'a fusion that spreads the value of a row',
    file: 'src/fusion/partition/merge-limits.ts',
    find: 'stores.some(isSpread) && isLiveOut(buffer.key));',
    replace: 'stores.some(isSpread) && isLiveOut(buffer.key) && axisOf.length > 99);',
    tests: PROGRAMS,
  },
  {
    name: 'a fusion that computes and stores a value more than once',
    file: 'src/fusion/partition/merge.ts',
    find: 'if (open.some(isRow) || (open.length > 0 && !match.every(isRow))) return',
    replace: 'if (open.length > 0 && !match.every(isRow)) return',
    tests: PROGRAMS,
  },
  {
    name: 'a graph that goes on with the memory of the run before',
    file: 'native/cuda/graph-exec.cpp',
    find: 'if (isComplete() && !step.isCounted && isSame(nodes_[next_].addresses, step, parameters, addresses)) {',
    replace: 'if (isComplete() && !step.isCounted) {',
    tests: ['test/sim/graphs.test.ts'],
  },
  {
    name: 'a product in a graph that goes on with the memory of the run before',
    file: 'native/cuda/graph-exec.cpp',
    find: 'if (node.addresses == places) return;',
    replace: 'return;',
    tests: ['test/sim/product-graphs.test.ts'],
  },
  {
    name: 'a product in a graph as it was recorded with its buffers elsewhere',
    file: 'native/cuda/captures.cpp',
    find: 'return kept.places == places;',
    replace: 'return kept.places.size() == places.size();',
    tests: ['test/sim/product-graphs.test.ts'],
  },
  {
    name: 'a condition of a loop that is looked at before it is there',
    file: 'native/cuda/loop-while.cpp',
    find: '      looks.read[done % 2]->wait();\n',
    replace: '',
    tests: ['test/sim/read-conditions.test.ts', 'test/sim/loops.test.ts', ...PROGRAMS],
  },
  {
    name: 'the steps of a loop that decides on the device, looked at before they are there',
    file: 'native/cuda/loop-while.cpp',
    find: '    read.wait();\n',
    replace: '',
    tests: ['test/sim/decided-loops.test.ts'],
  },
  {
    name: "a window's rows as far apart as the whole's",
    file: 'native/runtime/sweep.cpp',
    find: 'window.first / window.pitch * buffer.slotPitch + window.first % window.pitch',
    replace: 'window.first',
    tests: SWEEPS,
  },
  {
    name: 'a map that writes over what it reads elsewhere',
    file: 'src/fusion/kernel/algebra.ts',
    find: 'load.index === undefined && load.bounds.length === 0 && sameAffine(load, store)',
    replace: 'load.bounds.length === 0',
    tests: [...PROGRAMS, 'test/conformance/stencils.test.ts'],
  },
  {
    name: 'a stencil whose tiles overlap too little',
    file: 'src/codegen/cuda/schedules/schedule-stencil.ts',
    find: 'const halo = [down * steps, left] as const;',
    replace: 'const halo = [Math.max(0, down * steps - 1), left] as const;',
    tests: ['test/conformance/stencils.test.ts'],
  },
  {
    name: 'a stencil that reads rows before other warps hand them over',
    file: 'src/codegen/cuda/printers/stencil-kernel.ts',
    find: "    });\n    out.line('__syncthreads();');",
    replace: '    });',
    tests: ['test/conformance/stencils.test.ts'],
  },
];

/** The text of a mutant's file with its bug. Throws where what it replaces does not stand there once. */
export function planted({ file, find, replace, edits = [[find, replace]] }, text) {
  let result = text;
  for (const [from, to] of edits) {
    const count = typeof from === 'string' ? text.split(from).length - 1 : Number(from.test(text));
    if (count !== 1) throw new Error(`what it replaces is found ${count} times in ${file}`);
    result = result.replace(from, to);
  }
  return result;
}
