/** BinPlan: a step of bins by what its operands are, and how rows fall into units. Used by `bins.ts` and `bin-windows.ts`. */
import type { BinForm } from '../../codegen/cuda/routines/bin-form.js';
import { fitsShared } from '../../codegen/cuda/routines/bins.js';
import { parametersOfBins } from '../../graph/bin-parameters.js';
import { binUnits } from '../../graph/bin-units.js';
import { byteLengthOf } from '../../graph/dtype.js';
import type { BufferArray, RoutineStep } from './call.js';

export interface BinPlan {
  readonly form: BinForm;
  readonly keys: BufferArray;
  readonly edges: BufferArray | undefined;
  readonly values: BufferArray | undefined;
  readonly scales: BufferArray | undefined;
  readonly rows: number;
  readonly bins: number;
  readonly units: number;
  readonly unitRows: number;
}

export function planOf({ call, parameters, operands, results, resultWindows }: RoutineStep): BinPlan {
  const hasEdges = call === 'histogram';
  const { op, bins, width, mode, parts, bits } = parametersOfBins(hasEdges ? call : 'bins', parameters);
  const [keys, ...rest] = operands;
  const edges = hasEdges ? rest.shift() : undefined;
  const [values, scales] = rest;
  const result = results[0]!.dtype;
  const fits = resultWindows === undefined && fitsShared(bins * width * parts * byteLengthOf(result));
  const form: BinForm = {
    op,
    keys: keys!.dtype,
    values: values?.dtype,
    result,
    mode,
    width,
    parts,
    bits,
    sharedBins: fits ? bins : undefined,
    isWindowed: resultWindows !== undefined,
  };
  const rows = keys!.shape[0]!;
  return { form, keys: keys!, edges, values, scales, rows, bins, ...binUnits(rows, bins, width, op) };
}
