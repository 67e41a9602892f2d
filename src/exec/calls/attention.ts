/**
 * Attention without the matrix of scores (`codegen/cuda/routines/attention-*.ts`, `native/cpu/attention.cpp`). Units are
 * stretches of rows of a batch of Q, which need all of that batch of K and V. Where arrays are not in C order, it runs as a
 * whole.
 */

import { CUDA_OPTIONS } from '../../codegen/cuda/cuda.js';
import {
  ATTENTION_NAME,
  type AttentionForm,
  attentionKernel,
  UNIT_ROWS,
} from '../../codegen/cuda/routines/attention.js';
import { elementFunction } from '../../codegen/cuda/routines/element-function.js';
import { matrixPlace } from '../../codegen/cuda/routines/element-place.js';
import type { DeviceLimits } from '../../codegen/cuda/schedules/schedule-rows.js';
import { valueMapKernel } from '../../fusion/partition/value-map.js';
import { byteLengthOf, dtypeCode } from '../../graph/dtype.js';
import { denseStrides, sizeOfShape } from '../../graph/graph.js';
import { scalarBytes } from '../../graph/scalar-bytes.js';
import { InternalError } from '../../host/errors.js';
import type { LaunchArgument } from '../native/program-types.js';
import type { Cut, Touch } from '../tiles/sweep-cuts.js';
import { attentionCost } from './attention-cost.js';
import type { BatchPlace, BufferArray, RoutineStep } from './call.js';
import type { CallKernels, CallRow, StridedOperand } from './call-row.js';
import { int32, int64 } from './launch-arguments.js';
import { wordsOf } from './number-words.js';
import { bytesOfAll, type Routine, readsOfMap, routineCall } from './routine.js';

interface Sizes {
  readonly batch: number;
  readonly m: number;
  readonly n: number;
  readonly inner: number;
  readonly width: number;
  readonly repeats: number;
  /** Units of a batch. */
  readonly units: number;
}

function sizesOf({ operands, results, parameters }: RoutineStep): Sizes {
  const [batch, m, width] = results[0]!.shape as readonly [number, number, number];
  const [, n, inner] = operands[1]!.shape as readonly [number, number, number];
  return { batch, m, n, inner, width, repeats: parameters[3]!, units: Math.ceil(m / UNIT_ROWS) };
}

function kernelForm(step: RoutineStep): AttentionForm {
  const { batch, m, n, inner, width } = sizesOf(step);
  const { values } = step.maps ?? {};
  return {
    dtype: step.results[0]!.dtype,
    inner,
    width,
    isCausal: step.parameters[1] === 1,
    isPlaced: step.places !== undefined,
    map: values && elementFunction(values.kernel, 'weft_scores', values.given, matrixPlace(batch, m, n)),
  };
}

const numbersOf = (places: readonly BatchPlace[]): number[] =>
  places.flatMap(({ offset, strides }) => [offset, ...strides]);

/** The places of arrays in C order, all of whose batches are neighbours. */
function inOrder({ batch, m, n, inner, width }: Sizes): NonNullable<RoutineStep['places']> {
  const place = (rows: number, columns: number): BatchPlace => ({
    offset: 0,
    strides: [0, rows * columns, columns],
  });
  return { heads: batch, of: [place(m, inner), place(n, inner), place(n, width), place(m, width)] };
}

const float32 = (value: number): LaunchArgument => ({ bytes: scalarBytes('float32', value) });

function kernelsOf(step: RoutineStep, limits: DeviceLimits): CallKernels {
  const { batch, m, n, repeats, units } = sizesOf(step);
  const form = kernelForm(step);
  const kernel = attentionKernel(form, { batch, m }, limits);
  const { source, rows, threads, sharedByteLength, isSpecific, schedule } = kernel;
  const unitBlocks = UNIT_ROWS / rows;
  const [scale, , offset] = step.parameters as readonly [number, number, number];
  const arrays = [...step.operands, ...step.results].map(({ buffer }) => ({ buffer }));
  const further = form.map?.args.map((argument) =>
    'buffer' in argument ? { buffer: step.maps!.values!.buffers[argument.buffer]! } : argument,
  ) as readonly LaunchArgument[] | undefined;
  return {
    source,
    compiled: { options: CUDA_OPTIONS, isSpecific },
    schedule,
    launches: [
      {
        function: ATTENTION_NAME,
        blocks: batch * units * unitBlocks,
        threads,
        sharedByteLength,
        args: [
          { block: 'x' },
          ...arrays,
          ...[m, n, units * unitBlocks, repeats, offset].map(int32),
          // Powers are of two.
          float32((form.map === undefined ? scale : 1) * Math.LOG2E),
          ...(step.places === undefined
            ? []
            : [int32(step.places.heads), ...numbersOf(step.places.of).map(int64)]),
          ...(further ?? []),
        ],
      },
    ],
  };
}

