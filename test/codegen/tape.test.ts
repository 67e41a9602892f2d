/**
 * Decisions of the tape encoder: axes, blocking, sections, registers, slots; and that the CPU has a function
 * for every op, cast and reduction that a kernel can hold.
 */
import { describe, expect, it } from 'vitest';
import { blockingsOf, encodeTape, planTape } from '../../src/codegen/cpu/tape.js';
import { castHops, prepare } from '../../src/codegen/cpu/tape-domain.js';
import * as native from '../../src/exec/native/native.js';
import { create } from '../../src/fusion/kernel/instruction.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import { KernelBuilder } from '../support/kernel-builder.js';
import { tapeProgram } from '../support/tape-runner.js';
import { opsOf } from './tape-ops.js';

/** Softmax of the rows of an (m, n) array. */
function softmax(m: number, n: number): Kernel {
  const b = new KernelBuilder([m], [n]);
  const x = b.load('float32', [n, 1]);
  const e = b.map('exp', b.map('subtract', x, b.reduce('max', x)));
  return b.store(b.map('divide', e, b.reduce('sum', e)), [n, 1]).build();
}
describe('the domain of a tape', () => {
  it('merges axes that every access walks as one', () => {
    const b = new KernelBuilder([4, 5, 6]);
    const kernel = prepare(b.store(b.map('exp', b.load('float32', [30, 6, 1]))).build());
    expect(kernel.parallel).toEqual([120]);
  });

  it('keeps an axis apart where one array is broadcast along it', () => {
    const b = new KernelBuilder([4, 5, 6]);
    const kernel = prepare(
      b.store(b.map('add', b.load('float32', [30, 6, 1]), b.load('float32', [0, 0, 1]))).build(),
    );
    expect(kernel.parallel).toEqual([20, 6]);
  });

  it('drops what no store needs and bounds that always hold', () => {
    const b = new KernelBuilder([10]);
    const bounds = [{ offset: 0, strides: [1], size: 10 }];
    const x = b.load('float32', [1], { bounds });
    b.map('exp', x);
    const { tape } = prepare(b.store(b.map('negative', x)).build());
    expect(tape).toEqual([
      create.load('float32', { buffer: 0, offset: 0, strides: [1], bounds: [] }),
      create.map('float32', 'negative', [0]),
    ]);
  });

  it('splits casts into hops of which only the last rounds', () => {
    expect(castHops('float16', 'bool')).toEqual(['float32', 'bool']);
    expect(castHops('int64', 'complex64')).toEqual(['float32', 'complex64']);
    expect(castHops('complex128', 'bfloat16')).toEqual(['float64', 'bfloat16']);
    expect(castHops('float64', 'float16')).toEqual(['float16']);
    expect(castHops('uint8', 'uint8')).toEqual([]);
  });
});

describe('the code of a tape', () => {
  it('is written once for kernels that differ in constants alone, whose bytes each has', () => {
    const scaled = (factor: number) => {
      const b = new KernelBuilder([1000]);
      b.constant('float64', 7); // no store needs it
      const product = b.map('multiply', b.load('float32', [1]), b.constant('float32', factor));
      return encodeTape(b.store(b.map('add', product, b.constant('float32', -factor))).build());
    };
    const [two, three] = [scaled(2), scaled(3)];
    expect(three.words).toBe(two.words);
    expect(three.ops).toBe(two.ops);
    const floats = ({ constants }: typeof two): number[] => [...new Float32Array(constants.buffer)];
    expect(floats(two)).toEqual([2, 0, 0, 0, -2, 0, 0, 0]);
    expect(floats(three)).toEqual([3, 0, 0, 0, -3, 0, 0, 0]);
  });
});

