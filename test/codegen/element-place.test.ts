/** Coordinates of an element whose batch, row and column are known: those that need no division have none. */
import { describe, expect, it } from 'vitest';
import { Parameters } from '../../src/codegen/cuda/parameters.js';
import { matrixPlace } from '../../src/codegen/cuda/routines/element-place.js';
import { Writer } from '../../src/codegen/cuda/writer.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';

/** Six matrices of 5 × 7. */
function printed(box: readonly number[]): { names: readonly string[]; text: string } {
  const out = new Writer();
  const params = new Parameters({ buffers: [] } as unknown as Kernel, 32);
  const names = matrixPlace(6, 5, 7).coordinates(out, params, box);
  return { names, text: out.toString().trim() };
}

describe('coordinates by batch, row and column', () => {
  it('are those, or sums of them where axes are merged', () => {
    expect(printed([6, 5, 7])).toEqual({ names: ['(int)batch', '(int)row', '(int)column'], text: '' });
    expect(printed([6, 35])).toEqual({ names: ['(int)batch', '((int)row * n0 + (int)column)'], text: '' });
    expect(printed([30, 7])).toEqual({ names: ['((int)batch * n0 + (int)row)', '(int)column'], text: '' });
  });

  it('divide the batch alone where it is several axes', () => {
    const { names, text } = printed([2, 3, 5, 7]);
    expect(names.slice(2)).toEqual(['(int)row', '(int)column']);
    expect(text.match(/weft_divide\(\(unsigned int\)\(+int\)batch/g)).toHaveLength(2);
    expect(text).not.toMatch(/row|column/);
  });

  it('are of the linear index where axes are none of those', () => {
    expect(printed([6, 7, 5]).text).toContain('((batch * n0 + row) * n1 + column)');
  });
});
