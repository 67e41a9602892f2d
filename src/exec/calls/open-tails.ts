import type { RoutineStep } from './call.js';
import type { OpenTails } from './call-row.js';

/**
 * Results [first, last) of a routine are undefined behind their length where a parameter is 1, which may be absent
 * else; of a sparse matrix they are the columns and the values of its elements.
 */
export const openTails = (parameter: number, first: number, last?: number): OpenTails<RoutineStep> => ({
  buffers: ({ results }) => results.slice(first, last).map(({ buffer }) => buffer),
  opened: (step) => ({ ...step, parameters: step.parameters.toSpliced(parameter, 1, 1) }),
});