describe('the blocking of a tape', () => {
  it('fills a block of contiguous elements with one row', () => {
    const b = new KernelBuilder([1 << 20]);
    const { blocking } = planTape(b.store(b.map('exp', b.load('float32', [1]))).build());
    expect(blocking).toMatchObject({ laneAxes: [0], rowAxis: -1, rows: 1 });
    expect(blocking.width % 64).toBe(0);
  });

  it('takes longer blocks, which hardware reads ahead, of what is reduced in vector registers', () => {
    const b = new KernelBuilder([], [1 << 20]);
    const x = b.load('float32', [1]);
    b.store(b.reduce('sum', b.map('multiply', x, b.map('sqrt', x))));
    const plan = planTape(b.build());
    expect(plan.blocking.rows * plan.blocking.width).toBe(65536);
    expect(plan.schedule.walks.map((walk) => opsOf(plan, walk))).toEqual([
      ['load', 'load sqrt multiply.1 reduce.sum'],
    ]);
  });

  it.each([
    ['is gathered', (b: KernelBuilder) => b.map('sqrt', b.load('float32', [2]))],
    [
      'changes its dtype',
      (b: KernelBuilder) => b.map('sqrt', b.cast(b.map('abs', b.load('int32', [1])), 'float32')),
    ],
    [
      'comes from many places',
      (b: KernelBuilder) =>
        Array.from({ length: 5 }, () => b.load('float32', [1])).reduce((sum, x) => b.map('add', sum, x)),
    ],
  ] as const)('keeps the block of what %s in the first-level cache', (_, make) => {
    const b = new KernelBuilder([], [1 << 20]);
    const { blocking } = planTape(b.store(b.reduce('sum', make(b))).build());
    expect(blocking.rows * blocking.width).toBeLessThanOrEqual(4096);
  });

  it('puts several short rows into a block, and keeps them there from phase to phase', () => {
    const plan = planTape(softmax(1000, 256));
    expect(plan.blocking).toMatchObject({ laneAxes: [1], take: 256, rowAxis: 0 });
    expect(plan.blocking.rows).toBeGreaterThan(1);
    expect(plan.schedule.keepsBlock).toBe(true);
    expect(plan.schedule.walks.map((walk) => opsOf(plan, walk))).toEqual([
      ['load', 'max'],
      ['exp.subtract', 'sum'],
      ['divide'],
    ]);
  });

  it('walks long rows again in each phase, computing again what it needs', () => {
    const plan = planTape(softmax(10, 100_000));
    expect(plan.schedule.keepsBlock).toBe(false);
    expect(plan.schedule.walks.map((walk) => opsOf(plan, walk))).toEqual([
      ['load', 'max'],
      ['load', 'prefetch load subtract.0 exp reduce.sum'],
      ['load', 'prefetch load subtract.0 exp divide.0 save'],
    ]);
  });

  it('holds all of short rows of several phases in one block, which loads them once', () => {
    const plan = planTape(softmax(8192, 32));
    expect(plan.blocking).toMatchObject({ laneAxes: [0], rowAxis: 1, rows: 32 });
    expect(plan.schedule.keepsBlock).toBe(true);
  });

  it('reads far rows of hundreds of elements as they lie in memory', () => {
    for (const reduction of ['max', 'argmax'] as const) {
      const b = new KernelBuilder([16384], [256]);
      const { blocking } = planTape(b.store(b.reduce(reduction, b.load('float32', [256, 1]))).build());
      expect(blocking, reduction).toMatchObject({ laneAxes: [1], take: 256, rowAxis: 0 });
    }
  });

  it('compares each blocking once', () => {
    for (const kernel of [softmax(1000, 256), softmax(8192, 32)]) {
      const blockings = blockingsOf(kernel).map((blocking) => JSON.stringify(blocking));
      expect(blockings.length).toBeGreaterThan(1);
      expect(new Set(blockings).size).toBe(blockings.length);
    }
  });

  it('reduces columns with their lanes side by side', () => {
    const b = new KernelBuilder([512], [10_000]);
    const { blocking } = planTape(b.store(b.reduce('sum', b.load('float32', [1, 512]))).build());
    expect(blocking.laneAxes).toEqual([0]);
  });

  it('fills its lanes with several steps of a few short columns', () => {
    const b = new KernelBuilder([3], [10_000]);
    const { blocking } = planTape(b.store(b.reduce('sum', b.load('float32', [1, 3]))).build());
    expect(blocking).toMatchObject({ laneAxes: [1, 0], take: 64, inner: 3, width: 192 });
  });

  it('gathers an array of another order in tiles along that order', () => {
    const b = new KernelBuilder([512, 512]);
    const sum = b.map('add', b.load('float32', [512, 1]), b.load('float32', [1, 512]));
    const { blocking } = planTape(b.store(sum).build());
    expect(blocking.laneAxes).toEqual([1]);
    expect(blocking.rowAxis).toBe(0);
    expect(blocking.rows).toBeGreaterThanOrEqual(8);
  });
});

