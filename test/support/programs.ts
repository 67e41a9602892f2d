/**
 * Small composite programs as users write them: normalisations, pairwise sums, masks and histograms,
 * stencils, mixed dtypes, several outputs. `programs.test.ts` compares each with the reference interpreter on
 * every backend.
 */
import { GRAPH_PROGRAMS } from './graph-programs.js';
import { INDEXING_PROGRAMS } from './indexing-programs.js';
import { JOIN_PROGRAMS } from './join-programs.js';
import { KERNEL_PROGRAMS } from './kernel-programs.js';
import { LOOP_PROGRAMS } from './loop-programs.js';
import { NORMALISATION_PROGRAMS, PAIR_PROGRAMS } from './normalisation-programs.js';
import { type Program, startFrom } from './program.js';
import { MASK_PROGRAMS, MIXED_PROGRAMS, SHAPE_PROGRAMS } from './shape-programs.js';

const ALL = [
  ...NORMALISATION_PROGRAMS,
  ...PAIR_PROGRAMS,
  ...MASK_PROGRAMS,
  ...SHAPE_PROGRAMS,
  ...MIXED_PROGRAMS,
  ...GRAPH_PROGRAMS,
  ...JOIN_PROGRAMS,
  ...KERNEL_PROGRAMS,
  ...LOOP_PROGRAMS,
  ...INDEXING_PROGRAMS,
];

export const PROGRAMS: readonly Program[] = ALL.map((program, i) => ({
  ...program,
  build: () => {
    startFrom(1000 * i);
    return program.build();
  },
}));
