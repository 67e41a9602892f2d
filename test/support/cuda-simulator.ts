/**
 * Runs generated CUDA C without a GPU: the sources of many kernels become one C++ program with
 * `native/sim/kernel-runner.h`, which executes launches thread by thread. Needs g++.
 *
 * A kernel can be run in parts, each with windows of its buffers only: the rest of a buffer lies behind pages
 * without access or is poison, and poison around a window must stay as it is.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CudaKernel } from '../../src/codegen/cuda/cuda.js';
import type { Part } from '../../src/codegen/cuts/work.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import { byteLengthOf } from '../../src/graph/dtype.js';
import type { TypedArray } from '../../src/graph/expr.js';
import { allocate } from './host.js';

export const hasCompiler = (): boolean => spawnSync('g++', ['--version']).status === 0;

export interface SimulatedCase {
  readonly kernel: Kernel;
  readonly cuda: CudaKernel;
  /** By buffer; undefined for outputs. */
  readonly inputs: readonly (TypedArray | undefined)[];
  /** Runs in order; without it the whole kernel in one. */
  readonly runs?: readonly SimulatedRun[];
}

export interface SimulatedRun {
  /** By buffer, in elements: all that the run may touch; undefined: nothing. */
  readonly windows: readonly (readonly [first: number, last: number] | undefined)[];
  /** Blocks of each launch. */
  readonly parts: readonly Part[];
}

/** Inline PTX as a call, and no C linkage: see the header. */
export function translate(source: string): string {
  return source
    .replaceAll('extern "C" ', '')
    .replace(
      /asm\("([\w.]+) [^"]*" : "=\w"\(([^)]*)\) : (.*)\);/g,
      (_, op: string, target: string, args: string) => {
        const values = [...args.matchAll(/"\w"\(([^)]*)\)/g)].map(([, value]) => value);
        return `weft_ptx_${op.replaceAll('.', '_')}(${[target, ...values].join(', ')});`;
      },
    )
    .replace(/extern __shared__ (.*?) (\w+)\[\];/g, '$1* $2 = static_cast<$1*>(weft_sim_dynamic_shared());');
}

/**
 * The kernels, by `native/sim/kernel/kernel.h` alone, in a table of functions that take pointers to their
 * arguments.
 */
function kernelsOf(cases: readonly SimulatedCase[]): string {
  const parts = ['#include "kernel/kernel.h"', CALL];
  const calls: string[] = [];
  const known = new Map<string, number>();
  cases.forEach(({ cuda }, k) => {
    const at = known.get(cuda.source) ?? k;
    if (at === k) parts.push(`namespace case${k} {`, translate(cuda.source), '}');
    known.set(cuda.source, at);
    for (const { function: name } of cuda.launches) {
      calls.push(`  [](void** args) { call(case${at}::${name}, args); },`);
    }
  });
  parts.push(`extern void (*const functions[])(void**) = {\n${calls.join('\n')}\n};`);
  return parts.join('\n');
}

const CALL = `
template <int...> struct Positions {};
template <class... A, int... I> void call(void (*kernel)(A...), void** args, Positions<I...>) {
  kernel(*static_cast<A*>(args[I])...);
}
template <class... A> void call(void (*kernel)(A...), void** args) {
  call(kernel, args, Positions<__integer_pack(sizeof...(A))...>());
}
`;

const RUNNER = `
#include "kernel-runner.h"
#include <fstream>
#include <iostream>
extern void (*const functions[])(void**);
static std::ifstream in;
template <class T> T take() { T value; in.read(reinterpret_cast<char*>(&value), sizeof value); return value; }
struct Window {
  std::size_t first, last;
  std::unique_ptr<weft_sim::WindowMemory> memory;
};
static void runParts(const std::vector<std::unique_ptr<weft_sim::DeviceMemory>>& buffers, unsigned int windowed) {
  std::vector<Window> windows(windowed);
  for (unsigned int k = 0; k < windowed; ++k) {
    Window& w = windows[k];
    w.first = take<unsigned int>(), w.last = take<unsigned int>();
    w.memory = std::make_unique<weft_sim::WindowMemory>(w.first, w.last, take<unsigned int>() != 0);
    std::memcpy(w.memory->data(), buffers[k]->data() + w.first, w.last - w.first);
  }
  for (unsigned int n = take<unsigned int>(); n > 0; --n) {
    const unsigned int function = take<unsigned int>();
    weft_sim::Dim3 grid, block;
    grid.x = take<unsigned int>(), grid.y = take<unsigned int>(), grid.z = take<unsigned int>();
    block.x = take<unsigned int>(), block.y = take<unsigned int>(), block.z = take<unsigned int>();
    const unsigned int shared = take<unsigned int>();
    std::vector<std::vector<char>> values(take<unsigned int>());
    std::vector<void*> args;
    for (auto& value : values) {
      const unsigned int bytes = take<unsigned int>();
      if (bytes == 0) {
        const unsigned int buffer = take<unsigned int>();
        char* address = buffer < windowed ? windows[buffer].memory->origin() : buffers[buffer]->data();
        value.resize(sizeof address);
        std::memcpy(value.data(), &address, sizeof address);
      } else {
        value.resize(bytes);
        in.read(value.data(), bytes);
      }
      args.push_back(value.data());
    }
    weft_sim::launch(grid, block, shared, [&] { functions[function](args.data()); });
  }
  for (unsigned int k = 0; k < windowed; ++k) {
    windows[k].memory->check();
    std::memcpy(buffers[k]->data() + windows[k].first, windows[k].memory->data(), windows[k].last - windows[k].first);
  }
}
static void runCase(std::ofstream& out) {
  std::vector<std::unique_ptr<weft_sim::DeviceMemory>> buffers;
  std::vector<std::size_t> sizes;
  const unsigned int returned = take<unsigned int>();
  for (unsigned int k = take<unsigned int>(); k > 0; --k) {
    sizes.push_back(take<unsigned int>());
    buffers.push_back(std::make_unique<weft_sim::DeviceMemory>(sizes.back()));
    if (take<unsigned int>()) in.read(buffers.back()->data(), static_cast<std::streamsize>(sizes.back()));
  }
  for (unsigned int runs = take<unsigned int>(); runs > 0; --runs) runParts(buffers, returned);
  for (unsigned int k = 0; k < returned; ++k) out.write(buffers[k]->data(), static_cast<std::streamsize>(sizes[k]));
}
int main(int, char** argv) {
  in.open(argv[1], std::ios::binary);
  std::ofstream out(argv[2], std::ios::binary);
  const unsigned int cases = take<unsigned int>();
  for (unsigned int k = 0; k < cases; ++k) {
    try {
      runCase(out);
    } catch (const std::exception& error) {
      std::cerr << "case " << k << ": " << error.what() << std::endl;
      return 1;
    }
  }
}
`;

