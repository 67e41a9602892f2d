/**
 * One rule for what float functions make of integers and booleans, for every row of the table and every
 * composite.
 */
import { describe, expect, it } from 'vitest';
import { DTYPES, type DType, isComplex, isFloat, isInteger } from '../../src/graph/dtype.js';
import { OP_NAMES, opRow } from '../../src/graph/ops.js';
import { lazy } from '../../src/index.js';
import { freeFunction } from '../support/api.js';
import { argumentDTypes } from '../support/table.js';

const WHOLE = DTYPES.filter((dtype) => isInteger(dtype) || dtype === 'bool');

/** As NumPy's exp: float16 of 8 bits, float32 of 16, float64 of more. */
const EXP: Readonly<Record<string, DType>> = {
  bool: 'float16', int8: 'float16', uint8: 'float16', int16: 'float32', uint16: 'float32',
  int32: 'float64', uint32: 'float64', int64: 'float64', uint64: 'float64',
}; // biome-ignore format: a table

/** Averages and quotients are float64, as NumPy's mean and true division. */
const AVERAGES = ['mean', 'var', 'std', 'norm', 'standardize', 'layerNorm'];
const FUNCTIONS = ['sigmoid', 'silu', 'softplus', 'gelu', 'softmax', 'logSoftmax', 'logsumexp'];

describe('of integers and booleans', () => {
  it('every op that gives floats gives the float of exp, but for division', () => {
    const floats = OP_NAMES.filter((op) => {
      const of = opRow(op).dtype(argumentDTypes(op, opRow(op).arity, 'int32'));
      return of !== undefined && isFloat(of.result) && of.args.every((dtype) => isFloat(dtype));
    });
    expect(floats.length).toBeGreaterThan(25);
    for (const op of floats) {
      for (const dtype of WHOLE) {
        const given = opRow(op).dtype(argumentDTypes(op, opRow(op).arity, dtype))?.result;
        const refused = op === 'nextafter' && EXP[dtype] === 'float16';
        const expected = op === 'divide' ? 'float64' : refused ? undefined : EXP[dtype];
        expect([op, dtype, given]).toEqual([op, dtype, expected]);
      }
    }
  });

  it.each(FUNCTIONS)('%s gives the float of exp', (name) => {
    for (const dtype of WHOLE) {
      const x = lazy([1, 0, 1], { dtype: 'float64' }).astype(dtype);
      expect([dtype, freeFunction(name)(x).dtype]).toEqual([dtype, EXP[dtype]]);
    }
  });

  it.each(AVERAGES)('%s gives float64', (name) => {
    for (const dtype of WHOLE) {
      const x = lazy([1, 0, 1], { dtype: 'float64' }).astype(dtype);
      expect([dtype, freeFunction(name)(x).dtype]).toEqual([dtype, 'float64']);
    }
  });

  it('floats and complex numbers keep their dtype', () => {
    for (const dtype of DTYPES.filter(isFloat)) {
      const x = lazy([1, 0, 1], { dtype });
      for (const name of [...FUNCTIONS, ...AVERAGES])
        expect([name, freeFunction(name)(x).dtype]).toEqual([name, dtype]);
    }
    const z = lazy([1, 0, 1], { dtype: 'complex64' });
    expect(isComplex(freeFunction('sigmoid')(z).dtype)).toBe(true);
  });
});
