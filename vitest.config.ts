import { availableParallelism } from 'node:os';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { SIM_ENVIRONMENT } from './test/sim/environment.js';
import { besideBuilt } from './test/support/built-modules.js';
import { OwnProcessesFirst, sharedProcesses } from './test/support/shared-processes.js';
import { SlowestTests } from './test/support/slowest-tests.js';

/** Tests of a GPU that belong beside what they test. */
const CUDA = [
  'test/exec/cuda-runtime.test.ts',
  'test/codegen/cuda-ops.test.ts',
  'test/codegen/cuda-values.test.ts',
];
const SETUP = 'test/support/same-bits.ts';
/** Another Node.js for the tests than for their runner: of another processor, under an emulator. */
const { WEFT_TEST_NODE } = process.env;
if (WEFT_TEST_NODE !== undefined) process.execPath = WEFT_TEST_NODE;

/**
 * Times are for machines that do other work besides: the longest tests take half a minute alone, and ten to
 * twenty times as long in emulated code.
 */
const common = {
  testTimeout: WEFT_TEST_NODE === undefined ? 180_000 : 3_600_000,
  hookTimeout: 60_000,
  pool: sharedProcesses,
  isolate: false,
  setupFiles: [SETUP],
  // V8 optimizes a function once that much of its bytecode has run. At its own 132 KiB that takes a fifth of the
  // tests' processor time, for functions that most tests run a few times; small young generations take a tenth.
  execArgv: ['--interrupt-budget=1000000', '--max-semi-space-size=32'],
};

/** On the simulated CUDA (`native/sim`), whose checks every test must pass besides its own. */
const SIM = {
  setupFiles: [SETUP, 'test/sim/setup.ts'],
  env: {
    ...SIM_ENVIRONMENT,
    WEFT_TEST_ONLY: 'cuda',
    WEFT_PROPERTY_RUNS: process.env.WEFT_PROPERTY_RUNS ?? '300',
  },
};

const projects: TestProjectInlineConfiguration[] = [
  {
    test: {
      ...common,
      name: 'all',
      include: ['test/**/*.test.ts'],
      exclude: ['test/sim/**', ...CUDA],
    },
  },
  {
    test: {
      ...common,
      ...SIM,
      name: 'sim',
      include: [
        'test/sim/**/*.test.ts',
        ...CUDA,
        'test/conformance/**/*.test.ts',
        'test/fusion/bin-maps.test.ts',
        'test/fusion/scans.test.ts',
        'test/guest/at-once.test.ts',
      ],
      // Where memory is watched, there are no graphs, there is one stream, and buffers lie elsewhere than planned.
      exclude: [
        'test/sim/sharded-budgets.test.ts',
        'test/sim/graphs.test.ts',
        'test/sim/product-graphs.test.ts',
        'test/sim/streams.test.ts',
        // On the CPU alone.
        'test/conformance/bin-sums.test.ts',
        'test/conformance/neighbour-panels.test.ts',
      ],
    },
  },
  // With the buffers of a run where plans place them: in one block, beside and after each other.
  {
    test: {
      ...common,
      ...SIM,
      name: 'sim-placed',
      include: [
        'test/conformance/programs.test.ts',
        'test/conformance/budgets.test.ts',
        'test/sim/compile.test.ts',
        'test/sim/sharded-budgets.test.ts',
        'test/sim/decided-loops.test.ts',
        'test/sim/inline-runs.test.ts',
        'test/sim/graphs.test.ts',
        'test/sim/product-graphs.test.ts',
        'test/sim/reduced-products.test.ts',
        'test/sim/streams.test.ts',
        'test/guest/at-once.test.ts',
      ],
      env: { ...SIM.env, WEFT_POISON: '0' },
    },
  },
];

export default defineConfig({
  test: {
    // Modules as Vite made them of sources, by their content: each project, process and run takes them from there.
    experimental: { fsModuleCache: true },
    // One more than cores: a fifth of the time, tests wait for deadlines, files and processes.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: OwnProcessesFirst },
    reporters: process.env.CI === undefined ? ['default'] : ['default', new SlowestTests(20)],
    projects: process.env.WEFT_TEST_BUILT === '1' ? projects.flatMap(besideBuilt) : projects,
  },
});