describe('the registers of a tape', () => {
  it('are as many as values live at once, not as values', () => {
    const b = new KernelBuilder([100_000]);
    let x = b.load('float32', [1]);
    for (let k = 0; k < 100; k++) x = b.map('sqrt', b.map('abs', x));
    const { blocking, schedule } = planTape(b.store(x).build());
    expect(schedule.blockByteLength).toBe(blocking.rows * blocking.width * 4);
  });

  it('stay within the first-level cache when many values live', () => {
    const b = new KernelBuilder([100_000]);
    const inputs = Array.from({ length: 12 }, () => b.load('float64', [1]));
    const { schedule } = planTape(b.store(inputs.reduce((sum, x) => b.map('multiply', sum, x))).build());
    expect(schedule.blockByteLength).toBeLessThanOrEqual(32 * 1024);
  });

  it('let a contiguous result be written where it belongs', () => {
    const b = new KernelBuilder([1000]);
    const { schedule } = planTape(b.store(b.map('exp', b.load('float32', [1]))).build());
    expect(schedule.walks[0]!.find((op) => op.kind === 'value' && op.direct === 0)).toMatchObject({
      value: 1,
    });
  });
});

describe('joined instructions', () => {
  /** The values that the one walk of a kernel computes. */
  const walkOf = (b: KernelBuilder): string[] => {
    const plan = planTape(b.build());
    return opsOf(plan, plan.schedule.walks[0]!);
  };

  it('compute a cheap op inside its only user', () => {
    const b = new KernelBuilder([1000]);
    const [x, y, z] = [b.load('float32', [1]), b.load('float32', [1]), b.load('float32', [1])];
    b.store(b.map('subtract', z, b.map('multiply', x, y)));
    expect(walkOf(b)).toEqual(['load', 'load', 'load', 'subtract.multiply.1']);
  });

  it('compare and choose at once', () => {
    const b = new KernelBuilder([1000]);
    const x = b.load('float32', [1]);
    b.store(b.map('where', b.map('less', x, b.constant('float32', 0)), b.constant('float32', 1), x));
    expect(walkOf(b)).toEqual(['load', 'where.less']);
  });

  it('sum squares of differences, and count booleans, as they go', () => {
    const b = new KernelBuilder([], [5000]);
    const x = b.load('float64', [1]);
    const y = b.load('float64', [1]);
    b.store(b.reduce('sum', b.map('square', b.map('subtract', x, y))));
    b.store(b.reduce('sum', b.map('less', x, y)));
    expect(walkOf(b)).toEqual(['load', 'load', 'less', 'sum.cast', 'sum.square.subtract']);
  });

  it('leave a value alone that is used twice, or stored, or of another dtype', () => {
    const b = new KernelBuilder([1000]);
    const x = b.load('float32', [1]);
    const twice = b.map('abs', x);
    const stored = b.map('add', twice, twice);
    b.store(stored).store(b.map('sign', stored));
    b.store(b.map('square', b.cast(b.map('floor', twice), 'float64')));
    expect(walkOf(b)).toEqual([
      'load',
      'prefetch load abs save add.0 save sign save load floor save',
      'cast',
      'square',
    ]);
  });

  it('keep apart what is computed once a row from what is computed for each element', () => {
    const b = new KernelBuilder([100, 1000]);
    const scaled = b.map('negative', b.load('float32', [1, 0]));
    b.store(b.map('multiply', scaled, b.load('float32', [1000, 1])));
    expect(walkOf(b)).toContain('negative');
  });
});

