/** Routines of sparse matrices that only the CPU has, slowly and obviously. Used by the interpreters. */
import type { Scalar } from '../../src/graph/dtype.js';
import type { RoutineName } from '../../src/graph/routines.js';
import { COMBINED_OPS, firstGathered, GATHER_WAYS, isComparison } from '../../src/graph/sparse-routines.js';
import type { RoutineInput } from './reference-bins.js';
import { plus, zeroFor } from './reference-sparse.js';
import { castScalar } from './scalar.js';

/** A stored element. */
type Element = readonly [column: number, value: Scalar];
type Rows = readonly (readonly Element[])[];

function rowsOf([starts, places, values]: readonly RoutineInput[]): Rows {
  const lines = starts!.values.map(Number);
  return lines.slice(1).map((end, row) => {
    const count = Math.max(0, end - lines[row]!);
    return Array.from({ length: count }, (_, k): Element => {
      const at = lines[row]! + k;
      return [Number(places!.values[at]), values!.values[at]!];
    });
  });
}

/** Starts, columns and values of rows, zeros behind the last element. */
function linesOf(rows: Rows, bound: number, zero: Scalar): Scalar[][] {
  const starts = [0n];
  for (const row of rows) starts.push(starts.at(-1)! + BigInt(row.length));
  const all = rows.flat();
  return [
    starts,
    Array.from({ length: bound }, (_, k) => BigInt(all[k]?.[0] ?? 0)),
    Array.from({ length: bound }, (_, k) => all[k]?.[1] ?? zero),
  ];
}

type Ways = Readonly<
  Record<string, (parameters: readonly number[], inputs: readonly RoutineInput[]) => Scalar[][]>
>;

const zeroOf = ({ dtype }: RoutineInput): Scalar => castScalar(0, dtype);

const OPS: Readonly<Record<string, (a: number, b: number) => Scalar>> = {
  add: (a, b) => a + b,
  subtract: (a, b) => a - b,
  multiply: (a, b) => a * b,
  notEqual: (a, b) => a !== b,
  less: (a, b) => a < b,
  greater: (a, b) => a > b,
};

const WAYS: Ways = {
  sparseCombine: ([isOfBoth, , bound, place], inputs) => {
    const [a, b] = [inputs.slice(0, 3), inputs.slice(3, 6)].map(rowsOf) as [Rows, Rows];
    const op = COMBINED_OPS[place!]!;
    const { dtype } = inputs[2]!;
    const rows = a.map((own, row) => {
      const [x, y] = [new Map(own), new Map(b[row])];
      const columns = [...new Set([...x.keys(), ...y.keys()])].sort((i, j) => i - j);
      return columns.flatMap((column): readonly Element[] => {
        if (isOfBoth === 1 && !(x.has(column) && y.has(column))) return [];
        const value = OPS[op]!(Number(x.get(column) ?? 0), Number(y.get(column) ?? 0));
        if (isComparison(op)) return value === true ? [[column, true]] : [];
        return [[column, castScalar(value, dtype)]];
      });
    });
    return linesOf(rows, bound!, isComparison(op) ? false : zeroOf(inputs[2]!));
  },
  sparseKept: ([hasMask, first, count], inputs) => {
    const [starts, places, values, mask] = inputs as readonly RoutineInput[] & { length: 4 };
    const numbered = rowsOf([starts!, places!, { ...values!, values: values!.values.map((_, k) => k) }]);
    const isKept = ([column, k]: Element): boolean =>
      hasMask === 1 ? Number(mask!.values[Number(k)]) !== 0 : column >= first! && column < first! + count!;
    const rows = numbered.map((row) =>
      row.filter(isKept).map(([column, k]): Element => [column - first!, values!.values[Number(k)]!]),
    );
    return linesOf(rows, places!.shape[0]!, zeroOf(values!));
  },
  sparseGather: ([place, bound, , , ...offsets], inputs) => {
    const from = firstGathered(place!);
    const matrices = offsets.map((offset, k) =>
      rowsOf(inputs.slice(from + 3 * k)).map((row) =>
        row.map(([column, value]): Element => [column + offset, value]),
      ),
    );
    const own = matrices[0]!;
    const ways = {
      chosen: () => inputs[0]!.values.map((number) => own[Number(number)]!),
      given: () => inputs[0]!.values.map((number) => own.at(Number(number))!),
      above: () => matrices.flat(),
      beside: () => own.map((_, row) => matrices.flatMap((rows) => rows[row]!)),
      stretch: () => own,
    };
    return linesOf(ways[GATHER_WAYS[place!]!](), bound!, zeroOf(inputs[from + 2]!));
  },
  sparseKron: ([columns], inputs) => {
    const [a, b] = [inputs.slice(0, 3), inputs.slice(3, 6)].map(rowsOf) as [Rows, Rows];
    const rows = a.flatMap((own) =>
      b.map((other) =>
        own.flatMap(([j, x]) =>
          other.map(
            ([k, y]): Element => [j * columns! + k, castScalar(Number(x) * Number(y), inputs[2]!.dtype)],
          ),
        ),
      ),
    );
    return linesOf(rows, inputs[1]!.shape[0]! * inputs[4]!.shape[0]!, zeroOf(inputs[2]!));
  },
  sparseElements: ([count], [row, column, values]) => {
    const { dtype } = values!;
    const rows = Array.from({ length: count! }, () => new Map<number, Scalar>());
    for (const [k, value] of values!.values.entries()) {
      const [own, place] = [rows[Number(row!.values[k])]!, Number(column!.values[k])];
      own.set(place, plus(own.get(place) ?? zeroFor(dtype), value, dtype));
    }
    const inOrder = rows.map((own) =>
      [...own].sort(([i], [j]) => i - j).map(([place, sum]): Element => [place, castScalar(sum, dtype)]),
    );
    return linesOf(inOrder, values!.shape[0]!, zeroOf(values!));
  },
  sparseTranspose: ([columns], inputs) => {
    const rows = Array.from({ length: columns! }, (): Element[] => []);
    for (const [row, elements] of rowsOf(inputs).entries())
      for (const [column, value] of elements) rows[column]!.push([row, value]);
    return linesOf(rows, inputs[1]!.shape[0]!, zeroOf(inputs[2]!));
  },
};

/** The values of each result; undefined: another routine. */
export const sparseWay = (
  routine: RoutineName,
  parameters: readonly number[],
  inputs: readonly RoutineInput[],
): Scalar[][] | undefined => WAYS[routine]?.(parameters, inputs);
