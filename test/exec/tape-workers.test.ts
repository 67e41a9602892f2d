/**
 * Runs of one program take the worker that an earlier one left: whatever that computed, and wherever its arrays lay, a
 * run gives the bits of a program that has not run before.
 */
import { describe, expect, it } from 'vitest';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import { KernelBuilder } from '../support/kernel-builder.js';
import { nativeWith } from '../support/native-with.js';
import { inputsOf, randomKernel, runTape, tapeProgram } from '../support/tape-runner.js';

const RUNS = 5;

/** Several tiles, reductions by slots, rows that are kept from walk to walk, functions amid arithmetic. */
function kernels(): Kernel[] {
  const random = Array.from({ length: 60 }, (_, seed) => randomKernel(seed));
  const rows = new KernelBuilder([300], [1000]);
  const x = rows.load('float32', [1000, 1]);
  const e = rows.map('exp', rows.map('subtract', x, rows.reduce('max', x)));
  rows.store(rows.map('divide', e, rows.reduce('sum', e)), [1000, 1]);
  const chain = new KernelBuilder([200_001]);
  const [a, b] = [chain.load('float64', [1]), chain.load('float64', [1])];
  let y = a;
  for (let k = 0; k < 12; k++) y = chain.map(k % 3 === 0 ? 'multiply' : 'subtract', y, k % 2 === 0 ? b : a);
  chain.store(chain.map('tanh', y));
  const all = new KernelBuilder([], [400_000]);
  const z = all.load('float32', [1]);
  all.store(all.reduce('sum', z)).store(all.reduce('argmax', z));
  return [...random, rows.build(), chain.build(), all.build()];
}

describe.each(['1', '4'])('with %s threads', (threads) => {
  it('gives the bits of a new program in each of several runs, between those of others', async () => {
    const native = await nativeWith({ WEFT_THREADS: threads, WEFT_POISON: '1' });
    const programs = kernels().map((kernel) => ({ kernel, program: tapeProgram(native, kernel) }));
    const different: string[] = [];
    for (let run = 0; run < RUNS; run++)
      for (const [k, { kernel, program }] of programs.entries()) {
        const inputs = inputsOf(kernel, 1000 * run + k);
        const outputs = kernel.buffers.filter(({ role }) => role === 'output');
        const given = inputs.filter((input) => input !== undefined);
        const found = await native.run(program, given, { outputs: outputs.map(() => 'host') });
        const wanted = await runTape(native, kernel, inputs);
        for (const [at, array] of wanted.entries()) {
          const bits = Buffer.from(found.outputs[at] as ArrayBuffer);
          const isSame = bits.equals(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
          if (!isSame) different.push(`run ${run} of ${k}, output ${at}`);
        }
      }
    expect(different).toEqual([]);
  });
});
