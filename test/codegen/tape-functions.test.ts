/** The CPU has a function for every op, joined pair, cast and reduction that a tape can hold. */
import { describe, expect, it } from 'vitest';
import { encodeTape, planTape } from '../../src/codegen/cpu/tape.js';
import { CHAIN_BINARY, CHAIN_REDUCTIONS } from '../../src/codegen/cpu/tape-chain.js';
import {
  COMPARISONS,
  EXP_INNER,
  INNER_BINARY,
  INNER_UNARY,
  OUTER_BINARY,
  OUTER_UNARY,
  SUM_INNER,
} from '../../src/codegen/cpu/tape-fuse.js';
import * as native from '../../src/exec/native/native.js';
import { DTYPES, type DType, isHalf } from '../../src/graph/dtype.js';
import { OP_NAMES, type OpName, opRow } from '../../src/graph/ops.js';
import { REDUCTIONS, type ReductionName, reductionRow } from '../../src/graph/reductions.js';
import { KernelBuilder } from '../support/kernel-builder.js';
import { runTape, tapeProgram } from '../support/tape-runner.js';
import { opsOf } from './tape-ops.js';

describe('the CPU', () => {
  it('has every step of a chain', () => {
    for (const dtype of ['float32', 'float64'] as const) {
      const check = (
        step: string,
        build: (b: KernelBuilder, x: number) => number,
        isReduced = false,
      ): void => {
        const b = isReduced ? new KernelBuilder([], [1000]) : new KernelBuilder([1000]);
        const kernel = b.store(build(b, b.map('sqrt', b.map('exp', b.load(dtype, [1]))))).build();
        const plan = planTape(kernel);
        expect(opsOf(plan, plan.schedule.walks[0]!).join(' ').split(' ')).toContain(step);
        expect(() => tapeProgram(native, kernel), step).not.toThrow();
      };
      for (const op of OP_NAMES) {
        const { arity, dtype: rule } = opRow(op);
        const signature = rule(Array.from({ length: arity }, () => dtype));
        if (arity === 1 && signature?.result === dtype) check(op, (b, x) => b.map(op, x));
      }
      for (const op of CHAIN_BINARY) {
        check(`${op}.0`, (b, x) => b.map(op, x, b.load(dtype, [1])));
        check(`${op}.1`, (b, x) => b.map(op, b.load(dtype, [1]), x));
      }
      for (const op of COMPARISONS) {
        check(`where.${op}`, (b, x) =>
          b.map('where', b.map(op, x, b.load(dtype, [1])), x, b.load(dtype, [1])),
        );
      }
      for (const op of CHAIN_REDUCTIONS) check(`reduce.${op}`, (b, x) => b.reduce(op, x), true);
    }
  });

  it('has every op in every dtype that its row yields', () => {
    for (const op of OP_NAMES) {
      const { arity, dtype: rule } = opRow(op);
      for (const dtype of DTYPES) {
        const given = Array.from(
          { length: arity },
          (_, k): DType => (op === 'where' && k === 0 ? 'bool' : dtype),
        );
        const signature = rule(given);
        if (signature === undefined || isHalf(dtype)) continue;
        const b = new KernelBuilder([100]);
        const args = given.map((from, k) => b.cast(b.load(from, [1]), signature.args[k]!));
        expect(
          () => tapeProgram(native, b.store(b.map(op, ...args)).build()),
          `${op} of ${dtype}`,
        ).not.toThrow();
      }
    }
  });

  it('has every joined function', () => {
    for (const dtype of ['float32', 'float64'] as const) {
      const builderOf = () => new KernelBuilder([1000]);
      const apply = (b: KernelBuilder, op: OpName): number =>
        b.map(op, ...Array.from({ length: opRow(op).arity }, () => b.load(dtype, [1])));
      const check = (name: string, b: KernelBuilder): void => {
        const kernel = b.build();
        const plan = planTape(kernel);
        expect(opsOf(plan, plan.schedule.walks[0]!)).toContain(name);
        expect(() => tapeProgram(native, kernel), name).not.toThrow();
      };
      for (const inner of [...INNER_UNARY, ...INNER_BINARY]) {
        for (const outer of OUTER_UNARY) {
          const b = builderOf();
          check(`${outer}.${inner}`, b.store(b.map(outer, apply(b, inner))));
        }
        for (const outer of OUTER_BINARY) {
          for (const place of [0, 1]) {
            const b = builderOf();
            const other = b.load(dtype, [1]);
            const args = place === 0 ? [apply(b, inner), other] : [other, apply(b, inner)];
            check(`${outer}.${inner}.${place}`, b.store(b.map(outer, ...args)));
          }
        }
      }
      for (const inner of EXP_INNER) {
        const b = builderOf();
        check(`exp.${inner}`, b.store(b.map('exp', apply(b, inner))));
      }
      for (const inner of COMPARISONS) {
        const b = builderOf();
        const choice = b.map('where', apply(b, inner), b.load(dtype, [1]), b.load(dtype, [1]));
        check(`where.${inner}`, b.store(choice));
      }
      for (const inner of SUM_INNER) {
        const b = new KernelBuilder([], [1000]);
        const [outer, difference] = inner.split('.') as [OpName, OpName | undefined];
        const value = difference === undefined ? apply(b, outer) : b.map(outer, apply(b, difference));
        check(`sum.${inner}`, b.store(b.reduce('sum', value)));
      }
    }
  });

  it('has one function for places that count from the end and are clipped', async () => {
    const b = new KernelBuilder([200]);
    const x = b.load('int64', [1]);
    const [zero, size, last] = [0n, 10n, 9n].map((value) => b.constant('int64', value));
    const place = b.map('where', b.map('less', x, zero!), b.map('add', x, size!), x);
    const kernel = b.store(b.map('minimum', b.map('maximum', place, zero!), last!)).build();
    const plan = planTape(kernel);
    expect(opsOf(plan, plan.schedule.walks[0]!)).toContain('placeWithin');
    expect(opsOf(plan, plan.schedule.walks[0]!)).not.toContain('where');
    const given = BigInt64Array.from({ length: 200 }, (_, k) =>
      k < 2 ? (k === 0 ? -(2n ** 63n) : 2n ** 63n - 1n) : BigInt(k - 100),
    );
    const [places] = await runTape(native, kernel, [given]);
    const expected = given.map((k) => (k < -10n ? 0n : k < 0n ? k + 10n : k > 9n ? 9n : k));
    expect(places).toEqual(expected);
  });

  it('casts every dtype to every other', () => {
    for (const from of DTYPES) {
      for (const to of DTYPES) {
        const b = new KernelBuilder([100]);
        expect(
          () => tapeProgram(native, b.store(b.cast(b.load(from, [1]), to)).build()),
          `${from} to ${to}`,
        ).not.toThrow();
      }
    }
  });

  it('has every reduction of every dtype that its row takes', () => {
    for (const name of Object.keys(REDUCTIONS) as ReductionName[]) {
      if (name === 'monoid') continue; // which one it is stands in the instruction
      for (const dtype of DTYPES) {
        if (reductionRow(name).dtype(dtype) === undefined) continue;
        const b = new KernelBuilder([5], [100]);
        expect(
          () => tapeProgram(native, b.store(b.reduce(name, b.load(dtype, [100, 1]))).build()),
          `${name} of ${dtype}`,
        ).not.toThrow();
      }
    }
  });

  it('refuses a tape that is cut short', () => {
    const b = new KernelBuilder([100]);
    const kernel = b.store(b.map('exp', b.load('float32', [1]))).build();
    const tape = encodeTape(kernel);
    const cut = { ...tape, words: tape.words.slice(0, -1) };
    expect(() =>
      native.createProgram({
        device: 'cpu',
        arenaByteLength: 0,
        images: [],
        buffers: [
          { role: 'input', byteLength: 400, offset: -1 },
          { role: 'output', byteLength: 400, offset: -1 },
        ],
        tapes: [cut],
        steps: [{ kind: 'tape', tape: 0, buffers: [0, 1] }],
      }),
    ).toThrow(/malformed tape/);
  });
});