describe('chains', () => {
  const planOf = (b: KernelBuilder): string[] => {
    const plan = planTape(b.build());
    return plan.schedule.walks.flatMap((walk) => opsOf(plan, walk));
  };

  it('hold what is computed over the same lanes, and the sum at its end', () => {
    const b = new KernelBuilder([], [100_000]);
    const x = b.load('float32', [1]);
    const sign = b.map(
      'where',
      b.map('less', x, b.constant('float32', 0)),
      b.constant('float32', -1),
      b.constant('float32', 1),
    );
    b.store(b.reduce('sum', b.map('multiply', x, sign)));
    expect(planOf(b)).toEqual(['load', 'prefetch load where.less multiply.1 reduce.sum']);
  });

  it('keep in a slot what is needed again', () => {
    const b = new KernelBuilder([1000]);
    const x = b.load('float32', [1]);
    const sine = b.map('sin', x);
    const product = b.map('multiply', b.map('exp', sine), b.map('cos', x));
    b.store(b.map('subtract', sine, product));
    expect(planOf(b)).toEqual([
      'load',
      'prefetch load sin save exp save load cos multiply.1 subtract.1 save',
    ]);
  });

  it('compute what goes into a value right before it, the longest way first', () => {
    const b = new KernelBuilder([1000]);
    const squares = [1, 2, 3].map(() =>
      b.map('square', b.map('subtract', b.load('float32', [1]), b.load('float32', [1]))),
    );
    const [x, y, z] = squares as [number, number, number];
    b.store(b.map('sqrt', b.map('add', b.map('add', x, y), z)));
    expect(planOf(b).at(-1)).toBe(
      `${'prefetch '.repeat(6)}load subtract.0 square save load subtract.0 square add.1 save load subtract.0 square add.1 sqrt save`,
    );
    const c = new KernelBuilder([1000]);
    const w = c.load('float32', [1]);
    const [sine, cosine] = [c.map('sin', w), c.map('cos', w)];
    const less = c.map('less', sine, c.constant('float32', 0));
    c.store(c.map('negative', c.map('where', less, cosine, w)));
    expect(planOf(c).at(-1)).toBe('prefetch load cos save load sin where.less negative save');
  });

  it('end where another dtype comes between', () => {
    const b = new KernelBuilder([1000]);
    const y = b.map('sqrt', b.map('exp', b.map('negative', b.load('float32', [1]))));
    const z = b.map('sqrt', b.map('exp', b.map('negative', b.cast(y, 'float64'))));
    b.store(z).store(b.map('sqrt', b.map('exp', b.cast(z, 'float32'))));
    expect(planOf(b)).toEqual([
      'load',
      'prefetch load negative exp sqrt save',
      'cast',
      'load negative exp sqrt save',
      'cast',
      'load exp sqrt save',
    ]);
  });

  it('are cut where they would need many slots', () => {
    const b = new KernelBuilder([1000]);
    const x = b.load('float32', [1]);
    const terms = Array.from({ length: 100 }, (_, k) =>
      b.map('sin', b.map('multiply', x, b.constant('float32', k))),
    );
    // Each is needed again when all are known.
    const [sum, again] = [0, 1].map(() => terms.reduceRight((rest, term) => b.map('subtract', term, rest)));
    b.store(b.map('multiply', sum!, b.map('abs', again!)));
    const kernel = b.build();
    const slots = planTape(kernel).schedule.walks[0]!.flatMap((op) =>
      op.kind === 'chain' ? [op.chain.slots] : [],
    );
    expect(slots.length).toBeGreaterThan(1);
    expect(Math.max(...slots)).toBeLessThanOrEqual(24);
    expect(() => tapeProgram(native, kernel)).not.toThrow();
  });
});

describe('the slots of a tape', () => {
  const slotsOf = (parallel: number, reduced: number): number => {
    const b = new KernelBuilder([parallel], [reduced]);
    return planTape(b.store(b.reduce('sum', b.load('float32', [reduced, 1]))).build()).schedule.slotBlocks;
  };
  it('do not depend on how many rows there are', () => {
    expect(slotsOf(2, 1 << 20)).toBe(slotsOf(3000, 1 << 20));
  });
});
