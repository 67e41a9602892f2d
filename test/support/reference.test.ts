/** The reference interpreter against NumPy: it must be right before anything is compared with it. */
import { describe, expect, it } from 'vitest';
import { DTYPES, isComplex } from '../../src/graph/dtype.js';
import type { OpName } from '../../src/graph/ops.js';
import { REDUCTIONS, type ReductionName, reductionRow } from '../../src/graph/reductions.js';
import { cast, map, node, source } from './expr-builders.js';
import { fixtures, type ReductionCase } from './fixtures.js';
import { allocate, elementAt, fromScalars, type HostArray, setElement, sizeOf, toScalars } from './host.js';
import { evaluateReference } from './reference.js';
import { halfBits, halfValue } from './scalar.js';
import { complexCompared, opTolerance } from './tolerance.js';
import { EXACT, mismatch, show, ulpDistance } from './ulp.js';

describe('the reference interpreter', () => {
  const ops = fixtures('ops');
  const names = [...new Set(ops.cases.map((c) => c.op as OpName))];
  it.each(names)('gives what NumPy gives for %s', (op) => {
    const failures: string[] = [];
    for (const { dtype, inputs, output } of ops.cases.filter((c) => c.op === op)) {
      const args = inputs.map(ops.read);
      const graph = map(op, args.map(source));
      const [actual] = evaluateReference([graph]);
      const compute = graph.inputs.at(-1)!.dtype;
      const tolerance = opTolerance(op, compute, output.dtype);
      const values = args.map(toScalars);
      const at = (i: number) => values.map((v) => v[i]!);
      const compared = (i: number) =>
        isComplex(compute) && !complexCompared(op, at(i)) ? undefined : tolerance;
      const wrong = mismatch(actual!, ops.read(output), compared, (i) => `${op}(${at(i).map(show)})`);
      if (wrong !== undefined) failures.push(`${dtype}: ${wrong}`);
    }
    expect(failures).toEqual([]);
  });

  it('casts as the fixtures say, for every pair of dtypes', () => {
    const { cases, read } = fixtures('casts');
    const failures: string[] = [];
    for (const { source: from, target, input, output } of cases) {
      const [actual] = evaluateReference([cast(source(read(input)), target)]);
      const wrong =
        from === target
          ? undefined
          : mismatch(actual!, read(output), EXACT, (i) => show(toScalars(read(input))[i]!));
      if (wrong !== undefined) failures.push(`${from} to ${target}: ${wrong}`);
    }
    expect(failures).toEqual([]);
  });

  const isPrimitive = (c: ReductionCase): boolean =>
    c.method in REDUCTIONS && c.error === undefined && c.options.dtype === undefined;
  it.each(
    Object.keys(REDUCTIONS).filter(
      (name) => reductionRow(name as ReductionName).isInternal !== true,
    ) as ReductionName[],
  )('reduces by %s as NumPy does', (name) => {
    const { cases, read } = fixtures('reductions');
    const failures: string[] = [];
    for (const c of cases.filter((entry) => entry.method === name && isPrimitive(entry))) {
      const x = read(c.input);
      const rank = x.shape.length;
      const given = c.options.axis ?? x.shape.map((_, k) => k);
      const axes = [given]
        .flat()
        .map((k) => (k < 0 ? k + rank : k))
        .sort((a, b) => a - b);
      const signature = reductionRow(name).dtype(c.dtype)!;
      const shape = x.shape.filter((_, k) => !axes.includes(k));
      const graph = node({ kind: 'reduce', reduction: name, axes }, signature.result, shape, [
        cast(source(x), signature.arg),
      ]);
      const [actual] = evaluateReference([graph]);
      const reshaped: HostArray = { ...actual!, shape: c.output!.shape };
      const wrong = mismatch(reshaped, read(c.output!), { ulp: 0, absolute: c.bound ?? 0, anyZero: true });
      if (wrong !== undefined) failures.push(`${c.dtype} ${JSON.stringify(c.options)}: ${wrong}`);
    }
    expect(failures).toEqual([]);
  });

  it('contracts a product of matrices as NumPy does', () => {
    const { cases, read } = fixtures('matmul');
    for (const c of cases.filter((entry) => entry.a.shape.length === 2 && entry.b.shape.length === 2)) {
      const inputs = [source(read(c.a)), source(read(c.b))];
      const graph = node(
        {
          kind: 'contract',
          labels: [
            [0, 1],
            [1, 2],
          ],
          output: [0, 2],
          precision: undefined,
          memoryLimit: undefined,
        },
        c.dtype,
        c.output.shape,
        inputs,
      );
      const wrong = mismatch(evaluateReference([graph])[0]!, read(c.output), { ulp: 0, absolute: c.bound });
      expect(wrong, `${c.dtype} [${c.a.shape}] [${c.b.shape}]`).toBeUndefined();
    }
  });

  it('reads strided sources and every view', () => {
    const data = Int32Array.from({ length: 24 }, (_, i) => i);
    const x = node(
      { kind: 'source', source: { type: 'host', data, offset: 23, strides: [-12, 1, -4] } },
      'int32',
      [2, 1, 3],
    );
    const values = (y: ReturnType<typeof node>) => toScalars(evaluateReference([y])[0]!).map(Number);
    expect(values(x)).toEqual([23, 19, 15, 11, 7, 3]);
    const permuted = node(
      { kind: 'view', view: { type: 'permute', order: [2, 1, 0] } },
      'int32',
      [3, 1, 2],
      [x],
    );
    expect(values(permuted)).toEqual([23, 11, 19, 7, 15, 3]);
    const sliced = node(
      { kind: 'view', view: { type: 'slice', starts: [2, 0, 0], steps: [-2, 1, 1] } },
      'int32',
      [2, 1, 1],
      [permuted],
    );
    expect(values(sliced)).toEqual([15, 23]);
    const padded = node({ kind: 'view', view: { type: 'pad', before: [1, 0, -1] } }, 'int32', [3, 1, 2], [x]);
    expect(values(padded)).toEqual([0, 0, 19, 15, 7, 3]);
    const spread = node({ kind: 'view', view: { type: 'broadcast' } }, 'int32', [2, 2, 3], [x]);
    expect(values(spread)).toEqual([23, 19, 15, 23, 19, 15, 11, 7, 3, 11, 7, 3]);
  });

  it('evaluates a chain of 20,000 nodes', () => {
    let x = source(fromScalars('int32', [1], [0n]));
    const one = node({ kind: 'const', value: 1 }, 'int32', []);
    for (let i = 0; i < 20_000; i++) x = node({ kind: 'map', op: 'add' }, 'int32', [1], [x, one]);
    expect(toScalars(evaluateReference([x])[0]!)).toEqual([20_000n]);
  });
});

