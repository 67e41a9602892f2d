/** Errors of execution name the user's line; the error of work that several computes await stays as it is. */
import { describe, expect, it } from 'vitest';
import { located } from '../../src/exec/run/evaluate.js';
import type { Expr } from '../../src/graph/expr.js';
import { FileError, LinalgError, MemoryError } from '../../src/host/errors.js';
import { keepTrace } from '../../src/host/stack-traces.js';
import { lazy } from '../../src/index.js';

const exprs = (): readonly Expr[] => [lazy([1, 2]).add(1).expr];

describe('an error of execution', () => {
  it('gets a line for each compute, and is not changed', () => {
    const error = new MemoryError('too little', 'cudaErrorMemoryAllocation', { memory: 5 });
    const { message, stack } = error;
    const told = [located(error, exprs()), located(error, exprs())] as readonly MemoryError[];
    expect([error.message, error.stack]).toEqual([message, stack]);
    for (const each of told) {
      expect(each).not.toBe(error);
      expect(each).toBeInstanceOf(MemoryError);
      expect(each.message).toMatch(
        /^too little\n {4}while computing what was made at .*located\.test\.ts:\d+/,
      );
      expect({ ...each }).toEqual({ ...error });
      expect(each.stack).toBe(stack);
      expect(Object.keys(each)).not.toContain('message');
    }
  });

  it('is given back as it is where it names a place, or where a function of the user threw it', () => {
    const cause = new FileError('no such file', 'x.npy');
    keepTrace(cause);
    const placed = new LinalgError('singular', 0);
    for (const error of [cause, placed, new Error('of the user'), 'text', undefined])
      expect(located(error, exprs())).toBe(error);
  });
});
