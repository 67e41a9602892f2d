/**
 * The native side's inputs from files and pieces and outputs to files: malformed descriptions, failures,
 * nothing kept.
 */

import { closeSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { encodeTape } from '../../src/codegen/cpu/tape.js';
import { cancel, createCancel, createProgram, memory, run } from '../../src/exec/native/native.js';
import type { FileInput, RunInput } from '../../src/exec/native/native-types.js';
import type { StepSpec } from '../../src/exec/native/program-types.js';
import { programOf } from '../../src/exec/run/program.js';
import { numbersFor } from '../../src/exec/run/run-numbers.js';
import { CPU } from '../../src/exec/targets/device.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { ArgumentError, FileError, lazy } from '../../src/index.js';
import { targetOn } from '../support/device-plan.js';
import { temporaryFolder } from '../support/files.js';
import { KernelBuilder } from '../support/kernel-builder.js';

const folder = temporaryFolder();
const COUNT = 1000;

/** x + 1 of COUNT float32. */
const canonical = canonicalize([lazy(new Float32Array(COUNT)).add(1).expr]);
const numbers = numbersFor(canonical);
const { one } = await programOf(canonical, targetOn(CPU));
const { native } = one!;

const path = folder.put('x.raw', new Uint8Array(new Float32Array(COUNT).fill(2).buffer));
function fileInput(change: object = {}): FileInput {
  const { dev, ino, size, mtimeNs } = statSync(path, { bigint: true });
  const stamp = { device: dev, inode: ino, byteLength: size, modifiedNs: mtimeNs };
  return { path, byteOffset: 0, byteLength: 4 * COUNT, swap: 0, stamp, ...change };
}
const toHost = { outputs: ['host'], numbers } as const;

describe('an input', () => {
  it('comes from a file', async () => {
    const { outputs } = await run(native, [fileInput()], toHost);
    expect(new Float32Array(outputs[0] as ArrayBuffer)).toEqual(new Float32Array(COUNT).fill(3));
  });

  it.each<[string, unknown]>([
    ['nothing', {}],
    ['a list', []],
    ['null', null],
    ['a path that is no text', fileInput({ path: 3 })],
    ['an offset below 0', fileInput({ byteOffset: -1 })],
    ['a length that is none', fileInput({ byteLength: 0.5 })],
    ['another length', fileInput({ byteLength: 4 })],
    ['words of 3 bytes', fileInput({ swap: 3 })],
    ['words of 16 bytes', fileInput({ swap: 16 })],
    ['no stamp', fileInput({ stamp: undefined })],
    ['a stamp of numbers', fileInput({ stamp: { device: 1, inode: 1, byteLength: 1, modifiedNs: 1 } })],
    ['pieces that are none', { chunks: [3] }],
    ['pieces of other types', { chunks: [new Float32Array(COUNT)] }],
    ['pieces of another length', { chunks: [new Uint8Array(4 * COUNT - 1), new Uint8Array(2)] }],
    ['pieces without a list', { chunks: new Uint8Array(4 * COUNT) }],
  ])('is refused when it is described as %s', async (_, input) => {
    await expect(run(native, [input as RunInput], toHost)).rejects.toThrow(TypeError); // an ArgumentError is one
  });

  it('is refused when the file is shorter than its description', async () => {
    const running = run(native, [fileInput({ byteOffset: 4 })], toHost);
    await expect(running).rejects.toThrow(/at least 4004 bytes: its end/);
    await expect(running).rejects.toMatchObject({ name: 'FileError', path });
  });
});

describe('an output', () => {
  const output = join(folder.path, 'y.raw');
  const open = (flags: string): number => {
    writeFileSync(output, '');
    return openSync(output, flags);
  };

  it('goes to several places in files, with checksums of those that want them', async () => {
    const fd = open('r+');
    const place = { fd, path: output, swap: 0 };
    const places = [
      { ...place, byteOffset: 0 },
      { ...place, byteOffset: 4 * COUNT, swap: 4, checksum: 0 },
    ];
    const { outputs, checksums } = await run(native, [fileInput()], { outputs: [places], numbers });
    closeSync(fd);
    const bytes = readFileSync(output);
    expect((outputs[0] as ArrayBuffer).byteLength).toBe(0);
    expect(bytes.readFloatLE(0)).toBe(3);
    expect(bytes.readFloatBE(8 * COUNT - 4)).toBe(3);
    const { crc32 } = await import('node:zlib');
    expect(checksums).toEqual([[0, crc32(bytes.subarray(4 * COUNT))]]);
  });

  it('fails with the code of the system where the file cannot be written, and keeps nothing', async () => {
    const fd = open('r');
    const before = memory().find(({ device }) => device === 'cpu')!.inUse;
    const places = [{ fd, path: output, byteOffset: 0, swap: 0 }];
    const running = run(native, [fileInput()], { outputs: [places], numbers });
    await expect(running).rejects.toBeInstanceOf(FileError);
    await expect(running).rejects.toMatchObject({ code: 'EBADF', path: output });
    closeSync(fd);
    expect(memory().find(({ device }) => device === 'cpu')!.inUse).toBe(before);
  });

  it('is not written when the run was cancelled', async () => {
    const fd = open('r+');
    const token = createCancel();
    cancel(token);
    const places = [{ fd, path: output, byteOffset: 0, swap: 0 }];
    const running = run(native, [fileInput()], { outputs: [places], cancel: token, numbers });
    await expect(running).rejects.toThrow(/abort/);
    closeSync(fd);
    expect(statSync(output).size).toBe(0);
  });

  it.each<[string, object]>([
    ['a closed file', { fd: 999_999 }],
    ['a file that is none', { fd: 'x' }],
    ['an offset below 0', { byteOffset: -1 }],
    ['words of 5 bytes', { swap: 5 }],
    ['a checksum of 33 bits', { checksum: 2 ** 32 }],
  ])('is refused when it is described as %s', async (_, change) => {
    const fd = open('r+');
    const place = { fd, path: output, byteOffset: 0, swap: 0, ...change };
    const error = await run(native, [fileInput()], { outputs: [[place]], numbers }).catch(
      (reason: unknown) => reason,
    );
    closeSync(fd);
    expect(error).toBeInstanceOf('fd' in change && change.fd === 999_999 ? FileError : ArgumentError);
  });
});

describe('an input that is read in blocks', () => {
  /** Half of the elements of x, each less one of `others`, which are loads of x too. */
  const tapeOf = (bounds: number, ...others: number[]): Kernel => {
    const b = new KernelBuilder([COUNT / 2]);
    const size = COUNT / 2 - bounds;
    const x = b.load('float32', [1], {
      buffer: 'x',
      bounds: bounds > 0 ? [{ offset: 0, strides: [1], size }] : [],
    });
    const y = others.reduce(
      (v, offset) => b.map('subtract', v, b.load('float32', [1], { buffer: 'x', offset })),
      x,
    );
    return b.store(b.map('abs', y)).build();
  };
  const product: StepSpec = {
    kind: 'matmul',
    dtype: 11,
    m: 1,
    n: 1,
    k: 1,
    batch: 1,
    a: { buffer: 0, offset: 0, batchStride: 1, rowStride: 1, columnStride: 1 },
    b: { buffer: 0, offset: 0, batchStride: 1, rowStride: 1, columnStride: 1 },
    c: { buffer: 1, offset: 0, batchStride: 1, rowStride: 1, columnStride: 1 },
  };
  const make = (read: Kernel | StepSpec) =>
    createProgram({
      device: 'cpu',
      arenaByteLength: 0,
      images: [],
      buffers: [
        { role: 'input', byteLength: 4 * COUNT, offset: 0, readInBlocks: true },
        { role: 'output', byteLength: 4 * COUNT, offset: 0 },
      ],
      tapes: 'parallel' in read ? [encodeTape(read)] : [],
      steps: 'parallel' in read ? [{ kind: 'tape', tape: 0, buffers: [0, 1] }] : [read],
    });

  it('is read by a tape', async () => {
    const { outputs } = await run(make(tapeOf(0)), [fileInput()], toHost);
    expect(new Float32Array(outputs[0] as ArrayBuffer).subarray(0, COUNT / 2)).toEqual(
      new Float32Array(COUNT / 2).fill(2),
    );
  });

  it('may be in memory', async () => {
    const { outputs } = await run(make(tapeOf(0)), [new Float32Array(COUNT).fill(-3)], toHost);
    expect(new Float32Array(outputs[0] as ArrayBuffer)[COUNT / 2 - 1]).toBe(3);
  });

  it('says what cannot be read', async () => {
    const running = run(make(tapeOf(0)), [fileInput({ byteOffset: 4 * COUNT })], toHost);
    await expect(running).rejects.toMatchObject({ name: 'FileError', path });
  });

  it.each<[string, Kernel | StepSpec]>([
    ['two loads', tapeOf(0, 7)],
    ['a load with bounds', tapeOf(1)],
    ['a product', product],
  ])('is refused for %s', (_, step) => {
    expect(() => make(step)).toThrow(/read in blocks/);
  });
});
