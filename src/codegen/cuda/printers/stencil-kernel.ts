/**
 * Prints several steps of a stencil as one kernel (`schedule-stencil.ts`). Each thread keeps its elements in
 * registers; rows of other warps come through shared memory, columns of other threads of the warp by
 * shuffles. Where no bound can fail in a tile, none is tested.
 */
import { isPredicate, isUniform, loadsOf } from '../../../fusion/kernel/algebra.js';
import { type Bound, type Kernel, product } from '../../../fusion/kernel/kernel.js';
import { CUDA_TYPE } from '../../../graph/cuda-expressions.js';
import type { Body, Scope } from '../body.js';
import { fromStorage, STORAGE_TYPE, toStorage } from '../casts.js';
import { blockIndex, type CudaFunction, printFunction } from '../function.js';
import { affineExpression, boundsExpression } from '../index-math.js';
import type { LaunchShape } from '../launch.js';
import { zeroLiteral } from '../literals.js';
import type { Parameters } from '../parameters.js';
import {
  type Shift,
  type StencilSchedule,
  shiftOf,
  stencilGrid,
  tileColumns,
  tileRows,
} from '../schedules/schedule-stencil.js';
import { Writer } from '../writer.js';
import { boundsOf, holdsInTile } from './stencil-bounds.js';

const CELL = ['(y0 + y)', '(x0 + e)'] as const;

export const stencilLaunch = (kernel: Kernel, schedule: StencilSchedule): LaunchShape => ({
  grid: [product(stencilGrid(kernel, schedule)), 1, 1],
  block: [32 * schedule.warps, 1, 1],
});

export function printStencil(body: Body, schedule: StencilSchedule, name: string): CudaFunction {
  return new Stencil(body, schedule).print(name);
}

/** A load, by its place on the tape, and what it reads. */
interface Load {
  readonly position: number;
  readonly shift: Shift | undefined;
  readonly bounds: readonly Bound[];
}

class Stencil {
  readonly #body: Body;
  readonly #schedule: StencilSchedule;
  readonly #params: Parameters;
  readonly #out = new Writer();
  readonly #loads: readonly Load[];
  readonly #computed: readonly number[];
  /** How far each state is read along both axes. */
  readonly #reach: readonly (readonly [number, number])[];

