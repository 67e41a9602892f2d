/**
 * The time of routines of the CPU that pass over lines once, as sparse matrices', in multiply-adds (`operations` of a call's
 * row): by it short ones are computed on the JavaScript thread (`exec/targets/program-cpu.ts`).
 */
import { sizeOfShape } from '../../graph/graph.js';
import type { RoutineStep } from './call.js';

/**
 * Multiply-adds in the time that one thread takes for an element of a line that it reads or writes: 0.2 ns. A sum of two
 * matrices of 99,000 elements takes 0.17 ms.
 */
const ELEMENT_OPERATIONS = 2.25;

/** Of `each` times the time of a line that is copied, 1 by default. */
export const passedOperations =
  (each = 1) =>
  ({ operands, results }: RoutineStep): number =>
    each *
    ELEMENT_OPERATIONS *
    [...operands, ...results].reduce((sum, { shape }) => sum + sizeOfShape(shape), 0);
