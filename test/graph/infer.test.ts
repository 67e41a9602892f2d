/**
 * Inference: dtypes with weak scalars as NumPy 2, constants, casts, reductions; errors at the user's call.
 */
import { describe, expect, it } from 'vitest';
import { DTYPES, type DType, type Scalar } from '../../src/graph/dtype.js';
import type { Expr } from '../../src/graph/expr.js';
import { cast, constant, map, type Operand, reduce } from '../../src/graph/infer.js';
import type { OpName } from '../../src/graph/ops.js';
import { castScalar } from '../../src/graph/scalar.js';
import { broadcast } from '../../src/graph/view-nodes.js';
import { DTypeError, RangeArgumentError, ShapeError } from '../../src/host/errors.js';
import { ArgumentError } from '../../src/index.js';

const array = (dtype: DType, ...shape: number[]): Expr => broadcast(constant(1, dtype), shape);

describe('weak scalars', () => {
  // result_type(dtype, scalar) of NumPy 2.4, bfloat16 beside float16.
  it.each<[DType, Scalar, DType]>([
    ['float32', 2, 'float32'],
    ['float32', 2.5, 'float32'],
    ['float32', 2n, 'float32'],
    ['float32', true, 'float32'],
    ['float16', 1e6, 'float16'],
    ['bfloat16', 0.1, 'bfloat16'],
    ['int8', 2, 'int8'],
    ['int8', true, 'int8'],
    ['int8', 0.5, 'float64'],
    ['int32', NaN, 'float64'],
    ['int32', 1e300, 'float64'],
    ['uint8', 2n, 'uint8'],
    ['bool', 2, 'int64'],
    ['bool', 2n ** 63n, 'uint64'],
    ['bool', true, 'bool'],
    ['bool', 0.5, 'float64'],
    ['int16', { re: 1, im: 1 }, 'complex128'],
    ['float16', { re: 1, im: 1 }, 'complex64'],
    ['float32', { re: 1, im: 1 }, 'complex64'],
    ['float64', { re: 1, im: 1 }, 'complex128'],
    ['complex64', 0.5, 'complex64'],
  ])('%s with %s gives %s', (dtype, scalar, result) => {
    expect(map('add', [array(dtype, 2), scalar]).dtype).toBe(result);
    expect(map('add', [scalar, array(dtype, 2)]).dtype).toBe(result);
  });

  it('alone take the defaults', () => {
    const dtypes = [1, 1n, 0.5, true, { re: 0, im: 1 }, 2n ** 63n].map((x) => map('add', [x, x]).dtype);
    expect(dtypes).toEqual(['int64', 'int64', 'float64', 'bool', 'complex128', 'uint64']);
    expect(map('divide', [1, 2]).dtype).toBe('float64');
  });

  it('become constants of the dtype they are used in', () => {
    const constantOf = (dtype: DType, scalar: Scalar): unknown => {
      const [, second] = map('add', [array(dtype, 2), scalar]).inputs;
      return second?.kind === 'const' ? [second.dtype, second.value] : second;
    };
    expect(constantOf('float32', 0.1)).toEqual(['float32', Math.fround(0.1)]);
    expect(constantOf('float16', 0.1)).toEqual(['float16', 0.0999755859375]);
    expect(constantOf('bfloat16', 0.1)).toEqual(['bfloat16', 0.10009765625]);
    expect(constantOf('int64', 3)).toEqual(['int64', 3n]);
    expect(constantOf('complex64', 3)).toEqual(['complex64', { re: 3, im: 0 }]);
    expect(constantOf('float64', -0)).toEqual(['float64', -0]);
    expect(constantOf('float64', 2n ** 53n + 1n)).toEqual(['float64', 2 ** 53]);
    expect(constantOf('float32', 2n ** 60n + 2n ** 36n + 1n)).toEqual(['float32', 2 ** 60 + 2 ** 37]);
  });

  it('out of the range of an integer dtype are refused', () => {
    for (const [dtype, scalar] of [
      ['int8', 128],
      ['int8', -129],
      ['uint8', -1],
      ['int64', 2n ** 63n],
      ['uint64', -1n],
    ] as const) {
      expect(() => map('add', [array(dtype, 2), scalar])).toThrow(RangeArgumentError);
    }
    expect(() => map('add', [array('int8', 2), 300])).toThrow(
      '[add] expected an integer from -128 to 127 beside int8: 300',
    );
    expect(() => map('add', [array('bool', 2), 2n ** 64n])).toThrow(RangeArgumentError);
    expect(map('logicalAnd', [array('int8', 2), 300]).dtype).toBe('bool');
  });

  it('out of range have one answer in comparisons', () => {
    const answer = (op: OpName, ...operands: Operand[]): unknown => {
      const x = map(op, operands);
      return [
        x.kind === 'view' && x.inputs[0]?.kind === 'const' ? x.inputs[0].value : x.kind,
        x.shape.length,
      ];
    };
    const x = array('int8', 2);
    expect(answer('less', x, 300)).toEqual([true, 1]);
    expect(answer('less', 300, x)).toEqual([false, 1]);
    expect(answer('greaterEqual', x, -300)).toEqual([true, 1]);
    expect(answer('equal', x, 300)).toEqual([false, 1]);
    expect(answer('notEqual', array('uint64', 2), -1)).toEqual([true, 1]);
    expect(answer('less', x, 3)).toEqual(['map', 1]);
  });
});