class Packet {
  readonly #parts: Uint8Array[] = [];
  word(...values: number[]): void {
    this.#parts.push(new Uint8Array(Uint32Array.from(values).buffer));
  }
  bytes(view: ArrayBufferView): void {
    this.#parts.push(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
  }
  done(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

function job(cases: readonly SimulatedCase[]): Buffer {
  const packet = new Packet();
  packet.word(cases.length);
  let functions = 0;
  for (const { kernel, cuda, inputs, runs: given } of cases) {
    packet.word(kernel.buffers.length, kernel.buffers.length + cuda.scratch.length);
    kernel.buffers.forEach(({ dtype, elementCount }, k) => {
      packet.word(byteLengthOf(dtype) * elementCount, inputs[k] === undefined ? 0 : 1);
      if (inputs[k] !== undefined) packet.bytes(inputs[k]);
    });
    for (const scratch of cuda.scratch) {
      packet.word(scratch.byteLength, scratch.zeroed ? 1 : 0);
      if (scratch.zeroed) packet.bytes(new Uint8Array(scratch.byteLength));
    }
    const all = kernel.buffers.map(({ elementCount }) => [0, elementCount] as const);
    const parts = cuda.launches.map(({ grid }): Part => [0, grid[0], 0, grid[1]]);
    const runs = given ?? [{ windows: all, parts }];
    packet.word(runs.length);
    for (const [number, run] of runs.entries()) packRun(packet, kernel, cuda, run, number % 2, functions);
    functions += cuda.launches.length;
  }
  return packet.done();
}

/** `flush`: 1 where windows end at a page without access, 0 where they begin at one. */
function packRun(
  packet: Packet,
  kernel: Kernel,
  cuda: CudaKernel,
  { windows, parts }: SimulatedRun,
  flush: number,
  functions: number,
): void {
  kernel.buffers.forEach(({ dtype }, k) => {
    const [first, last] = windows[k] ?? [0, 0];
    packet.word(first * byteLengthOf(dtype), last * byteLengthOf(dtype), flush);
  });
  const launches = parts.flatMap(([x0, x1, y0, y1], k) => {
    const launch = cuda.launches[k]!;
    return x1 > x0 && y1 > y0 ? [{ ...launch, k, x0, y0, grid: [x1 - x0, y1 - y0, launch.grid[2]] }] : [];
  });
  packet.word(launches.length);
  for (const launch of launches) {
    packet.word(functions + launch.k, ...launch.grid, ...launch.block, launch.sharedByteLength);
    packet.word(launch.args.length);
    for (const arg of launch.args) {
      if ('bytes' in arg) {
        packet.word(arg.bytes.byteLength);
        packet.bytes(arg.bytes);
      } else if ('block' in arg) {
        packet.word(4, arg.block === 'x' ? launch.x0 : launch.y0);
      } else if ('steps' in arg) {
        packet.word(4, 1);
      } else if ('done' in arg) {
        packet.word(8, 0, 0);
      } else {
        packet.word(0, 'buffer' in arg ? arg.buffer : kernel.buffers.length + arg.scratch);
      }
    }
  }
}

/** Every buffer of every case after its launches ran. */
export function simulate(cases: readonly SimulatedCase[]): TypedArray[][] {
  const folder = mkdtempSync(join(tmpdir(), 'weft-sim-'));
  try {
    const paths = ['kernels.cpp', 'runner.cpp', 'sim', 'in', 'out'].map((name) => join(folder, name));
    const [kernels, runner, binary, input, output] = paths as [string, string, string, string, string];
    writeFileSync(kernels, kernelsOf(cases));
    writeFileSync(runner, RUNNER);
    writeFileSync(input, job(cases));
    const options = ['-std=c++17', '-O1', '-ffp-contract=off', '-w', '-I', 'native/sim'];
    const sources = [kernels, runner, 'native/sim/core/fiber.cpp'];
    execFileSync('g++', [...options, ...sources, '-o', binary], { stdio: ['ignore', 'inherit', 'inherit'] });
    execFileSync(binary, [input, output], { stdio: ['ignore', 'inherit', 'inherit'] });
    const bytes = readFileSync(output);
    let place = 0;
    return cases.map(({ kernel }) =>
      kernel.buffers.map(({ dtype, elementCount }) => {
        const array = allocate(dtype, elementCount);
        const size = byteLengthOf(dtype) * elementCount;
        new Uint8Array(array.buffer).set(bytes.subarray(place, place + size));
        place += size;
        return array;
      }),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