const ATTENDING: Routine = {
  units: (step) => sizesOf(step).batch * sizesOf(step).units,
  unitSize: () => undefined,
  numbers: (step) => {
    const found = sizesOf(step);
    const { batch, m, n, inner, width, repeats } = found;
    const [scale, isCausal, offset] = step.parameters as readonly [number, number, number];
    const sizes = [batch, m, n, inner, width, repeats, UNIT_ROWS];
    const { heads, of } = step.places ?? inOrder(found);
    const places = [heads, ...numbersOf(of)];
    return [dtypeCode(step.results[0]!.dtype), ...sizes, isCausal, offset + m, ...wordsOf(scale), ...places];
  },
  kernels: kernelsOf,
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: ({ operands, results }) => ({
    bytes: bytesOfAll([...operands, ...results]),
    launches: 1,
  }),
  method: (step) => {
    const { batch, m, n } = sizesOf(step);
    const scores = batch * m * n * byteLengthOf(step.results[0]!.dtype);
    const columns = step.parameters[1] === 1 ? `, columns up to row + ${step.parameters[2]}` : '';
    return `scores in tiles, ${scores} B not stored${columns}`;
  },
};

/** Units of rows: stretches of Q and the result, and the batches of K and V that those need. */
function cutOf(step: RoutineStep): Cut {
  const { batch, m, n, inner, width, repeats, units } = sizesOf(step);
  const [q, k, v] = step.operands as readonly [BufferArray, BufferArray, BufferArray];
  /** The first row of a unit, of those of all batches. */
  const rowOf = (unit: number): number =>
    Math.floor(unit / units) * m + Math.min(m, (unit % units) * UNIT_ROWS);
  const touch = ({ buffer, dtype }: BufferArray, from: number, to: number): Touch => {
    const bytes = byteLengthOf(dtype);
    return { buffer, first: from * bytes, last: to * bytes };
  };
  const { values } = step.maps ?? {};
  return {
    units: batch * units,
    touches: (first, last) => {
      const [from, to] = [rowOf(first), rowOf(last)];
      const other = Math.floor(Math.floor(first / units) / repeats);
      const end = Math.floor(Math.floor((last - 1) / units) / repeats) + 1;
      return {
        get reads() {
          return [
            touch(q, from * inner, to * inner),
            touch(k, other * n * inner, end * n * inner),
            touch(v, other * n * width, end * n * width),
            ...(values === undefined ? [] : readsOfMap(values, from * n, to * n)),
          ];
        },
        writes: [touch(step.results[0]!, from * width, to * width)],
      };
    },
    ranges: (first, last) => [[first, last, 0, 0, 0, 0]],
    pitches: () => [],
  };
}

const BASE = routineCall(ATTENDING);

/** A step whose batches are of two axes, with these as one. */
function placed(step: RoutineStep, operands: readonly StridedOperand[]): RoutineStep {
  const [, , , , rowAxis] = step.parameters;
  if (rowAxis === undefined) return step;
  const joined = <Array extends BufferArray>(array: Array, row: number): Array => {
    const { shape } = array;
    const batches = [0, 1, 2].filter((axis) => axis !== row).map((axis) => shape[axis]!);
    return { ...array, shape: [sizeOfShape(batches), shape[row]!, shape[3]!] };
  };
  const placeOf = (offset: number, strides: readonly number[], row = 2): BatchPlace => {
    const [outer, head] = [0, 1, 2].filter((axis) => axis !== row) as [number, number];
    return { offset, strides: [strides[outer]!, strides[head]!, strides[row]!] };
  };
  const [result] = step.results as readonly [BufferArray];
  return {
    ...step,
    operands: step.operands.map((array) => joined(array, 2)),
    results: [joined(result, rowAxis)],
    places: {
      heads: step.operands[0]!.shape[1]!,
      of: [
        ...operands.map(({ offset, strides }) => placeOf(offset, strides)),
        placeOf(0, denseStrides(result.shape), rowAxis),
      ],
    },
  };
}

export const ATTENTION: CallRow<RoutineStep> = {
  ...BASE,
  lower: (nodes, operands, results, unitElements) => {
    const own = operands.slice(0, 3);
    const step = placed(
      BASE.lower(nodes, own, results, unitElements),
      own.map(({ at }) => at),
    );
    const [node] = nodes;
    const valueMap = node?.kind === 'call' ? node.valueMap : undefined;
    if (valueMap === undefined) return step;
    const found = valueMapKernel(valueMap);
    if (found === undefined) throw new InternalError('a map of scores that is no kernel');
    const { kernel, given, sources } = found;
    // Source k > 0 is the operand behind Q, K and V; scores and what the map gives are in no memory.
    const buffers = sources.map((k) => (k === undefined || k === 0 ? -1 : operands[k + 2]!.at.buffer));
    return { ...step, maps: { values: { kernel, given, buffers } } };
  },
  costOf: (step, multiprocessors) => {
    const { dtype } = step.results[0]!;
    const [isCausal, isMapped] = [step.parameters[1] === 1, step.maps?.values !== undefined];
    return attentionCost({ ...sizesOf(step), dtype, isCausal, isMapped }, multiprocessors);
  },
  forms: (step) =>
    step.places === undefined && ATTENDING.units(step) > 1 ? [{ cut: cutOf(step), repeats: true }] : [],
};