describe('map', () => {
  it('casts inputs to the dtypes of the signature and broadcasts without nodes', () => {
    const [x, y] = [array('int32', 3, 1), array('float32', 4)];
    const sum = map('add', [x, y]);
    expect([sum.dtype, sum.shape]).toEqual(['float64', [3, 4]]);
    expect(sum.inputs.map((input) => [input.kind, input.dtype, input.shape])).toEqual([
      ['cast', 'float64', [3, 1]],
      ['cast', 'float64', [4]],
    ]);
  });

  it("does not let where's condition meet its values", () => {
    const chosen = map('where', [array('float64', 3), array('float32', 3), 0]);
    expect(chosen.dtype).toBe('float32');
    expect(chosen.inputs[0]!.dtype).toBe('bool');
    expect(map('where', [true, 1, 0.5]).dtype).toBe('float64');
  });

  it('names dtypes that the op does not take', () => {
    expect(() => map('less', [array('complex64', 2), 1])).toThrow(
      new DTypeError('[less] expected booleans, integers or floats: complex64 and complex64'),
    );
    expect(() => map('bitwiseAnd', [array('float32', 2), 1])).toThrow(DTypeError);
    expect(() => map('subtract', [array('bool', 2), array('bool', 2)])).toThrow(TypeError);
  });

  it.each([undefined, null, 'a', Symbol('a'), {}, () => 1])('refuses %s as an operand', (operand) => {
    expect(() => map('add', [array('int8', 1), operand as unknown as Scalar])).toThrow(ArgumentError);
  });
});

describe('reduce', () => {
  it('drops axes and finds the dtype', () => {
    const sum = reduce('sum', array('int8', 2, 3, 4), [0, 2]);
    expect([sum.dtype, sum.shape, sum.inputs[0]!.dtype]).toEqual(['int64', [3], 'int64']);
    expect(reduce('argmax', array('float32', 2, 3), [1]).dtype).toBe('int64');
  });

  it('of no axes reduces every element by itself', () => {
    const sum = reduce('sum', array('int8', 2), []);
    expect([sum.kind, sum.dtype, sum.shape]).toEqual(['reduce', 'int64', [2]]);
  });

  it('of no elements is an error without identity only', () => {
    expect(() => reduce('min', array('float32', 0, 3), [0])).toThrow(ShapeError);
    expect(() => reduce('argmax', array('float32', 0), [0])).toThrow(
      '[argmax] expected at least one element to reduce: shape (0,), axes [0]',
    );
    expect(reduce('min', array('float32', 0, 3), [1]).shape).toEqual([0]);
    expect(reduce('sum', array('float32', 0, 3), [0]).shape).toEqual([3]);
  });

  it('refuses complex numbers where there is no order', () => {
    expect(() => reduce('max', array('complex64', 2), [0])).toThrow(DTypeError);
  });
});

describe('cast', () => {
  it('of a constant is done at once, by the rules of the cast node', () => {
    const cases: [Scalar, DType, DType, Scalar][] = [
      [300, 'int16', 'int8', 44],
      [-1, 'int32', 'uint64', 2n ** 64n - 1n],
      [2.9, 'float64', 'int32', 2],
      [-2.9, 'float32', 'int64', -2n],
      [1e30, 'float64', 'int64', 2n ** 63n - 1n],
      [-5, 'float64', 'uint8', 0],
      [NaN, 'float64', 'int32', 0],
      [NaN, 'float64', 'bool', true],
      [1e10, 'float64', 'float16', Infinity],
      [{ re: 1.5, im: 2 }, 'complex64', 'float32', 1.5],
      [{ re: 0, im: 2 }, 'complex64', 'bool', true],
      [true, 'bool', 'complex64', { re: 1, im: 0 }],
    ];
    for (const [value, from, to, result] of cases) expect(castScalar(value, from, to)).toEqual(result);
  });

  it('to the same dtype is no node', () => {
    for (const dtype of DTYPES) expect(cast(array(dtype, 2), dtype).kind).toBe('view');
  });
});
