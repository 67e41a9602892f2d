/**
 * When several steps of a loop are one launch, and how: decisions, the generated source of one stencil (a
 * golden file), and that all of them compile with the real NVRTC. What they compute is in the conformance
 * suite's programs, on the simulator.
 */

import { describe, expect, it } from 'vitest';
import { diffusion } from '../../bench/expressions.js';
import { CUDA_OPTIONS, cudaKernel, printSchedule } from '../../src/codegen/cuda/cuda.js';
import { cudaWorks } from '../../src/codegen/cuts/cuda-work.js';
import { compileCuda } from '../../src/exec/native/native.js';
import type { LoopStep } from '../../src/exec/plan/plan.js';
import { gpu } from '../../src/exec/targets/device.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import type { DType } from '../../src/graph/dtype.js';
import { iterate, type Lazy, lazy, whileLoop } from '../../src/index.js';
import { planOnDevice } from '../support/device-plan.js';
import { whyNoNvrtc, withoutNvrtc } from '../support/nvrtc.js';

const field = (rows: number, columns: number, dtype: DType = 'float32'): Lazy =>
  lazy(new Float32Array(rows * columns), { shape: [rows, columns] }).astype(dtype);

function loopOf(x: Lazy): LoopStep {
  const { plan } = planOnDevice(canonicalize([x.expr]), gpu(0), {});
  return plan.steps.find((step) => step.kind === 'loop')!;
}

/** How many steps a launch does, and how its tiles are. */
function scheduleOf(x: Lazy): string {
  const { body, stepsAtOnce } = loopOf(x);
  const [step] = body;
  const { schedule } = cudaKernel((step as { kernel: Kernel }).kernel);
  return `${stepsAtOnce} ${printSchedule(schedule)}`;
}

describe('several steps in one launch', () => {
  it('are done of maps of neighbours, with a halo as wide as they reach', () => {
    expect(scheduleOf(diffusion(100)(field(200, 300)))).toBe(
      '8 stencil: steps 8, rows 8, columns 4, warps 8, copies 2, halo [8, 8]',
    );
    const far = iterate(100, field(200, 300), (f) => f.add(f.pad(2).slice([null, -4], [2, -2])).mul(0.5));
    expect(scheduleOf(far)).toBe('5 stencil: steps 5, rows 8, columns 4, warps 8, copies 2, halo [10, 0]');
    const two = iterate(100, [field(64, 64), field(64, 64)], ([u, v]) => [
      u.add(v.pad(1).slice([null, -2], [null, -2])),
      v.sub(u),
    ]);
    expect(scheduleOf(two[0])).toMatch(/^4 stencil: steps 4, rows 4, /);
    expect(scheduleOf(diffusion(100)(field(50, 70, 'float64')))).toMatch(
      /^4 stencil: steps 4, rows 4, .* copies 2,/,
    );
    const wide = iterate(50, field(50, 70, 'float64'), (f) => f.add(f.pad(2).slice([null, -4], [2, -2])));
    expect(scheduleOf(wide)).toMatch(/^2 stencil: .* copies 1,/);
  });

  it('are done of maps of each element by itself, with whatever constants', () => {
    const line = lazy(new Float32Array(1000));
    const constants = field(64, 64).add(1);
    const halves = line.astype('float16');
    for (const x of [
      iterate(5000, line, (y) => y.mul(0.5).add(1)),
      iterate(50, field(64, 64), (y) => y.mul(constants.T).add(1)),
      iterate(50, lazy(1), (y) => y.mul(2)),
      iterate(50, halves, (y) => y.add(0.5)),
      iterate(50, [line, line], ([y, z]) => [y.sub(z), y.add(z)])[0],
    ])
      expect(scheduleOf(x)).toMatch(/^512 repeat: steps 512, /);
    const large = iterate(50, lazy(1).broadcastTo([2 ** 14, 2 ** 14]), (y) => y.exp().log().sin());
    expect(Number(/^(\d+) repeat/.exec(scheduleOf(large))![1])).toBeLessThanOrEqual(32);
  });

  it('are not done of few steps, of conditions, of kernels that reach far, reduce or compute much', () => {
    const f = field(64, 64);
    expect(scheduleOf(diffusion(3)(f))).toMatch(/^1 map/);
    expect(
      scheduleOf(iterate(30, f, (x) => x.add(x.pad(1).slice([null, -2], [1, -1])), { every: 3 })),
    ).toMatch(/^1 map/);
    expect(
      loopOf(
        whileLoop(
          (x) => x.max().less(3),
          (x) => x.add(1),
          f,
        ),
      ).stepsAtOnce,
    ).toBe(1);
    for (const step of [
      (x: Lazy) => x.roll(1, 0).add(x),
      (x: Lazy) => x.sub(x.mean()),
      (x: Lazy) => x.add(x.T),
      (x: Lazy) => x.pad(1).slice([null, -2], [1, -1]).sin().cos().exp().log().tanh().sin().cos().exp(),
      (x: Lazy) => x.astype('float16').add(x.astype('float16')).astype('float32').slice([null, null, -1]),
    ])
      expect(loopOf(iterate(50, f, step)).stepsAtOnce).toBe(1);
    const shifted = iterate(50, field(64, 64, 'float16'), (x) => x.add(x.pad(1).slice([null, -2], [1, -1])));
    expect(loopOf(shifted).stepsAtOnce).toBe(1);
  });

  it('are cut into rows of tiles, which read as far around as the steps reach', () => {
    const [step] = loopOf(diffusion(100)(field(200, 300))).body;
    const { kernel } = step as { kernel: Kernel };
    const { rows, phases } = cudaWorks(kernel, cudaKernel(kernel).schedule);
    expect([rows!.units, phases]).toEqual([5, []]);
    // Of 64 rows of a tile, 8 above and 8 below are halo.
    expect(rows!.regions(1, 2)).toEqual({
      reads: [{ buffer: 0, first: 40 * 300, last: 104 * 300 }],
      writes: [{ buffer: 1, first: 48 * 300, last: 96 * 300 }],
    });
    expect(rows!.parts(1, 3)).toEqual([[3, 9, 0, 1]]);
  });

  it('print one stencil as in its golden file', async () => {
    const [step] = loopOf(diffusion(100)(field(200, 300))).body;
    const { source, launches } = cudaKernel((step as { kernel: Kernel }).kernel);
    const [{ grid, block, args }] = launches as [(typeof launches)[number]];
    expect(args.filter((arg) => 'steps' in arg)).toHaveLength(1);
    const text = `// grid ${grid.join(' × ')}, block ${block[0]}\n\n${source}`;
    await expect(text).toMatchFileSnapshot('../golden/cuda/stencil_of_diffusion.cu');
  });
});

describe('stencils', () => {
  it.skipIf(withoutNvrtc)(`compile with NVRTC${whyNoNvrtc}`, async () => {
    const loops = [
      diffusion(100)(field(200, 300)),
      diffusion(100)(field(50, 71, 'float64')),
      iterate(9, field(64, 64, 'float64'), (x) => x.add(x.pad(2).slice([null, -4], [2, -2]))),
      iterate(9, field(64, 64, 'int32'), (x) => x.add(x.pad(2).slice([null, -4], [4, null]))),
    ];
    for (const x of loops) {
      const [step] = loopOf(x).body;
      const { source } = cudaKernel((step as { kernel: Kernel }).kernel);
      const { log } = await compileCuda(source, ['--gpu-architecture=sm_90', ...CUDA_OPTIONS]);
      expect(log).toBe('');
    }
  });
});
