/** The tests that `npm run test:sanitize` runs: few, with many paths through the addon. */
import { availableParallelism } from 'node:os';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { SIM_ENVIRONMENT } from '../sim/environment.js';
import { besideBuilt } from '../support/built-modules.js';

const SETUP = ['test/support/same-bits.ts', 'test/sanitize/setup.ts'];
const ON_CPU = { WEFT_TEST_ONLY: 'cpu' };
const common = { testTimeout: 300_000, hookTimeout: 120_000, pool: 'forks' };

/** On the CPU: reads and writes of kernels and attention, handles, files, loops. */
const CPU = [
  'test/fusion/attention.test.ts',
  'test/conformance/programs.test.ts',
  'test/conformance/matmul.test.ts',
  'test/exec/native.test.ts',
  'test/exec/native-files.test.ts',
  'test/exec/native-loops.test.ts',
  'test/exec/tape-workers.test.ts',
];

/** Threads that follow one another through tiles: for ThreadSanitizer, and slow with others. */
const THREADS = ['test/exec/tape-skew.test.ts', 'test/exec/scan-threads.test.ts'];

/** On the simulated CUDA, which checks the accesses of kernels itself: the runtime around them, on one GPU and on several. Not with
 * ThreadSanitizer, whose calls the simulator takes. */
const SIM = [
  'test/sim/lanes.test.ts',
  'test/sim/pinned.test.ts',
  'test/sim/sharded-arrays.test.ts',
  'test/sim/engine-results.test.ts',
];

const projects: TestProjectInlineConfiguration[] = [
  { test: { ...common, name: 'cpu', setupFiles: SETUP, include: CPU, env: ON_CPU } },
  { test: { ...common, name: 'threads', setupFiles: SETUP, include: THREADS, env: ON_CPU } },
  {
    test: {
      ...common,
      name: 'sim',
      setupFiles: [...SETUP, 'test/sim/setup.ts'],
      include: SIM,
      env: { ...SIM_ENVIRONMENT, WEFT_TEST_ONLY: 'cuda' },
    },
  },
];

export default defineConfig({
  test: {
    maxWorkers: availableParallelism(),
    experimental: { fsModuleCache: true },
    projects: process.env.WEFT_TEST_BUILT === '1' ? projects.flatMap(besideBuilt) : projects,
  },
});
