import { defineConfig } from 'vitest/config';
import { SIM_ENVIRONMENT } from './test/sim/environment.js';

/** Tests of a GPU that belong beside what they test. */
const CUDA = [
  'test/exec/cuda-runtime.test.ts',
  'test/codegen/cuda-ops.test.ts',
  'test/codegen/cuda-values.test.ts',
];
const common = { testTimeout: 60_000, pool: 'forks' } as const;

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...common,
          name: 'all',
          include: ['test/**/*.test.ts'],
          exclude: ['test/sim/**', ...CUDA],
        },
      },
      // On the simulated CUDA (`native/sim`), whose checks every test must pass besides its own.
      {
        test: {
          ...common,
          name: 'sim',
          include: ['test/sim/**/*.test.ts', ...CUDA, 'test/conformance/**/*.test.ts'],
          setupFiles: ['test/sim/setup.ts'],
          env: {
            ...SIM_ENVIRONMENT,
            WEFT_TEST_ONLY: 'cuda',
            WEFT_PROPERTY_RUNS: process.env.WEFT_PROPERTY_RUNS ?? '300',
          },
        },
      },
    ],
  },
});