  constructor(body: Body, schedule: StencilSchedule) {
    this.#body = body;
    this.#schedule = schedule;
    this.#params = body.parameters();
    const { kernel } = body;
    const used = body.closure(
      kernel.stores.map(({ value }) => value),
      () => false,
    );
    this.#loads = loadsOf(kernel, used).map(({ position, access }) => ({
      position,
      shift: shiftOf(kernel, access) ?? undefined,
      bounds: access.bounds,
    }));
    this.#computed = used.filter((position) => !body.isLoad(position));
    this.#reach = kernel.carried!.map((_, state) => {
      const shifts = this.#loads.flatMap(({ shift }) => (shift?.state === state ? [shift] : []));
      const far = (of: (shift: Shift) => number): number =>
        Math.max(0, ...shifts.map((s) => Math.abs(of(s))));
      return [far(({ row }) => row), far(({ column }) => column)] as const;
    });
  }

  print(name: string): CudaFunction {
    const { kernel } = this.#body;
    const { rows, columns, halo } = this.#schedule;
    const [above, left] = halo;
    const out = this.#out;
    const [, across] = stencilGrid(kernel, this.#schedule);
    out.line(`const int block = ${blockIndex(this.#params)};`);
    out.line(`const int tile_y = block / ${this.#params.size(across)};`);
    out.line(`const int tile_x = block - tile_y * ${this.#params.size(across)};`);
    out.line('const int lane = (int)threadIdx.x & 31;');
    out.line('const int warp = (int)threadIdx.x >> 5;');
    out.line(`const int top = tile_y * ${tileRows(this.#schedule) - 2 * above} - ${above};`);
    out.line(`const int side = tile_x * ${tileColumns(this.#schedule) - 2 * left} - ${left};`);
    out.line(`const int y0 = top + warp * ${rows};`);
    out.line(`const int x0 = side + lane * ${columns};`);
    this.#declare();
    this.#bringIn();
    const bounds = boundsOf([...this.#loads.map(({ position }) => position), ...this.#computed], this.#body);
    if (bounds.length === 0) {
      this.#printSteps(false);
    } else {
      out.block(
        `if (${bounds.map((bound) => holdsInTile(bound, this.#schedule, this.#params)).join(' && ')})`,
        () => this.#printSteps(false),
      );
      out.block('else', () => this.#printSteps(true));
    }
    this.#bringOut();
    return printFunction(
      name,
      out,
      this.#params,
      { ...stencilLaunch(kernel, this.#schedule), sharedByteLength: 0 },
      MIN_BLOCKS,
    );
  }

  #dtype(state: number) {
    const { buffers, carried } = this.#body.kernel;
    return buffers[carried![state]!.output]!.dtype;
  }

  /** Which copy of what warps hand to each other a step uses. */
  get #copy(): string {
    return this.#schedule.copies === 1 ? '0' : 'step & 1';
  }

  /** The columns of a thread. */
  #pack(state: number): string {
    return `weft_pack<${CUDA_TYPE[this.#dtype(state)]}, ${this.#schedule.columns}>`;
  }

  /** `inner` for every element of the thread: row y, column e. */
  #each(inner: () => void): void {
    const { rows, columns } = this.#schedule;
    this.#out.unrolled('y', rows, () => this.#out.unrolled('e', columns, inner));
  }

  /** Whether the element at (y, e) is one of the arrays'. */
  get #exists(): string {
    const [height, width] = this.#body.kernel.parallel as readonly [number, number];
    return `(unsigned int)(y0 + y) < (unsigned int)${this.#params.size(height)} && (unsigned int)(x0 + e) < (unsigned int)${this.#params.size(width)}`;
  }

  #declare(): void {
    const { rows, columns, warps, copies } = this.#schedule;
    this.#reach.forEach(([down], state) => {
      const type = CUDA_TYPE[this.#dtype(state)];
      this.#out.line(`${type} s${state}[${rows}][${columns}];`);
      if (down > 0)
        this.#out.line(`__shared__ ${this.#pack(state)} edge${state}[${copies}][${warps}][${2 * down}][32];`);
    });
    for (const { position, shift } of this.#loads) {
      if (shift !== undefined) continue;
      const type = CUDA_TYPE[this.#body.instruction(position).dtype];
      this.#out.line(`${type} l${position}${this.#isUniform(position) ? '' : `[${rows}][${columns}]`};`);
    }
  }

  /** The buffer that a load reads. */
  #bufferOf(position: number): number {
    return this.#body.accessAt(position)!.buffer;
  }

  #isUniform(position: number): boolean {
    return isUniform(this.#body.accessAt(position)!);
  }

  /**
   * Whether the columns of a thread lie in one aligned piece of memory, inside or outside of the arrays
   * together.
   */
  get #isWhole(): boolean {
    return this.#body.kernel.parallel[1]! % this.#schedule.columns === 0;
  }

  #bringIn(): void {
    const { kernel } = this.#body;
    const out = this.#out;
    const { rows, columns } = this.#schedule;
    const width = this.#params.size(kernel.parallel[1]!);
    const height = this.#params.size(kernel.parallel[0]!);
    kernel.carried!.forEach(({ input }, state) => {
      const dtype = this.#dtype(state);
      const source = this.#params.buffer(input);
      if (this.#isWhole) {
        const pack = `weft_pack<${STORAGE_TYPE[dtype]}, ${columns}>`;
        out.unrolled('y', rows, () => {
          out.line(`${pack} l = {};`);
          out.line(
            `if ((unsigned int)(y0 + y) < (unsigned int)${height} && (unsigned int)x0 < (unsigned int)${width}) l = *reinterpret_cast<const ${pack}*>(${source} + ((y0 + y) * ${width} + x0));`,
          );
          out.unrolled('e', columns, () => out.line(`s${state}[y][e] = ${fromStorage(dtype, 'l.v[e]')};`));
        });
      } else {
        this.#each(() =>
          out.line(
            `s${state}[y][e] = ${this.#exists} ? ${fromStorage(dtype, `${source}[(y0 + y) * ${width} + (x0 + e)]`)} : ${zeroLiteral(dtype)};`,
          ),
        );
      }
    });
    for (const { position, shift } of this.#loads) if (shift === undefined) this.#bringConstant(position);
  }

  /** Invariant inputs are loaded once. */
  #bringConstant(position: number): void {
    const access = this.#body.accessAt(position)!;
    const { dtype } = this.#body.instruction(position);
    const at = (coordinates: readonly string[]): string =>
      fromStorage(
        dtype,
        `${this.#params.buffer(access.buffer)}[${affineExpression(access, coordinates, this.#params)}]`,
      );
    if (this.#isUniform(position)) {
      this.#out.line(`l${position} = ${at(['0', '0'])};`);
      return;
    }
    this.#each(() => {
      const holds =
        access.bounds.length === 0 ? '' : ` && ${boundsExpression(access.bounds, CELL, this.#params)}`;
      this.#out.line(`l${position}[y][e] = ${this.#exists}${holds} ? ${at(CELL)} : ${zeroLiteral(dtype)};`);
    });
  }

  #printSteps(isBounded: boolean): void {
    const out = this.#out;
    const { rows, columns } = this.#schedule;
    const { kernel } = this.#body;
    out.line('#pragma unroll 1');
    out.block(`for (unsigned int step = 0; step < ${this.#params.steps()}; ++step)`, () => {
      this.#handOver();
      this.#reach.forEach(([down, across], state) => {
        const type = CUDA_TYPE[this.#dtype(state)];
        out.line(`${type} v${state}[${rows + 2 * down}][${columns + 2 * across}];`);
        this.#gather(state);
      });
      out.unrolled('y', rows, () => {
        this.#reach.forEach((_, state) => {
          this.#fetchSides(state, 'row');
        });
        out.unrolled('e', columns, () => {
          const scope = this.#scope(isBounded);
          this.#body.print(
            out,
            this.#computed.filter((position) => !scope.known.has(position)),
            scope,
            this.#params,
          );
          kernel.carried!.forEach(({ output }, state) => {
            const { value } = kernel.stores.find(({ access }) => access.buffer === output)!;
            out.line(`s${state}[y][e] = ${this.#body.value(value, scope, this.#params)};`);
          });
        });
      });
    });
  }

  /** Puts the rows that other warps read into shared memory, and waits for theirs. */
  #handOver(): void {
    const out = this.#out;
    const { rows, columns } = this.#schedule;
    if (this.#reach.every(([down]) => down === 0)) return;
    // All have read what was handed over at the last step.
    if (this.#schedule.copies === 1) out.line('__syncthreads();');
    this.#reach.forEach(([down], state) => {
      if (down === 0) return;
      out.unrolled('y', down, () => {
        out.line(`${this.#pack(state)} first, last;`);
        out.unrolled('e', columns, () => {
          out.line(`first.v[e] = s${state}[y][e];`);
          out.line(`last.v[e] = s${state}[${rows - down} + y][e];`);
        });
        out.line(`edge${state}[${this.#copy}][warp][y][lane] = first;`);
        out.line(`edge${state}[${this.#copy}][warp][${down} + y][lane] = last;`);
      });
    });
    out.line('__syncthreads();');
  }

  /** `v<state>`: the elements of the thread and those around them that it reads. */
  #gather(state: number): void {
    const out = this.#out;
    const { rows, columns, warps } = this.#schedule;
    const [down, across] = this.#reach[state]!;
    this.#each(() => out.line(`v${state}[${down} + y][${across} + e] = s${state}[y][e];`));
    if (down > 0) {
      // At the edge of the tile what is read is of no use.
      out.unrolled('y', down, () => {
        const [upper, lower] = ['warp > 0 ? warp - 1 : 0', `warp < ${warps - 1} ? warp + 1 : warp`];
        const pack = this.#pack(state);
        out.line(`const ${pack} above = edge${state}[${this.#copy}][${upper}][${down} + y][lane];`);
        out.line(`const ${pack} below = edge${state}[${this.#copy}][${lower}][y][lane];`);
        out.unrolled('e', columns, () => {
          out.line(`v${state}[y][${across} + e] = above.v[e];`);
          out.line(`v${state}[${down + rows} + y][${across} + e] = below.v[e];`);
        });
      });
    }
    this.#fetchSides(state, 'ahead');
  }

  /**
   * Columns of other threads: for the last of the rows that row y reads, or for those before it, ahead of the
   * first row. One row at a time, so that few registers hold them.
   */
  #fetchSides(state: number, rows: 'ahead' | 'row'): void {
    const out = this.#out;
    const { columns } = this.#schedule;
    const [down, across] = this.#reach[state]!;
    for (let column = 1; column <= across; column++) {
      for (const side of [-1, 1] as const) {
        const read = this.#loads.flatMap(({ shift }) =>
          shift?.state === state && shift.column * side >= column ? [shift.row] : [],
        );
        if (read.length === 0) continue;
        const [first, last] = [down + Math.min(...read), down + Math.max(...read)];
        const [to, from] =
          side < 0
            ? [across - column, across + columns - column]
            : [across + columns + column - 1, across + column - 1];
        const shuffle = side < 0 ? '__shfl_up_sync' : '__shfl_down_sync';
        const fetch = (row: string): void =>
          out.line(`v${state}[${row}][${to}] = ${shuffle}(0xffffffffu, v${state}[${row}][${from}], 1);`);
        if (rows === 'row') fetch(`${last} + y`);
        else for (let row = first; row < last; row++) fetch(`${row}`);
      }
    }
  }

  /** Loads as values of registers. */
  #scope(isBounded: boolean): Scope {
    const known = new Map<number, string>();
    for (const { position, shift, bounds } of this.#loads) {
      if (shift === undefined) {
        const value = this.#isUniform(position) ? `l${position}` : `l${position}[y][e]`;
        known.set(position, this.#params.counted(value, this.#bufferOf(position)));
        continue;
      }
      const [down, across] = this.#reach[shift.state]!;
      const value = `v${shift.state}[${down + shift.row} + y][${across + shift.column} + e]`;
      const test = isBounded && bounds.length > 0;
      const zero = zeroLiteral(this.#dtype(shift.state));
      known.set(
        position,
        test ? `(${boundsExpression(bounds, CELL, this.#params)} ? ${value} : ${zero})` : value,
      );
    }
    if (!isBounded) {
      for (const position of this.#computed)
        if (isPredicate(this.#body.instruction(position))) known.set(position, 'true');
    }
    return { coordinates: CELL, known };
  }

  #bringOut(): void {
    const { kernel } = this.#body;
    const out = this.#out;
    const { rows, columns, halo } = this.#schedule;
    const [above, left] = halo;
    const width = this.#params.size(kernel.parallel[1]!);
    const height = this.#params.size(kernel.parallel[0]!);
    const isInner = `lane >= ${left / columns} && lane < ${32 - left / columns}`;
    out.block(`if (${isInner})`, () =>
      out.unrolled('y', rows, () => {
        const row = `warp * ${rows} + y`;
        const isRow = `${row} >= ${above} && ${row} < ${tileRows(this.#schedule) - above} && y0 + y < ${height}`;
        out.block(`if (${isRow})`, () => {
          kernel.carried!.forEach(({ output }, state) => {
            const dtype = this.#dtype(state);
            const target = this.#params.buffer(output);
            if (this.#isWhole) {
              const pack = `weft_pack<${STORAGE_TYPE[dtype]}, ${columns}>`;
              out.block(`if (x0 < ${width})`, () => {
                out.line(`${pack} o;`);
                out.unrolled('e', columns, () =>
                  out.line(`o.v[e] = ${toStorage(dtype, `s${state}[y][e]`)};`),
                );
                out.line(`*reinterpret_cast<${pack}*>(${target} + ((y0 + y) * ${width} + x0)) = o;`);
              });
            } else {
              out.unrolled('e', columns, () =>
                out.line(
                  `if (x0 + e < ${width}) ${target}[(y0 + y) * ${width} + (x0 + e)] = ${toStorage(dtype, `s${state}[y][e]`)};`,
                ),
              );
            }
          });
        });
      }),
    );
  }
}

/** Blocks that a multiprocessor is to hold: while one waits, another computes. */
const MIN_BLOCKS = 2;