describe('host arrays of the tests', () => {
  it('hold every half value exactly', () => {
    for (const dtype of ['float16', 'bfloat16'] as const) {
      for (let bits = 0; bits < 65536; bits++) {
        const value = halfValue(dtype, bits);
        if (!Number.isNaN(value)) expect(halfBits(dtype, value)).toBe(bits);
      }
    }
  });

  it.each(DTYPES)('write and read elements of %s', (dtype) => {
    const data = allocate(dtype, 3);
    setElement(dtype, data, 2, 1);
    const one = elementAt(dtype, data, 2);
    expect(show(one)).toBe(dtype === 'bool' ? 'true' : isComplex(dtype) ? '1+0i' : '1');
    expect(sizeOf([3])).toBe(3);
  });

  it('count units in the last place across zero, binades and infinity', () => {
    expect(ulpDistance('float32', 1, 1 + 2 ** -23)).toBe(1);
    expect(ulpDistance('float32', -(2 ** -149), 2 ** -149)).toBe(2);
    expect(ulpDistance('float64', Number.MAX_VALUE, Number.POSITIVE_INFINITY)).toBe(1);
    expect(ulpDistance('float16', 65504, Number.POSITIVE_INFINITY)).toBe(1);
    expect(ulpDistance('float16', 2 ** -14, 2 ** -14 - 2 ** -24)).toBe(1);
    expect(ulpDistance('bfloat16', 1, 1 - 2 ** -8)).toBe(1);
    expect(ulpDistance('float32', Number.NaN, 1)).toBe(Number.POSITIVE_INFINITY);
  });
});
