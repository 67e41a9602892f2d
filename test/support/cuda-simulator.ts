/**
 * Runs generated CUDA C without a GPU: the sources of many kernels become one C++ program with
 * `native/sim/cuda-dialect.h`, which executes launches thread by thread. Needs g++.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CudaKernel } from '../../src/codegen/cuda.js';
import type { Kernel } from '../../src/fusion/kernel.js';
import { byteLengthOf } from '../../src/graph/dtype.js';
import type { TypedArray } from '../../src/graph/expr.js';
import { allocate } from './host.js';

export const hasCompiler = (): boolean => spawnSync('g++', ['--version']).status === 0;

export interface SimulatedCase {
  readonly kernel: Kernel;
  readonly cuda: CudaKernel;
  /** By buffer; undefined for outputs. */
  readonly inputs: readonly (TypedArray | undefined)[];
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
    .replace(
      /extern __shared__ (.*?) (\w+)\[\];/g,
      '$1* $2 = reinterpret_cast<$1*>(weft_sim::dynamicShared.data());',
    );
}

function program(cases: readonly SimulatedCase[]): string {
  const parts = ['#include "cuda-dialect.h"', '#include <fstream>', '#include <iostream>'];
  const calls: string[] = [];
  cases.forEach(({ cuda }, k) => {
    parts.push(`namespace case${k} {`, translate(cuda.source));
    parts.push('}');
    for (const { function: name } of cuda.launches) {
      calls.push(`  [](void** args) { weft_sim::call(case${k}::${name}, args); },`);
    }
  });
  parts.push(`static void (*const functions[])(void**) = {\n${calls.join('\n')}\n};`, RUNNER);
  return parts.join('\n');
}

const RUNNER = `
static std::ifstream in;
template <class T> T take() { T value; in.read(reinterpret_cast<char*>(&value), sizeof value); return value; }
static void runCase(std::ofstream& out) {
  std::vector<std::unique_ptr<weft_sim::DeviceMemory>> buffers;
  std::vector<std::size_t> sizes;
  const unsigned int returned = take<unsigned int>();
  for (unsigned int k = take<unsigned int>(); k > 0; --k) {
    sizes.push_back(take<unsigned int>());
    buffers.push_back(std::make_unique<weft_sim::DeviceMemory>(sizes.back()));
    if (take<unsigned int>()) in.read(buffers.back()->data(), static_cast<std::streamsize>(sizes.back()));
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
        char* address = buffers[take<unsigned int>()]->data();
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
  for (const { kernel, cuda, inputs } of cases) {
    packet.word(kernel.buffers.length, kernel.buffers.length + cuda.scratch.length);
    kernel.buffers.forEach(({ dtype, elementCount }, k) => {
      packet.word(byteLengthOf(dtype) * elementCount, inputs[k] === undefined ? 0 : 1);
      if (inputs[k] !== undefined) packet.bytes(inputs[k]);
    });
    for (const scratch of cuda.scratch) {
      packet.word(scratch.byteLength, scratch.zeroed ? 1 : 0);
      if (scratch.zeroed) packet.bytes(new Uint8Array(scratch.byteLength));
    }
    packet.word(cuda.launches.length);
    for (const launch of cuda.launches) {
      packet.word(functions++, ...launch.grid, ...launch.block, launch.sharedByteLength, launch.args.length);
      for (const arg of launch.args) {
        if ('bytes' in arg) {
          packet.word(arg.bytes.byteLength);
          packet.bytes(arg.bytes);
        } else {
          packet.word(0, 'buffer' in arg ? arg.buffer : kernel.buffers.length + arg.scratch);
        }
      }
    }
  }
  return packet.done();
}

/** Every buffer of every case after its launches ran. */
export function simulate(cases: readonly SimulatedCase[]): TypedArray[][] {
  const folder = mkdtempSync(join(tmpdir(), 'weft-sim-'));
  try {
    const [source, binary, input, output] = ['sim.cpp', 'sim', 'in', 'out'].map((name) =>
      join(folder, name),
    ) as [string, string, string, string];
    writeFileSync(source, program(cases));
    writeFileSync(input, job(cases));
    execFileSync(
      'g++',
      ['-std=c++17', '-O1', '-ffp-contract=off', '-w', '-I', 'native/sim', source, '-o', binary],
      { stdio: ['ignore', 'inherit', 'inherit'] },
    );
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
