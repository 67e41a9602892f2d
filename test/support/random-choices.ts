/**
 * The arbitraries that fast-check draws random graphs from (`random-graph.ts`), for property tests and the
 * soak test.
 */
import fc from 'fast-check';
import { ACTIONS } from './random-graph.js';

const choice = fc.record({
  action: fc.nat(ACTIONS.length - 1),
  a: fc.nat(999),
  b: fc.nat(999),
  c: fc.nat(999),
});
/** Spells a program; any list does (`buildRandomProgram`). */
export const choices = fc.array(choice, { minLength: 2, maxLength: 24 });
